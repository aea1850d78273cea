"""Times in ORC and Avro files stay what Java reads, also where Java runs in another time zone than UTC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.errors import UnsupportedTable
from support.runs import run_inline

pytestmark = pytest.mark.oracle

ZONE = "Asia/Shanghai"
LEGACY = "orc.timestamp-ltz.legacy.type"
COLUMNS = {
    "id": "INT NOT NULL",
    "day": "DATE",
    "at": "TIMESTAMP(6)",
    "zoned": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "code": "CHAR(6)",
}

# Beginning and end of time, calendar reforms, local mean time, summer time of 1986 in Shanghai, and what does
# not fit into nanoseconds. Java itself shifts some of them as it writes; what it then reads must stay.
MOMENTS = [
    "0001-01-01T00:00:00",
    "1582-10-04T01:02:03",
    "1582-10-10T01:02:03",
    "1582-10-15T01:02:03",
    "1677-09-21T00:12:43",
    "1900-12-31T23:54:17",
    "1901-01-01T00:05:00",
    "1960-01-01T00:00:00.537",
    "1969-12-31T23:59:59",
    "1986-05-04T02:30:00",
    "1986-09-13T23:30:00",
    "1986-09-14T00:30:00",
    "2024-02-29T10:11:12.123456",
    "2262-04-11T23:47:17",
    "2300-01-01T00:00:00.5",
    "9999-12-31T23:59:59.999999",
]


@pytest.fixture(scope="module")
def abroad() -> Iterator[Oracle]:
    """Java in another time zone."""
    with Oracle.start(timezone=ZONE) as started:
        yield started


def rows(shift: int) -> list[Row]:
    """A row for each moment; with a shift, under the ids of others."""
    moments = [*MOMENTS[shift:], *MOMENTS[:shift]]
    return [["+I", n, moment[:10], moment, moment, f"c{n}"] for n, moment in enumerate(moments)]


def table_of(java: Oracle, warehouse: Path, kind: str, *, legacy: bool) -> Table:
    """Two runs of every moment."""
    table = Table(warehouse, "db.t")
    options = {"bucket": "1", "file.format": kind, LEGACY: str(legacy).lower()}
    java.create_table(table, COLUMNS, primary_key=["id"], options=options)
    java.write(table, rows(0)[:10])
    java.write(table, rows(3)[5:])
    return table


@pytest.mark.parametrize("kind", ["orc", "avro", "parquet"])
def test_times_stay_what_java_reads_abroad(abroad: Oracle, tmp_path: Path, kind: str) -> None:
    table = table_of(abroad, tmp_path, kind, legacy=False)
    before = abroad.read(table)

    run_inline(table)

    assert abroad.read(table) == before
    (file,) = abroad.files(table)
    assert file.name.endswith(f".{kind}")


@pytest.mark.parametrize("legacy", [False, True])
def test_times_stay_what_java_reads_in_utc(oracle: Oracle, tmp_path: Path, legacy: bool) -> None:
    table = table_of(oracle, tmp_path, "orc", legacy=legacy)
    before = oracle.read(table)

    run_inline(table)

    assert oracle.read(table) == before


def test_microseconds_before_1970_make_a_file_parquet(oracle: Oracle, tmp_path: Path) -> None:
    """PyArrow cannot write them to ORC files so that Java could read them."""
    table = table_of(oracle, tmp_path, "orc", legacy=False)
    early = "1960-01-01T00:00:00.000001"
    oracle.write(table, [["+U", 7, None, early, early, None]])
    before = oracle.read(table)

    run_inline(table)

    assert oracle.read(table) == before
    assert [file.name.rpartition(".")[2] for file in oracle.files(table)] == ["parquet"]
    assert len(list(table.folder.glob("bucket-*/*.parquet"))) == 1


def test_instants_that_depend_on_the_time_zone_are_refused(abroad: Oracle, tmp_path: Path) -> None:
    table = table_of(abroad, tmp_path, "orc", legacy=True)
    before = abroad.read(table)

    with pytest.raises(UnsupportedTable) as caught:
        run_inline(table)

    assert "column zoned" in caught.value.reasons[0]
    assert ZONE in caught.value.reasons[0]
    assert abroad.read(table) == before
    assert {path.suffix for path in table.folder.glob("bucket-*/*")} == {".orc"}
    assert len(list(table.folder.glob("bucket-*/*"))) == 2


@pytest.mark.parametrize("zone", [ZONE, "America/New_York", "Europe/London"])
def test_fractions_between_two_midnights_of_1970(tmp_path: Path, zone: str) -> None:
    """Java goes by the clock of UTC, C++ by the one on the wall. London was ahead in that winter."""
    table = Table(tmp_path, "db.t")
    columns = {"id": "INT NOT NULL", "a": "TIMESTAMP(3)", "b": "TIMESTAMP(6)", "c": "ARRAY<TIMESTAMP(6)>"}
    hours = [f"19{day}T{hour:02d}" for day in ("69-12-31", "70-01-01") for hour in range(24)]
    moments = [f"{hour}:{second}" for hour in hours for second in ("00:00.5", "59:59.001", "59:59")]
    # Years that wrap around to them.
    moments += ["2554-07-21T23:34:33.709551", "2554-07-22T03:34:33.709551", "1385-06-12T00:25:26.290448"]
    with Oracle.start(timezone=zone) as java:
        java.create_table(table, columns, ["id"], options={"bucket": "1", "file.format": "orc"})
        java.write(table, [["+I", n, m[:23], m, [m, None]] for n, m in enumerate(moments)])
        java.write(table, [["+I", -1, None, None, None]])
        before = java.read(table)
        run_inline(table)
        assert java.read(table) == before
