"""What only files tell: NaN among keys, nanoseconds in another form, time zones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import UnsupportedTable
from support.comparing.rounds import metadata
from support.comparing.shapes import SHAPES, Shape
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

ONE_BUCKET = {"bucket": "1"}


def named(name: str) -> Shape:
    return next(shape for shape in SHAPES if shape.name == name)


REFUSED: dict[str, tuple[dict[str, str], dict[str, str], list[list[Any]], str]] = {
    "the last key": ({"k": "DOUBLE NOT NULL", "v": "INT"}, {}, [[1.0, 1], ["NaN", 2]], "NaN"),
    "a key in the middle": (
        {"k": "INT NOT NULL", "f": "FLOAT NOT NULL"},
        {},
        [[1, 1.0], [2, "NaN"], [3, 1.0]],
        "column f",
    ),
    "a sequence field": (
        {"k": "INT NOT NULL", "s": "DOUBLE"},
        {"sequence.field": "s"},
        [[1, 1.0], [2, "NaN"], [3, None]],
        "column s",
    ),
}


@pytest.mark.parametrize(("columns", "options", "rows", "said"), REFUSED.values(), ids=REFUSED)
def test_nan_is_not_merged(
    oracle: Oracle,
    tmp_path: Path,
    columns: dict[str, str],
    options: dict[str, str],
    rows: list[list[Any]],
    said: str,
) -> None:
    table = Table(tmp_path / "w", "db.t")
    key = [name for name, kind in columns.items() if kind.endswith("NOT NULL")]
    oracle.create_table(table, columns, key, options={**ONE_BUCKET, **options})
    for _ in range(2):
        oracle.write(table, [["+I", *row] for row in rows])
    before, snapshots = oracle.files(table), oracle.snapshots(table)
    with pytest.raises(UnsupportedTable, match=said) as caught:
        run_inline(table, full=True)
    assert "NaN" in str(caught.value)
    assert (oracle.files(table), oracle.snapshots(table)) == (before, snapshots)


def test_nanoseconds_in_the_newer_form_are_read_as_they_are_labelled(oracle: Oracle, tmp_path: Path) -> None:
    """Java 1.4 takes them for milliseconds or fails; newer versions and pypaimon read them as we do."""
    table = Table(tmp_path / "w", "db.t")
    columns = {"id": "INT NOT NULL", "at": "TIMESTAMP(9)", "many": "ARRAY<TIMESTAMP(9)>"}
    oracle.create_table(table, columns, ["id"], options=ONE_BUCKET)
    rows = [[1, "2024-02-29T12:00:00.123456789", [None, "1969-12-31T23:59:59.999999999"]], [2, None, None]]
    oracle.write(table, [["+I", *row] for row in rows])
    (file,) = oracle.files(table)
    newer = pq.read_table(file.path)
    assert newer.schema.field("at").type == pa.timestamp("ns")
    pq.write_table(newer, file.path, store_schema=False)
    crc = Path(file.path).with_name(f".{Path(file.path).name}.crc")
    crc.unlink(missing_ok=True)
    oracle.write(table, [["+I", 3, None, None]])
    run_inline(table, full=True)
    assert oracle.read(table) == [["+I", *row] for row in [*rows, [3, None, None]]]


@pytest.mark.parametrize(("first", "is_read"), [("1678-01-01", True), ("1677-01-01", False)])
def test_nanoseconds_in_orc_become_parquet(oracle: Oracle, tmp_path: Path, first: str, is_read: bool) -> None:
    """PyArrow's nanoseconds are of 64 bits; footers tell whether that is enough."""
    table = Table(tmp_path / "w", "db.t")
    options = {**ONE_BUCKET, "file.format": "orc"}
    columns = {"id": "INT NOT NULL", "at": "TIMESTAMP(9)", "zoned": "TIMESTAMP(9) WITH LOCAL TIME ZONE"}
    oracle.create_table(table, columns, ["id"], options=options)
    moments = [f"{first}T00:00:00.000000001", "1969-12-31T23:59:59.123456789", "2261-12-30T12:00:00.5"]
    rows = [["+I", number, *([moment] * 2)] for number, moment in enumerate(moments)]
    oracle.write(table, [*rows, ["+I", 3, None, None]])
    oracle.write(table, [["+I", 4, None, None]])
    before = oracle.read(table)
    if is_read:
        run_inline(table, full=True)
        assert [Path(file.name).suffix for file in oracle.files(table)] == [".parquet"]
    else:
        with pytest.raises(UnsupportedTable, match="column at: it has timestamps before 1678"):
            run_inline(table, full=True)
    assert oracle.read(table) == before


