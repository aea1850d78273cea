"""Which columns the Parquet writer gives dictionaries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lithify.files.parquet.joining_writer import encoded
from lithify.files.types import ColumnType
from lithify.formats.iceberg.rewriting.options import parse_write_options

ROWS = 20_000
_RNG = np.random.default_rng(3)
COLUMNS: dict[str, tuple[Sequence[int], bool]] = {
    "distinct": (range(ROWS), False),
    "each value twice, at random": (_RNG.permutation(np.arange(ROWS) % (ROWS // 2)), False),
    "each value eight times, at random": (_RNG.permutation(np.arange(ROWS) % (ROWS // 8)), True),
    "runs of eight": (np.arange(ROWS) // 8, True),
    "each value three times in the first half, then eight times": (
        np.concatenate([_RNG.permutation(np.arange(9_000) % 3_000), np.arange(ROWS - 9_000) % 1_375]),
        True,
    ),
    "a short cycle": (np.arange(ROWS) % 500, True),
    "distinct, but the rest is one value": (np.minimum(np.arange(ROWS), 1000), True),
    "few rows, each value eight times": (np.arange(800) % 100, True),
}


def test_columns_of_booleans_get_none() -> None:
    rows = pa.table({"a": pa.array([True, False] * 100)})

    file = encoded(rows, parse_write_options({}).files, {"a": ColumnType("BOOLEAN")})

    assert not file.footer.metadata.row_group(0).column(0).has_dictionary_page


@pytest.mark.parametrize(("values", "has_dictionary"), COLUMNS.values(), ids=COLUMNS)
def test_columns_of_repeated_values_get_dictionaries(values: Sequence[int], has_dictionary: bool) -> None:
    rows = pa.table({"a": pa.array(values, pa.int64())})

    file = encoded(rows, parse_write_options({}).files, {"a": ColumnType("BIGINT")})

    footer: pq.FileMetaData = file.footer.metadata
    assert footer.row_group(0).column(0).has_dictionary_page == has_dictionary
