"""What only files tell: NaN among keys, nanoseconds in another form, time zones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from differential.rounds import metadata
from differential.shapes import SHAPES, Shape
from lithify.errors import UnsupportedTable
from oracle.client import Oracle, Table
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
