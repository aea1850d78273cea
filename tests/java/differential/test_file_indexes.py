"""Our file indexes are those of Java: the same bytes each, in the same place; Java skips as much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile, Row
from lithify.engine.rewrite.budget import Budget
from lithify.formats.paimon.primary_key import copying
from lithify.formats.protocol.tasks import Sizing
from support.cases import case
from support.comparing.file_indexes import assert_same_indexes, stored_indexes
from support.comparing.rows import EVERY_VALUE, value_of
from support.runs import run_inline
from support.tables import copy_of, expire, stray_files

pytestmark = pytest.mark.oracle

NUMBERS = ["TINYINT", "SMALLINT", "INT", "BIGINT"]
FLOATS = ["FLOAT", "DOUBLE"]
TIMES = ["DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"]
NANOS = ["TIMESTAMP(9)"]
STRINGS = ["STRING", "CHAR(4)"]
DECIMALS = ["DECIMAL(9, 2)", "DECIMAL(18, 0)"]
BLOOM, BITMAP, BSI, RANGE = "bloom-filter", "bitmap", "bsi", "range-bitmap"
TYPES = {
    BLOOM: [*NUMBERS, *FLOATS, *TIMES, *NANOS, *STRINGS, "BYTES", "BINARY(3)"],
    BITMAP: [*NUMBERS, *FLOATS, *TIMES, *NANOS, *STRINGS, "BOOLEAN"],
    BSI: [*NUMBERS, *TIMES, *NANOS, *DECIMALS],
    RANGE: [*NUMBERS, *FLOATS, *TIMES, *STRINGS, "BOOLEAN", *DECIMALS],
}
EMBEDDED = {"file-index.in-manifest-threshold": "64 mb"}
PER_COLUMN = {BLOOM: {"items": "200", "fpp": "0.02"}}
ROWS, KEYS = 500, 300


@dataclass(frozen=True, slots=True)
class Indexed:
    """A table: its columns besides the key, and its options.

    Attributes:
        columns: names and types.
        options: table options.
        key: the primary key; none in append tables.
        maps: keys of MAP columns that are indexed.
        keys: number of different keys.
    """

    columns: Mapping[str, str]
    options: Mapping[str, str]
    key: Sequence[str] = ("id",)
    maps: Mapping[str, str] = field(default_factory=dict)
    keys: int = KEYS

    def make(self, oracle: Oracle, folder: Path, commits: int = 3) -> Table:
        random, table = Random(7), Table(folder, "db.t")
        buckets = {"bucket": "2", "bucket-key": "id"}
        columns = {"id": "INT NOT NULL", **self.columns}
        oracle.create_table(table, columns, [*self.key], options={**buckets, **self.options})
        values = [value_of(field["type"]) for field in oracle.schema(table)["fields"][1:]]
        for _ in range(commits):
            oracle.write(table, [self._row(random, values) for _ in range(ROWS)])
        return table

    def _row(self, random: Random, values: Sequence[Any]) -> Row:
        kind = "-D" if self.key and random.random() < 0.1 else "+I"
        return [kind, random.randrange(self.keys), *(value(random) for value in values)]

    @property
    def types(self) -> dict[str, str]:
        return {"id": "INT", **self.columns, **self.maps}


def all_types(kind: str, **options: str) -> Indexed:
    """A table with an index of a kind of each type that can have it, the key among them."""
    types = [name for name in TYPES[kind] if name not in NANOS or "file.format" not in options]
    columns = {f"c{number}": name for number, name in enumerate(types)}
    own = {
        f"file-index.{kind}.{column}.{option}": value
        for column in [*columns][::2]
        for option, value in PER_COLUMN.get(kind, {}).items()
    }
    return Indexed(columns, {f"file-index.{kind}.columns": ",".join(["id", *columns]), **own, **options})


def of_both(
    oracle: Oracle, table: Table, folder: Path
) -> tuple[Table, Table, list[tuple[DataFile, DataFile]]]:
    """The table after a full compaction by us and by Java, and the new files of both in pairs."""
    ours, java = copy_of(table, folder / "ours"), copy_of(table, folder / "java")
    if oracle.schema(table)["primaryKeys"]:
        oracle.manager_round(java, full=True, commit=True)
    else:
        oracle.compact(java)
    assert run_inline(ours).status == "Compacted"
    mine, theirs = (
        sorted(oracle.files(each), key=lambda file: (file.bucket, file.min_sequence)) for each in (ours, java)
    )
    return ours, java, [*zip(mine, theirs, strict=True)]


def assert_all_indexed_alike(pairs: Sequence[tuple[DataFile, DataFile]], types: dict[str, str]) -> None:
    assert pairs
    assert all(mine.rows == theirs.rows > 0 for mine, theirs in pairs)
    assert all(stored_indexes(mine) is not None for mine, _ in pairs)
    assert_same_indexes(pairs, types)


TABLES = [
    case(all_types(BLOOM), id="bloom filters beside the file"),
    case(all_types(BLOOM, **EMBEDDED), id="bloom filters in the manifest"),
    case(all_types(BITMAP), id="bitmaps"),
    case(all_types(BITMAP, **{"file-index.bitmap.c2.version": "1"}), id="bitmaps of version 1"),
    case(all_types(BITMAP, **{"file-index.bitmap.c11.index-block-size": "64 b"}), id="bitmaps in blocks"),
    case(all_types(BSI), id="bit slices"),
    case(all_types(RANGE), id="range bitmaps"),
    case(
        all_types(RANGE, **{f"file-index.range-bitmap.c{n}.chunk-size": "40 b" for n in (2, 3, 11)}),
        id="range bitmaps in chunks",
    ),
    case(
        Indexed({"v": "STRING"}, {"file-index.bitmap.columns": "v", **EMBEDDED}, keys=3),
        id="few values, embedded",
    ),
    case(
        Indexed(
            {"v": "STRING", "n": "INT"},
            {f"file-index.{kind}.columns": "n" if kind == BSI else "n,v" for kind in TYPES},
        ),
        id="all kinds of one column",
    ),
    case(all_types(BITMAP, **{"file.format": "avro", **EMBEDDED}), id="avro"),
    case(all_types(RANGE, **{"data-file.thin-mode": "true"}), id="thin files"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("indexed", TABLES)
@pytest.mark.parametrize("key", [("id",), ()], ids=["primary key", "append"])
def test_indexes_are_those_of_java(
    oracle: Oracle, tmp_path: Path, indexed: Indexed, key: tuple[str, ...]
) -> None:
    table = Indexed(indexed.columns, indexed.options, key).make(oracle, tmp_path / "table")
    ours, _, pairs = of_both(oracle, table, tmp_path)
    assert_all_indexed_alike(pairs, indexed.types)
    assert oracle.digest(ours) == oracle.digest(table)
    assert stray_files(oracle, ours) == set()


def filters_of(oracle: Oracle, table: Table, columns: Sequence[str]) -> list[Filter]:
    """Questions about each column: its values and others, one at a time, several, and ranges."""
    random, rows = Random(3), oracle.read(table)
    fields = oracle.schema(table)["fields"]
    filters: list[Filter] = []
    for name in columns:
        number = next(number for number, field in enumerate(fields, 1) if field["name"] == name)
        kind = fields[number - 1]["type"].removesuffix(" NOT NULL")
        found = [row[number] for row in rows if row[number] is not None]
        asked = [*random.sample(found, 3), *(EVERY_VALUE[kind](random) for _ in range(4))]
        filters += [{"column": name, "op": "equal", "literal": value} for value in asked]
        filters += [{"column": name, "op": "in", "literals": asked[2:5]}, {"column": name, "op": "is_null"}]
        filters += [
            {"column": name, "op": op, "literal": value}
            for op, value in zip(
                ("less_than", "less_or_equal", "greater_than", "not_equal"), asked, strict=False
            )
        ]
    return filters


@pytest.mark.parametrize("indexed", [case(all_types(kind), id=kind) for kind in TYPES])
def test_java_skips_as_much_as_with_its_own_indexes(oracle: Oracle, tmp_path: Path, indexed: Indexed) -> None:
    table = indexed.make(oracle, tmp_path / "table", commits=2)
    filters = filters_of(oracle, table, [*indexed.columns])
    ours, java, pairs = of_both(oracle, table, tmp_path)

    mine, theirs = (oracle.file_index_rows(each, filters) for each in (ours, java))

    names = {theirs.name: mine.name for mine, theirs in pairs}
    assert mine == [{names[name]: rows for name, rows in of_filter.items()} for of_filter in theirs]
    every = {file.name: file.rows for file, _ in pairs}
    assert any(of_filter != every for of_filter in mine)
    assert any(0 in of_filter.values() for of_filter in mine), "whole files are skipped"
    exact = [ask for ask in filters if ask["column"] not in missed(indexed)]
    expected = oracle.filtered_digests(table, exact, skipping=False)
    assert oracle.filtered_digests(ours, exact) == expected


def missed(indexed: Indexed) -> set[str]:
    """Columns in which Java misses rows whoever wrote the files.

    To its indexes the zeros of floats are two values, to its filters one; it orders binaries in two ways.
    """
    return {name for name, kind in indexed.columns.items() if kind in (*FLOATS, "BYTES", "BINARY(3)")}


MAPS = Indexed(
    {"m": "MAP<STRING, INT>", "n": "MAP<STRING, STRING>"},
    {
        "file-index.bloom-filter.columns": "m[v12], n[zz3],n[never]",
        "file-index.bloom-filter.m.items": "100",
        "file-index.bloom-filter.n.items": "50",
        "file-index.bloom-filter.n[zz3].fpp": "0.3",
        "file-index.bitmap.columns": "m[v12],n[a1]",
        "file-index.range-bitmap.columns": "n[zz3],m[v7]",
        "file-index.bsi.columns": "m[v12]",
    },
    maps={
        **dict.fromkeys(["m[v12]", "m[v7]"], "INT"),
        **dict.fromkeys(["n[zz3]", "n[a1]", "n[never]"], "STRING"),
    },
)


MAP_KEYS = {"m": ("v12", "v7", "x"), "n": ("zz3", "a1", "")}


@pytest.mark.parametrize("key", [("id",), ()], ids=["primary key", "append"])
def test_values_of_map_keys(oracle: Oracle, tmp_path: Path, key: tuple[str, ...]) -> None:
    table = Table(tmp_path / "table", "db.t")
    options = {"bucket": "2", "bucket-key": "id", **MAPS.options}
    oracle.create_table(table, {"id": "INT NOT NULL", **MAPS.columns}, [*key], options=options)
    random = Random(1)
    for _ in range(3):
        oracle.write(table, [maps_row(random, number) for number in range(400)])
    filters: list[Filter] = [
        {"column": name, "op": "equal", "literal": value}
        for name, kind in MAPS.maps.items()
        for value in ([1, 5, 77] if kind == "INT" else ["t1", "t77"])
    ]

    ours, java, pairs = of_both(oracle, table, tmp_path)

    assert_all_indexed_alike(pairs, MAPS.types)
    mine, theirs = (oracle.file_index_rows(each, filters) for each in (ours, java))
    names = {theirs.name: mine.name for mine, theirs in pairs}
    assert mine == [{names[name]: rows for name, rows in of_filter.items()} for of_filter in theirs]
    assert any(0 in of_filter.values() for of_filter in mine)
    assert oracle.digest(ours) == oracle.digest(table)


def maps_row(random: Random, number: int) -> Row:
    """A row with maps that are null, empty, or have some of the keys, with or without a value."""

    def drawn(name: str, values: Sequence[Any]) -> Any:
        keys = [key for key in MAP_KEYS[name] if random.random() < 0.5]
        return None if random.random() < 0.1 else [[key, random.choice(values)] for key in keys]

    return ["+I", number, drawn("m", [None, 1, 2, 5]), drawn("n", [None, "t1", "t2", ""])]


FEW = {"file-index.bitmap.columns": "v", "file-index.bloom-filter.columns": "n"}
SMALL_FILTER = {"file-index.bloom-filter.n.items": "100"}


def test_changelog_files_have_indexes_too(oracle: Oracle, tmp_path: Path) -> None:
    indexed = Indexed(
        {"v": "STRING", "n": "INT"}, {"changelog-producer": "full-compaction", **FEW, **SMALL_FILTER}
    )
    ours, java, pairs = of_both(oracle, indexed.make(oracle, tmp_path / "table"), tmp_path)
    assert_all_indexed_alike(pairs, indexed.types)
    changes = []
    for table in (ours, java):
        newest = oracle.snapshots(table)[-1]["id"]
        entries = oracle.files_of_changelog(table, newest)
        changes.append(sorted((entry.file for entry in entries), key=lambda file: file.bucket))
    assert_all_indexed_alike([*zip(*changes, strict=True)], indexed.types)
    assert stray_files(oracle, ours) == set()


def test_postponed_rows_get_indexes_in_their_buckets(oracle: Oracle, tmp_path: Path) -> None:
    indexed = Indexed({"v": "STRING", "n": "INT"}, {**FEW, **SMALL_FILTER})
    table = Table(tmp_path / "table", "db.t")
    options = {"bucket": "-2", "postpone.default-bucket-num": "2", **indexed.options}
    oracle.create_table(table, {"id": "INT NOT NULL", **indexed.columns}, ["id"], options=options)
    oracle.write(table, [["+I", n, f"v{n % 5}", n % 9] for n in range(200)])
    ours, java = copy_of(table, tmp_path / "ours"), copy_of(table, tmp_path / "java")
    oracle.move_postponed(java)
    run_inline(ours)
    mine, theirs = (sorted(oracle.files(each), key=lambda file: file.bucket) for each in (ours, java))
    assert_all_indexed_alike([*zip(mine, theirs, strict=True)], indexed.types)
    assert stray_files(oracle, ours) == set()


@pytest.mark.parametrize("key", [("id",), ()], ids=["primary key", "append"])
def test_indexes_leave_with_their_files(oracle: Oracle, tmp_path: Path, key: tuple[str, ...]) -> None:
    """Whoever wrote them: Java expires what we have replaced, and we compact what Java has indexed."""
    indexed = Indexed({"v": "STRING", "n": "INT"}, {**FEW, **SMALL_FILTER}, key)
    table = indexed.make(oracle, tmp_path / "table")
    for _ in range(2):
        run_inline(table)
        random = Random(9)
        oracle.write(table, [["+I", n, f"v{random.random()}", n] for n in range(ROWS)])
    run_inline(table)
    rows = oracle.digest(table)
    expire(oracle, table)
    assert stray_files(oracle, table) == set()
    beside = {path.name for path in table.folder.rglob("*.index")}
    assert beside == {name for file in oracle.files(table) for name in file.extra_files} != set()
    assert oracle.digest(table) == rows


@pytest.mark.parametrize("strategy", ["round-robin", "entropy-inject"])
def test_indexes_are_beside_files_in_external_paths(oracle: Oracle, tmp_path: Path, strategy: str) -> None:
    outside = {
        "data-file.external-paths": f"file:{tmp_path}/outside",
        "data-file.external-paths.strategy": strategy,
    }
    indexed = Indexed({"v": "STRING", "n": "INT"}, {**FEW, **SMALL_FILTER, **outside})
    table = indexed.make(oracle, tmp_path / "table", commits=2)
    run_inline(table)
    filters = filters_of(oracle, table, ["v", "n"])
    for file in oracle.files(table):
        assert (Path(file.path.removeprefix("file:")).parent / file.extra_files[0]).exists()
    assert any(0 in rows.values() for rows in oracle.file_index_rows(table, filters))


def test_files_without_indexes_get_them_when_they_are_rewritten(oracle: Oracle, tmp_path: Path) -> None:
    """And files whose indexes the table no longer asks for lose them, as with Java."""
    indexed = Indexed({"v": "STRING", "n": "INT"}, {})
    table = indexed.make(oracle, tmp_path / "table", commits=2)
    oracle.alter_table(table, {"set_option": ["file-index.bitmap.columns", "v"]})
    ours, java, pairs = of_both(oracle, table, tmp_path / "set")
    assert_all_indexed_alike(pairs, indexed.types)
    for each in (ours, java):
        oracle.alter_table(each, {"remove_option": "file-index.bitmap.columns"})
    oracle.write(ours, [["+I", 5, "new", 7], ["+I", 6, "new", 7], ["+I", 7, "new", 7]])
    run_inline(ours)
    assert {tuple(file.extra_files) for file in oracle.files(ours)} == {()}
    assert {file.embedded_index for file in oracle.files(ours)} == {None}


def test_copied_row_groups_are_indexed(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "SMALLEST_COPIED", 1)
    monkeypatch.setattr(copying, "_MOST_OTHERS", 1e9)
    options = {
        "bucket": "1",
        "file-index.bitmap.columns": "city",
        "file-index.bsi.columns": "money",
        "file-index.bloom-filter.columns": "text",
    }
    columns = {"id": "BIGINT NOT NULL", "text": "STRING", "city": "STRING", "money": "DECIMAL(12, 2)"}
    table = Table(tmp_path / "table", "db.t")
    oracle.create_table(table, columns, ["id"], options=options)
    values = {
        "city": {"kind": "low", "values": 9, "prefix": "city-"},
        "text": {"kind": "random", "min": 60, "max": 90},
    }
    oracle.generate(table, rows=120_000, seed=1, columns=values, key={"mode": "sequential"})
    sizing = Sizing(budget=Budget(4 << 20))
    oracle.generate(table, rows=50, seed=3, columns=values, key={"mode": "uniform", "range": 120_000})
    run_inline(table, sizing=sizing)
    oracle.generate(table, rows=50, seed=2, columns=values, key={"mode": "uniform", "range": 1_000})
    java = copy_of(table, tmp_path / "java")
    oracle.manager_round(java, full=True, commit=True)

    report = run_inline(table, sizing=sizing)

    assert report.copied_bytes > 0
    pairs = [*zip(oracle.files(table), oracle.files(java), strict=True)]
    assert_all_indexed_alike(pairs, columns)
