"""Compacts a table beside Spark's writes: `python -m iceberg_late_deletes [ROWS [SECONDS [VERSION]]]`.

Spark makes a merge-on-read table, then deletes or merges some of its rows every second. Beside these writes,
another Spark first rewrites all files three times. Then three runs of ours compact the table, each held for
SECONDS when its tasks are done. Prints the outcome of each rewrite, and the tries and carried rows of each
commit. At the end, checks that the table has the rows that Spark did not delete, with their row ids.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from infrastructure.iceberg.catalogs import sql
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import SparkTable
from infrastructure.jvm.process import OracleError
from lithify import faults
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_runs import CLOCK, address_of

_FILES = 40
_RUNS = 3
_ROWS_A_WRITE = 50
_USUAL = (10_000_000, 120, 3)
_VERSION_WITH_IDS = 3


@dataclass(slots=True)
class Writer:
    """Writes once a second: DELETE and MERGE in turn, each of rows that follow one another."""

    table: SparkTable
    rows: int
    deleted: set[int] = field(default_factory=set)
    writes: int = 0
    failures: int = 0
    ends: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Writes until it ends; a write that fails beside our commit is tried again."""
        number = 0
        while not self.ends.is_set():
            began, first = time.monotonic(), number * 7919 * 53 % (self.rows - _ROWS_A_WRITE)
            try:
                self._write(number, first)
            except OracleError:
                self.failures += 1
                continue
            number += 1
            self.writes = number
            self.ends.wait(max(0.0, 1 - (time.monotonic() - began)))

    def _write(self, number: int, first: int) -> None:
        ids = range(first, first + _ROWS_A_WRITE)
        if number % 2:
            self.table.run(
                f"MERGE INTO {self.table.name} t USING (SELECT id FROM range({ids.start}, {ids.stop})) s "
                f"ON t.id = s.id AND t.id >= {ids.start} AND t.id < {ids.stop} "
                "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = n + 1"
            )
            self.deleted.update(each for each in ids if each % 2 == 0)
        else:
            self.table.delete(f"id >= {ids.start} AND id < {ids.stop}")
            self.deleted.update(ids)


def main() -> None:
    """Makes the table, compacts it beside the writer, and checks it."""
    given = [int(each) for each in sys.argv[1:]]
    rows, seconds, version = [*given, *_USUAL[len(given) :]]
    with (
        tempfile.TemporaryDirectory() as name,
        SparkIceberg.start(heap="4g", conf={}) as spark,
        SparkIceberg.start(heap="4g", conf={}) as other,
    ):
        table = _made(spark, Path(name), rows, version)
        ids = _row_ids(table) if version >= _VERSION_WITH_IDS else None
        writer = Writer(table, rows)
        thread = threading.Thread(target=writer.run)
        thread.start()
        try:
            other.add_catalog(table.catalog)
            for _ in range(_RUNS):
                _rewrite(other, table.name)
            for _ in range(_RUNS):
                _say(_compacted(table, seconds), writer)
        finally:
            writer.ends.set()
            thread.join()
        _check(table, rows, writer, ids)


def _made(spark: SparkIceberg, folder: Path, rows: int, version: int) -> SparkTable:
    catalog = spark.add_catalog(sql(folder))
    table = SparkTable(spark, catalog, "db.t").create(version, columns="id BIGINT, n BIGINT, text STRING")
    for number in range(_FILES):
        first, last = (rows * each // _FILES for each in (number, number + 1))
        values = f"SELECT id, id * 48271 % 65521, concat('row ', id) FROM range({first}, {last}, 1, 1)"
        table.run(f"INSERT INTO {table.name} {values}")
    return table


def _rewrite(spark: SparkIceberg, table: str) -> None:
    """Java's rewrite of all files beside the writer: one commit, tried as often as the table says."""
    began = time.monotonic()
    try:
        made = spark.rewrite(table, {"rewrite-all": "true"})
        outcome = f"{made.rewritten_files} files to {made.added_files}"
    except OracleError as error:
        outcome = f"in conflict: {str(error).splitlines()[0][:100]}"
    print(f"Spark's rewrite: {outcome}, in {time.monotonic() - began:.1f} s", flush=True)


def _compacted(table: SparkTable, seconds: int) -> tuple[Report, float]:
    """A run that is held when its tasks are done, and how long it took after that."""
    released = 0.0

    def act(action: str, attempt: int) -> None:
        nonlocal released
        del attempt
        if action == "wait":
            time.sleep(seconds)
            released = time.monotonic()

    faults._act = act
    os.environ["LITHIFY_FAULTS"] = "tasks-done=wait"
    request = Request(address_of(table), Selection(strategy=Strategy.FULL), max_rounds=1)
    return compact(request, InlineRunner(), CLOCK), time.monotonic() - released


def _say(made: tuple[Report, float], writer: Writer) -> None:
    report, seconds = made
    print(
        f"{report.status}: {report.before.files} files to {report.after.files}, {report.commit_tries} tries "
        f"in {seconds:.2f} s, {report.totals['carried_rows']:,} rows carried over, {len(report.skipped)} "
        f"groups in conflict; {writer.writes} writes so far, {writer.failures} tried again",
        flush=True,
    )


def _row_ids(table: SparkTable) -> pa.Table:
    return table.read("id", "_row_id")


def _check(table: SparkTable, rows: int, writer: Writer, ids: pa.Table | None) -> None:
    """Checks that exactly the deleted rows are gone, and that the others have their row ids."""
    table.run(f"REFRESH TABLE {table.name}")
    left = table.read("id")["id"].combine_chunks()
    gone = pa.array(sorted(writer.deleted), pa.int64())
    every = pa.array(range(rows), pa.int64())
    expected = every.filter(pc.invert(pc.is_in(every, value_set=gone)))
    if not left.equals(expected):
        raise SystemExit(f"{len(left)} rows are left, and {len(expected)} should be")
    if ids is not None:
        kept = ids.filter(pc.invert(pc.is_in(ids["id"], value_set=gone))).combine_chunks()
        if not _row_ids(table).combine_chunks().equals(kept):
            raise SystemExit("row ids are others than before")
    print(f"{len(left):,} rows are left, as they should be" + ("" if ids is None else ", with their ids"))


if __name__ == "__main__":
    main()
