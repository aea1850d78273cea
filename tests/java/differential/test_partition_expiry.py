"""Expiry of partitions beside Java's: which texts are times, which partitions are due, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.expired_partitions import expire_partitions_of_both, partition_expiry, path_of
from support.expired_snapshots import ALL, opened
from support.runs import ShiftedClock, run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

KEPT = {"partition.expiration-time": "10 d", "partition.expiration-max-num": str(ALL)}
TEXTS = (
    *(
        "2023-01-01",
        "20230101",
        "2023-1-5",
        "2023-02-31",
        "2023-13-01",
        "2023-01-32",
        "2023-00-10",
        "2023-01-00",
    ),
    *("2023-01-01 10:00:00", "2023-01-01 10:00", "2023-01-01 10", "2023-1-1 1:2:3", "2023-01-01 25:61:61"),
    *("2023-01-01 24:00:00", "2023-01-01 24:00:01", "20230101 24", "20230101 10", "2023010110", "2023010125"),
    *(
        "2023-01-01T10:00:00",
        "2023-01-01T10:00",
        "2023/01/01",
        "01012023",
        "31122023",
        "2023-01",
        "202301",
        "2023",
    ),
    *("2023-06-31 23:59:59.123456789", "2023-06-30 23:59:59.1234567890", "2023-06-30 23:59:59."),
    *("120230101", "+20230101", "2023010", "20230229", "20231", "2023 01 01", " 2023-01-01", "2023-01-01 "),
    *(
        "9999-12-31",
        "29990101",
        "2999-01-01",
        "12023-01-01",
        "0001-01-01",
        "00010101",
        "abc",
        "10",
        "24",
        "'20230101",
    ),
    *(
        "2023-01-01 0:0:0",
        "20230101 61",
        "20230101 59",
        "2023-W01",
        "٢٠٢٣-٠١-٠١",
        "dt=20230101",
        "a$b",
        "x\\y",
    ),
)
FORMATTERS = (
    None,
    *("yyyyMMdd", "yyyy-MM-dd", "uuuu-MM-dd", "yyyy-M-d", "yyyy/MM/dd", "yyyyMd", "ddMMyyyy", "yyyyMM", "HH"),
    *("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH", "yyyyMMdd HH", "yyyyMMddHH", "yyyyMMdd mm"),
    *(
        "yyyy-MM-dd'T'HH:mm:ss",
        "''yyyyMMdd",
        "'dt='yyyyMMdd",
        "yyyy-MM-dd H:m:s",
        "yyyy-MM-dd ss",
        "yyyyMMddd",
    ),
)


@pytest.fixture(scope="module")
def texts(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A partition of each text."""
    table = Table(tmp_path_factory.mktemp("texts"), "db.t")
    columns = {"dt": "STRING", "id": "INT"}
    oracle.create_table(table, columns, partition_keys=["dt"], options={"bucket": "-1", "write-only": "true"})
    oracle.write(table, [["+I", text, 1] for text in (*TEXTS, "", None)])
    return table


@pytest.mark.parametrize("formatter", FORMATTERS, ids=str)
def test_texts_are_times_as_with_java(
    oracle: Oracle, texts: Table, tmp_path: Path, formatter: str | None
) -> None:
    options = KEPT if formatter is None else {**KEPT, "partition.timestamp-formatter": formatter}
    if formatter == "yyyyMMddd":  # three letters are an error in Java, too
        with pytest.raises(Exception, match="ddd"):
            partition_expiry(opened(texts), options).plan(ShiftedClock())
        return
    theirs = oracle.expire_partitions(copy_of(texts, tmp_path / "java"), options)
    ours = partition_expiry(opened(texts), options).plan(ShiftedClock()).partitions
    assert [each.name for each in ours] == [path_of(each) for each in theirs]


PATTERNS: Mapping[str, Mapping[str, str]] = {
    "two columns": {"partition.timestamp-pattern": "$dt $hr:00:00"},
    "the second column": {"partition.timestamp-pattern": "$hr"},
    "a formatter": {
        "partition.timestamp-pattern": "$dt $hr",
        "partition.timestamp-formatter": "yyyy-MM-dd HH",
    },
    "no column": {"partition.timestamp-pattern": "2020-01-01"},
    "no pattern": {},
    "by files": {"partition.expiration-strategy": "update-time", "partition.expiration-time": "1 ms"},
}


@pytest.mark.parametrize("name", PATTERNS)
def test_partitions_of_two_columns_expire_as_with_java(oracle: Oracle, tmp_path: Path, name: str) -> None:
    table = Table(tmp_path / "table", "db.t")
    columns = {"dt": "STRING NOT NULL", "hr": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
    options = {"bucket": "1", "write-only": "true", "deletion-vectors.enabled": "true"}
    oracle.create_table(table, columns, ["dt", "hr", "id"], ["dt", "hr"], options={**options})
    days, hours = ("2020-01-01", "2020-13-01", "2999-01-01", "x"), ("00", "7", "2020-05-05", "x,y")
    rows = [
        ["+I", day, hour, key, "v"] for day in days for hour in hours if "," not in hour for key in range(3)
    ]
    oracle.write(table, rows)
    run_inline(table, full=True)
    oracle.write(table, [["-D", *row[1:]] for row in rows[::2]])
    run_inline(table)

    expired = expire_partitions_of_both(oracle, table, {**KEPT, **PATTERNS[name]}, tmp_path / "java")

    assert (len(expired) > 0) == (
        name != "the second column" or any("2020-05-05" in each for each in expired)
    )
    assert stray_files(oracle, table) == set()


@pytest.mark.parametrize("kind", ["INT", "DATE", "BIGINT", "BOOLEAN"])
def test_values_of_other_types_are_times_as_with_java(oracle: Oracle, tmp_path: Path, kind: str) -> None:
    """A date is a number of days there, which is no time: Java keeps such partitions."""
    table = Table(tmp_path / "table", "db.t")
    values = {"INT": 20230101, "BIGINT": 20230101, "DATE": "2023-01-01", "BOOLEAN": True}
    oracle.create_table(
        table, {"p": kind, "id": "INT"}, partition_keys=["p"], options={"bucket": "-1", "write-only": "true"}
    )
    oracle.write(table, [["+I", values[kind], 1], ["+I", None, 2]])
    for formatter in ({}, {"partition.timestamp-formatter": "yyyyMMdd"}):
        expired = expire_partitions_of_both(
            oracle, table, {**KEPT, **formatter}, tmp_path / f"java{len(formatter)}"
        )
        assert len(expired) == (1 if formatter and "INT" in kind else 0)
