"""Java finds every row in files that we wrote, whatever it skips by their statistics.

A filter lets Java skip files by the manifests' minima, maxima and null counts, and row groups and pages by
the Parquet file's own statistics and dictionaries. A wrong one shows as a missing row. The answer that must
be comes from the table before its compaction, read without skipping. In its own files Java 1.4.2 misses rows
in two ways, of which only the first is true of our files too:

- BINARY is ordered by signed bytes in filters and by unsigned ones in Parquet, so inequalities skip row
  groups that hold matches. Before a compaction they do not, because overlapping files are read whole.
- A maximum cut after U+D7FF is "rounded up" to a surrogate, which is stored as `?`, below the values.
"""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Digest, Row
from infrastructure.sampling import Sampler
from lithify.engine.rewrite.budget import Budget
from lithify.formats.protocol.tasks import Sizing
from support.comparing.filter_columns import BEFORE_SURROGATES, COLUMNS, INEQUALITIES, LONG_KEYS
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

FILES = max(len(column.groups()) for column in COLUMNS)
ROWS = max(len(group) for column in COLUMNS for group in column.groups())
BY_NAME = {column.name: column for column in COLUMNS}
BINARIES = ("binary", "bytes")
EQUALITY = ("equal", "in")
FILTERS = 10
"""How many questions about a column are asked where families of cases are sampled."""
FILTERED = {"parquet.bloom.filter.enabled": "true", "orc.bloom.filter.columns": "*"}


@dataclass(frozen=True, slots=True)
class Mode:
    """Which statistics or filters the files get, and the columns and questions for which that matters."""

    name: str
    columns: Sequence[str] = ("bigint", "double", "varchar")
    options: Mapping[str, str] = field(default_factory=dict)
    ops: Sequence[str] = ()

    def filters(self, column: str) -> list[Filter]:
        """What is asked of a column: of all ops if none are named."""
        return [ask for ask in BY_NAME[column].filters() if not self.ops or ask["op"] in self.ops]


MODES = [
    Mode("truncated", list(BY_NAME)),
    Mode("full", ["text"], {"metadata.stats-mode": "full"}),
    Mode("avro", list(BY_NAME), {"file.format": "avro"}),
    Mode("bloom filters", list(BY_NAME), FILTERED, EQUALITY),
    Mode("counts", options={"metadata.stats-mode": "counts"}),
    Mode("none but the files' own", options={"metadata.stats-mode": "none"}),
    Mode("all columns but one", options={"fields.boolean.stats-mode": "none"}),
    Mode(
        "first columns, not dense",
        options={"metadata.stats-keep-first-n-columns": "28", "metadata.stats-dense-store": "false"},
    ),
]

ORC_MODES = [
    Mode("plain", list(BY_NAME), {"file.format": "orc"}),
    Mode("bloom filters", list(BY_NAME), {"file.format": "orc", **FILTERED}, EQUALITY),
]

IN_JAVAS_FILES = ("bigint", "double", "decimal_4", "decimal_38", "text", "date", "instant_6", *BINARIES)
"""Columns that Java stores in different ways."""


class Expected:
    """What filters must find, out of a table before its compaction."""

    def __init__(self, oracle: Oracle, table: Table) -> None:
        self._oracle = oracle
        self._answers: dict[str, Digest] = {}
        self.table = table

    def misled(self, table: Table, column: str, filters: Iterable[Filter]) -> list[Filter]:
        """Those of a column's filters that find something else in a compacted table."""
        asked = {json.dumps(ask): ask for ask in filters}
        new = {text: ask for text, ask in asked.items() if text not in self._answers}
        told = found(self._oracle, self.table, column, [*new.values()], skipping=False)
        self._answers.update(zip(new, told, strict=True))
        answers = zip(asked.items(), found(self._oracle, table, column, [*asked.values()]), strict=True)
        return [ask for (text, ask), got in answers if self._answers[text] != got]


def found(
    oracle: Oracle, table: Table, column: str, filters: Sequence[Filter], *, skipping: bool = True
) -> list[Digest]:
    return oracle.filtered_digests(table, filters, skipping=skipping, projection=[column])


