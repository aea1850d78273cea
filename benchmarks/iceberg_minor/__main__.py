"""Removes equality deletes in three ways: `python -m iceberg_minor [ROWS]`.

Spark makes the same table three times, with equality deletes of keys from all files, or from a quarter of
them. One is compacted by a minor run, one by a full run of ours, one by Spark's rewrite of all files. Prints
how long each took and what it wrote for each deleted row, and checks that all read the same.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow.compute as pc

from infrastructure.iceberg.catalogs import CatalogAddress, sql
from infrastructure.iceberg.model import EqualityDeletes
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import SparkTable
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_runs import run

_USUAL = 4_000_000
_FILES = 8
_COLUMNS = "id BIGINT, n BIGINT, text STRING, a DOUBLE, b DOUBLE, c DOUBLE"
_DELETED_IN = 133
"""Number of keys of which one is deleted."""
_KEEPING = {"lithify.equality-delete-file-threshold": "1", "min-file-size-bytes": "0"}
_WAYS: Mapping[str, Callable[[SparkTable], object]] = {
    "minor": lambda table: run(table, Strategy.MINOR, overrides=_KEEPING),
    "full": lambda table: run(table, Strategy.FULL),
    "Spark": lambda table: table.spark.rewrite(table.name, {"rewrite-all": "true"}),
}


def main() -> None:
    """Makes the tables and compacts each."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else _USUAL
    with tempfile.TemporaryDirectory() as name, SparkIceberg.start(heap="4g", conf={}) as spark:
        catalog = spark.add_catalog(sql(Path(name)))
        for way, act in _WAYS.items():  # the first run of a process loads classes and modules
            _measured(_made(spark, catalog, f"db.{way}_first", _FILES * 1000, 0), act)
        for place, first in (("all files", 0), ("a quarter of the files", rows * 3 // 4)):
            measured = {
                way: _measured(_made(spark, catalog, f"db.{way}_{first}", rows, first), act)
                for way, act in _WAYS.items()
            }
            if len({left for _, _, left in measured.values()}) > 1:
                raise SystemExit(f"they read different rows: {measured}")
            _say(place, measured, (rows - first) // _DELETED_IN)


def _made(spark: SparkIceberg, catalog: CatalogAddress, name: str, rows: int, first: int) -> SparkTable:
    """A table of some files, of whose rows from the first one on some are deleted by three commits."""
    table = SparkTable(spark, catalog, name).create(2, columns=_COLUMNS)
    values = "id, id * 48271 % 65521, concat('row ', id), id / 7.0, id / 11.0, id / 13.0"
    for number in range(_FILES):
        start, end = (rows * each // _FILES for each in (number, number + 1))
        table.run(f"INSERT INTO {table.name} SELECT {values} FROM range({start}, {end}, 1, 1)")
    for number in range(3):
        keys = f"SELECT id FROM range({first + number}, {rows}, {_DELETED_IN * 3}, 1)"
        spark.row_delta(table.name, equality=[EqualityDeletes(["id"], keys)])
    return table


def _measured(table: SparkTable, act: Callable[[SparkTable], object]) -> tuple[float, int, str]:
    """Seconds that a compaction takes, bytes that it adds, and a checksum of the rows after it."""
    before = table.metadata_table("snapshots").num_rows
    began = time.monotonic()
    act(table)
    seconds = time.monotonic() - began
    table.run(f"REFRESH TABLE {table.name}")
    summaries = table.spark.sql(
        f"SELECT CAST(summary['added-files-size'] AS BIGINT) FROM {table.name}.snapshots "
        f"ORDER BY committed_at LIMIT 1000 OFFSET {before}"
    )
    digest = "CAST(sum(CAST(xxhash64(id, n, text) AS DECIMAL(38, 0))) AS STRING)"
    left = table.spark.sql(f"SELECT count(*), {digest} FROM {table.name}")
    return seconds, pc.sum(summaries[0]).as_py(), str(left.to_pylist())


def _say(place: str, measured: Mapping[str, tuple[float, int, str]], deleted: int) -> None:
    quickest, least, _ = measured["minor"]
    for way, (seconds, added, _) in measured.items():
        print(
            f"{deleted:,} keys of {place}, {way}: {seconds:.2f} s, {seconds / quickest:.1f} times as long; "
            f"{added / deleted:,.1f} bytes written for each, {added / least:,.1f} times as many",
            flush=True,
        )


if __name__ == "__main__":
    main()