FAR_EAST = "Asia/Shanghai"
INSTANTS_OF_UTC = {"orc.timestamp-ltz.legacy.type": "false"}
NESTED_NANOS = {
    "r": "ROW<at TIMESTAMP(9), r ROW<z TIMESTAMP(9) WITH LOCAL TIME ZONE, n INT>>",
    "l": "ARRAY<TIMESTAMP(7)>",
    "ll": "ARRAY<ARRAY<ROW<at TIMESTAMP(9)>>>",
    "m": "MAP<TIMESTAMP(9), TIMESTAMP(9)>",
    "us": "ARRAY<TIMESTAMP(6)>",
}


def nested_nanos(moment: str, odd: bool = False) -> list[Any]:
    """A moment in every place, or every other; nulls at every depth."""
    short = moment[:27]
    return [
        [moment, [moment, None] if odd else None],
        [None, short] if odd else [short],
        [[[moment], None], None, []] if odd else [[[None]], [[moment]]],
        [[moment, None if odd else moment]],
        [None, moment[:26]],
    ]


NOTHINGS: list[list[Any]] = [
    [None] * 5,
    [[None, None], [], [], [], []],
    [[None, [None, 1]], [None], [None, []], [], [None]],
]
READABLE = [
    "1678-01-01T00:00:00.000000001",
    "1969-12-31T23:59:59.000000999",
    "1969-12-31T23:59:59.000999999",
    "1969-12-31T23:59:58.999999999",
    "1970-01-01T00:00:00.123456789",
    "1970-01-01T07:59:59.999999999",
    "2024-02-29T10:11:12",
    "2261-12-31T23:59:59.999999999",
]


@pytest.mark.parametrize("zone", ["UTC", FAR_EAST])
def test_nested_nanoseconds_in_orc_become_parquet(tmp_path: Path, zone: str) -> None:
    table = Table(tmp_path / "w", "db.t")
    options = {**ONE_BUCKET, **INSTANTS_OF_UTC, "file.format": "orc"}
    rows = [*NOTHINGS, *(nested_nanos(each, odd) for each in READABLE for odd in (False, True))]
    with Oracle.start(timezone=zone) as java:
        java.create_table(table, {"id": "INT NOT NULL", **NESTED_NANOS}, ["id"], options=options)
        java.write(table, [["+I", number, *row] for number, row in enumerate(rows)])
        java.write(table, [["+U", number, *row] for number, row in enumerate(reversed(rows[:5]))])
        before = java.read(table)
        run_inline(table, full=True)
        assert [Path(file.name).suffix for file in java.files(table)] == [".parquet"]
        assert java.read(table) == before
    with Oracle.start(timezone="UTC" if zone == FAR_EAST else FAR_EAST) as java:
        assert java.read(table) == before


UNREADABLE: dict[str, tuple[list[Any], list[str]]] = {
    "a field": ([["1677-09-21T00:12:43.145224192", None], *[None] * 4], ["r.at"]),
    "a field of a field": ([[None, ["2262-04-11T23:47:16.854775807", 1]], *[None] * 4], ["r.r.z"]),
    "an element": ([None, [None, "0001-01-01T00:00:00"], *[None] * 3], ["l.element"]),
    "a field of elements": (
        [None, None, [None, [["9999-12-31T23:59:59"]]], None, None],
        ["ll.element.element.at"],
    ),
    "a key": ([None, None, None, [["2262-01-01T00:00:00", None]], None], []),
    "a key of later days": ([None, None, None, [["2263-01-01T00:00:00", None]], None], ["m.key"]),
    "a value": ([None, None, None, [["2024-01-01T00:00:00", "1677-01-01T00:00:00"]], None], ["m.value"]),
    "microseconds": ([None, None, None, None, ["9999-12-31T23:59:59.999999", "0001-01-01T00:00:00"]], []),
    "two of them": (
        [["1500-01-01T00:00:00", None], ["3000-01-01T00:00:00"], *[None] * 3],
        ["r.at", "l.element"],
    ),
}


