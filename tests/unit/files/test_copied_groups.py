"""Which row groups of Parquet files may be copied into new files as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lithify.files.parquet.copying.copied_groups import fits, is_alike, may_copy
from lithify.formats.paimon.schema.type_texts import parse_type
from support.parquet_files import source


def written(path: Path, rows: pa.Table, **options: Any) -> bytes:
    pq.write_table(rows, path, **options)
    return path.read_bytes()


ROWS = pa.table({"id": pa.array([3, 1, 2], pa.int64())})


@pytest.mark.parametrize("kind", ["TIMESTAMP(9)", "VARIANT", {"type": "ARRAY", "element": "TIMESTAMP(9)"}])
def test_columns_without_statistics_are_not_copied(kind: Any) -> None:
    assert may_copy([parse_type("INT"), parse_type("STRING")])
    assert not may_copy([parse_type("INT"), parse_type(kind)])


def test_row_groups_of_the_same_columns_and_codec_fit(tmp_path: Path) -> None:
    like = source(written(tmp_path / "like", ROWS, compression="zstd"))
    other = source(written(tmp_path / "other", ROWS.slice(1), compression="zstd"))
    assert is_alike(other, like)
    assert fits(other, 0, like)


def test_row_groups_of_another_codec_do_not_fit(tmp_path: Path) -> None:
    like = source(written(tmp_path / "like", ROWS, compression="zstd"))
    assert not fits(source(written(tmp_path / "other", ROWS, compression="snappy")), 0, like)


def test_row_groups_without_statistics_do_not_fit(tmp_path: Path) -> None:
    like = source(written(tmp_path / "like", ROWS, compression="zstd"))
    bare = written(tmp_path / "other", ROWS, compression="zstd", write_statistics=False)
    assert not fits(source(bare), 0, like)


def test_files_of_other_columns_are_not_alike(tmp_path: Path) -> None:
    like = source(written(tmp_path / "like", ROWS))
    assert not is_alike(source(written(tmp_path / "other", ROWS.rename_columns(["key"]))), like)