@pytest.fixture(scope="module")
def expected(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """A partition for each file to be: several sorted runs, whose older rows are those of other files."""
    table = Table(tmp_path_factory.mktemp("original"), "db.t")
    columns = {"file": "INT NOT NULL", "id": "INT NOT NULL", **{c.name: c.kind for c in COLUMNS}}
    oracle.create_table(table, columns, ["file", "id"], ["file"], {"bucket": "1"})
    oracle.write(table, rows(range(ROWS + 2), shift=5))
    oracle.write(table, rows(range(0, ROWS, 2)))
    oracle.write(table, rows(range(1, ROWS, 2)))
    oracle.write(table, rows(range(ROWS, ROWS + 2), kind="-D"))
    return Expected(oracle, table)


def rows(ids: Iterable[int], kind: str = "+I", shift: int = 0) -> list[Row]:
    """Rows of all files; each column goes through its values of the file."""
    return [
        [kind, file, id_, *(group[id_ % len(group)] for group in groups_of((file + shift) % FILES))]
        for file, id_ in product(range(FILES), ids)
    ]


def groups_of(file: int) -> list[list[Any]]:
    """Each column's values in a file; nulls where there are more files than groups of values."""
    every = (column.groups() for column in COLUMNS)
    return [groups[file] if file < len(groups) else [None] for groups in every]


@pytest.fixture(scope="module")
def of_java(oracle: Oracle, expected: Expected, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The table after a full compaction by Java."""
    table = copy(expected.table, tmp_path_factory.mktemp("java") / "warehouse")
    oracle.manager_round(table, full=True, commit=True)
    oracle.compact_manifests(table)
    return table


def copy(table: Table, warehouse: Path) -> Table:
    shutil.copytree(Path(str(table.warehouse)), warehouse)
    return Table(warehouse, table.name)


def compacted(
    oracle: Oracle, table: Table, warehouse: Path, options: Mapping[str, str] | None = None, **how: Any
) -> Table:
    """A copy that we have compacted, with other table options. Its manifests are merged, for speed."""
    ours = copy(table, warehouse)
    if options:
        oracle.alter_table(ours, *({"set_option": [*option]} for option in options.items()))
    run_inline(ours, **how)
    assert all(file.level == 5 and file.file_source == "COMPACT" for file in oracle.files(ours))
    oracle.compact_manifests(ours)
    return ours


def of_signed_bytes(ask: Filter) -> bool:
    return ask["column"] in BINARIES and ask["op"] in INEQUALITIES


def of_rounded_surrogate(ask: Filter) -> bool:
    return ask["op"] in ("equal", "greater_or_equal") and ask["literal"] == BEFORE_SURROGATES


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_filters_find_every_row(
    oracle: Oracle, expected: Expected, tmp_path: Path, mode: Mode, sample: Sampler
) -> None:
    ours = compacted(oracle, expected.table, tmp_path / "ours", mode.options)
    asked = {name: sample(mode.filters(name), FILTERS) for name in mode.columns}
    missed = [ask for name, filters in asked.items() for ask in expected.misled(ours, name, filters)]
    assert [ask for ask in missed if not of_signed_bytes(ask)] == []


def test_java_misses_rows_of_its_own_files(oracle: Oracle, expected: Expected, of_java: Table) -> None:
    missed = [
        ask for name in IN_JAVAS_FILES for ask in expected.misled(of_java, name, BY_NAME[name].filters())
    ]
    assert [ask for ask in missed if not (of_signed_bytes(ask) or of_rounded_surrogate(ask))] == []
    assert {ask["column"] for ask in missed} == {*BINARIES, "text"}


@pytest.mark.parametrize("mode", ORC_MODES, ids=lambda mode: mode.name)
def test_in_orc_files_java_finds_no_less_than_in_its_own(
    oracle: Oracle, expected: Expected, tmp_path: Path, mode: Mode, sample: Sampler
) -> None:
    """There it misses zeros of floats, and dates and times of other centuries or below the second."""
    java = copy(expected.table, tmp_path / "java")
    oracle.alter_table(java, *({"set_option": [*option]} for option in mode.options.items()))
    oracle.manager_round(java, full=True, commit=True)
    ours = compacted(oracle, expected.table, tmp_path / "ours", mode.options)
    missed = []
    for name in mode.columns:
        filters = sample(mode.filters(name), FILTERS)
        theirs, mine = (expected.misled(table, name, filters) for table in (java, ours))
        missed += [ask for ask in mine if ask not in theirs and not of_signed_bytes(ask)]
    assert missed == []


def test_of_bytes_java_finds_what_it_finds_in_its_own_files(
    oracle: Oracle, expected: Expected, of_java: Table, tmp_path: Path
) -> None:
    ours = compacted(oracle, expected.table, tmp_path / "ours")
    for name in BINARIES:
        filters = [ask for ask in BY_NAME[name].filters() if of_signed_bytes(ask)]
        assert found(oracle, ours, name, filters) == found(oracle, of_java, name, filters)


@pytest.mark.parametrize("thin", ["false", "true"], ids=["key columns twice", "thin files"])
def test_filters_on_long_keys_find_every_row(oracle: Oracle, tmp_path: Path, thin: str) -> None:
    table = Table(tmp_path / "original", "db.t")
    columns = {"file": "INT NOT NULL", "key": "STRING NOT NULL", "id": "INT NOT NULL"}
    options = {"bucket": "1", "data-file.thin-mode": thin}
    oracle.create_table(table, columns, ["file", "key", "id"], ["file"], options)
    groups = [[value for value in group if value is not None] for group in LONG_KEYS.groups()]
    keys = [(file, key) for file, group in enumerate(groups) for key in group]
    for ids in (range(4), range(2, 6)):
        oracle.write(table, [["+I", file, key, id_] for (file, key), id_ in product(keys, ids)])

    ours = compacted(oracle, table, tmp_path / "ours")

    assert Expected(oracle, table).misled(ours, "key", LONG_KEYS.filters()) == []


LONG: dict[str, tuple[str, dict[str, Any]]] = {
    "number": ("BIGINT", {"kind": "sequential"}),
    "moment": ("TIMESTAMP(3)", {"kind": "sequential", "nulls": 0.1}),
    "money": ("DECIMAL(30, 2)", {"kind": "sequential", "nulls": 0.1}),
    "ratio": ("DOUBLE", {"kind": "sequential"}),
    "text": ("STRING", {"kind": "sequential", "prefix": "é" * 40, "nulls": 0.1}),
    "city": ("STRING", {"kind": "low", "values": 9, "prefix": "city-"}),
}
"""Columns of a file that is long enough for several row groups of several pages."""


@pytest.mark.parametrize("filters", [{}, FILTERED], ids=["plain", "bloom filters"])
def test_filters_find_every_row_of_long_files(
    oracle: Oracle, tmp_path: Path, filters: Mapping[str, str]
) -> None:
    table = Table(tmp_path / "original", "db.t")
    columns = {"id": "INT NOT NULL", **{name: kind for name, (kind, _) in LONG.items()}}
    oracle.create_table(table, columns, ["id"], options={"bucket": "1"})
    for _ in range(2):
        specs = {name: spec for name, (_, spec) in LONG.items()}
        oracle.generate(table, 40_000, key={"mode": "sequential"}, columns=specs)
    picked = oracle.read(table, filter={"column": "id", "op": "in", "literals": [*range(0, 40_000, 4_007)]})

    ours = compacted(oracle, table, tmp_path / "ours", filters, sizing=Sizing(budget=Budget(4 << 20)))

    (file,) = oracle.files(ours)
    assert pq.ParquetFile(file.path).num_row_groups > 3
    expected = Expected(oracle, table)
    for at, name in enumerate(columns):
        literals = sorted(row[1 + at] for row in picked if row[1 + at] is not None)
        asked: list[Filter] = [{"column": name, "op": "equal", "literal": value} for value in literals]
        asked.append({"column": name, "op": "less_than", "literal": literals[1]})
        asked.append({"column": name, "op": "greater_or_equal", "literal": literals[-2]})
        asked.append({"column": name, "op": "in", "literals": literals[::4]})
        assert expected.misled(ours, name, asked) == []


def test_nulls_are_found_beside_values_of_thousands_of_bytes(oracle: Oracle, tmp_path: Path) -> None:
    """Java leaves statistics of so long values out of Parquet files.

    Where it infers how to shred variants, it takes null counts from there: -1, for unknown. Ours are known.
    """
    table = Table(tmp_path / "ours", "db.t")
    columns = {"id": "INT NOT NULL", "v": "BYTES", "shredded": "VARIANT"}
    options = {"bucket": "1", "variant.inferShreddingSchema": "true"}
    oracle.create_table(table, columns, ["id"], options=options)
    oracle.write(table, [["+I", 1, b64encode(bytes(5000)).decode(), 7], ["+I", 2, None, 8]])
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, options={"compaction.force-rewrite-all-files": "true"})
    ask: list[Filter] = [{"column": "v", "op": "is_null"}]
    expected = oracle.filtered_digests(table, ask, skipping=False)
    assert [found.rows for found in expected] == [1]

    run_inline(table, options={"compaction.force-rewrite-all-files": "true"})

    assert oracle.filtered_digests(table, ask) == expected
    assert [file.value_stats.null_counts[1] for file in oracle.files(table)] == [1]
    assert [file.value_stats.null_counts[1] for file in oracle.files(java)] == [-1]