@pytest.mark.parametrize(("row", "parts"), UNREADABLE.values(), ids=UNREADABLE)
def test_nested_nanoseconds_that_would_wrap_end_the_run(
    oracle: Oracle, tmp_path: Path, row: list[Any], parts: list[str]
) -> None:
    table = Table(tmp_path / "w", "db.t")
    options = {**ONE_BUCKET, "file.format": "orc"}
    oracle.create_table(table, {"id": "INT NOT NULL", **NESTED_NANOS}, ["id"], options=options)
    oracle.write(table, [["+I", 1, *row], ["+I", 2, *nested_nanos("2024-02-29T10:11:12.123456789")]])
    oracle.write(table, [["+I", 3, *NOTHINGS[0]]])
    before, files = oracle.read(table), oracle.files(table)
    if parts:
        with pytest.raises(UnsupportedTable) as caught:
            run_inline(table, full=True)
        reasons = "; ".join(caught.value.reasons)
        assert re.findall(r"column (\S+): it has timestamps before 1678", reasons) == parts
        assert oracle.files(table) == files
    else:
        run_inline(table, full=True)
    assert oracle.read(table) == before


def test_nested_nanoseconds_of_any_year_are_not_written_to_orc(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path / "w", "db.t")
    options = {**ONE_BUCKET, "file.format": "orc"}
    oracle.create_table(table, {"id": "INT NOT NULL", **NESTED_NANOS}, ["id"], options=options)
    moments = ["0001-01-01T00:00:00.000000001", "9999-12-31T23:59:59.999999999"]
    rows = [*NOTHINGS, *(nested_nanos(each) for each in moments)]
    for first in (0, 2):
        listed = [["+I", number, *row] for number, row in enumerate(rows) if number >= first]
        oracle.write(table, listed, options={"file.format": "parquet"})
    before = oracle.read(table)
    run_inline(table, full=True)
    assert [Path(file.name).suffix for file in oracle.files(table)] == [".parquet"]
    assert oracle.read(table) == before


def test_parts_of_old_orc_files_that_became_nanoseconds_or_went(oracle: Oracle, tmp_path: Path) -> None:
    """What nobody reads any more may wrap around."""
    table = Table(tmp_path / "w", "db.t")
    columns = {"id": "INT NOT NULL", "l": "ARRAY<TIMESTAMP(6)>", "r": "ROW<n INT, at TIMESTAMP(9)>"}
    options = {**ONE_BUCKET, "file.format": "orc"}
    oracle.create_table(table, columns, ["id"], options=options)
    oracle.write(table, [["+I", 1, ["9999-12-31T23:59:59.999999", None], [1, "0001-01-01T00:00:00"]]])
    oracle.alter_table(table, {"update_type": ["l.element", "TIMESTAMP(9)"]}, {"drop_column": "r.at"})
    oracle.write(table, [["+I", 2, ["2024-02-29T12:00:00.123456789"], [2]], ["+I", 3, None, None]])
    before = oracle.read(table)
    run_inline(table, full=True)
    assert oracle.read(table) == before


def test_zeros_in_orc_keep_the_sign_that_they_have_in_the_file(oracle: Oracle, tmp_path: Path) -> None:
    """Java takes a batch of nothing but zeros for a repetition of the first, until others join them."""
    table = Table(tmp_path / "w", "db.t")
    options = {**ONE_BUCKET, "file.format": "orc"}
    oracle.create_table(table, {"id": "INT NOT NULL", "f": "DOUBLE"}, ["id"], options=options)
    oracle.write(table, [["+I", 1, 0.0], ["+I", 2, "-0.0"]])
    assert oracle.read(table) == [["+I", 1, 0.0], ["+I", 2, 0.0]]
    oracle.write(table, [["+I", 3, 1.5]])
    run_inline(table, full=True)
    assert oracle.read(table) == [["+I", 1, 0.0], ["+I", 2, "-0.0"], ["+I", 3, 1.5]]


def test_the_time_zone_of_java_changes_nothing(tmp_path: Path) -> None:
    """Of timestamps with local time zone and of nanoseconds, in UTC and in Shanghai."""
    with Oracle.start(timezone="Asia/Shanghai") as oracle:
        original = named("every type").make(oracle, tmp_path / "original")
        rows, before = oracle.read(original), {file.name for file in oracle.files(original)}
        java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
        oracle.manager_round(java, full=True, commit=True)
        run_inline(ours, full=True)
        assert oracle.read(ours) == rows
        mine, theirs = ([metadata(f) for f in oracle.files(t) if f.name not in before] for t in (ours, java))
        assert mine == theirs
        assert mine
    with Oracle.start(timezone="UTC") as oracle:
        assert oracle.read(ours) == oracle.read(java)
