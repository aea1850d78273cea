"""Spark's `rewrite_data_files` and our runs compact the same Iceberg tables in turns, on one core.

Ours is a whole run, from planning to the commit. Each side gets a table of its own in the catalog, with the
metadata of the original: data files never change, so that is a copy. Spark has done the same work before. The
processor time is that of the whole process, Spark's compiler and collector included. Nothing is told before
Spark reads the same rows from both results. iceberg-go's compaction runs beside them, on its table of a REST
catalog; where it cannot, or changes rows, its column says so.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc

from against_java.coding import coding_seconds
from against_java.iceberg_tables import LEVEL, ROWS, Case, cases
from against_java.page import ON_ONE_CORE, markdown
from infrastructure.iceberg import catalogs, second_reader
from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.iceberg.programs import GO
from infrastructure.iceberg.rest_server import RestCatalogServer
from infrastructure.iceberg.second_reader import GoError
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from lithify.io.locations import local_path
from support.iceberg_runs import address_of

SPARK = "Spark 4.1, Iceberg 1.11"
_ALL = {"rewrite-all": "true"}
_CLOCK = SystemClock(UTC)
_MIB = 1 << 20


class RowsChanged(Exception):
    """A compaction has changed the rows of a case."""


Side = Callable[[SparkTable], tuple[float, Report | None]]
"""Compacts a table; returns its processor seconds, and our report."""


@dataclass(slots=True)
class Taken:
    """What one side took for a table, a figure a round: processor seconds, and seconds by the clock.

    Attributes:
        core_seconds: processor seconds.
        seconds: by the clock.
        bytes: size of the new files.
        coding: processor seconds of PyArrow alone for the same files, the least.
    """

    core_seconds: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes: int = 0
    coding: float = float("inf")

    @property
    def least(self) -> float:
        return min(self.core_seconds)

    @property
    def spread(self) -> str:
        return f"{self.least:.2f} s (to {max(self.core_seconds):.2f})"


def compare(rows: int | None, repeats: int, names: Sequence[str] = ()) -> str:
    """The figures of all cases, or of the named ones, in Markdown."""
    chosen = [case for case in cases() if not names or case.name in names]
    GO.built()
    lines = [_line(case, rows or ROWS, repeats) for case in chosen]
    head = (
        *("", SPARK, "Lithify", "ratio", "limit", "by the clock"),
        *("copied", "output", "peak memory", "iceberg-go", "load"),
    )
    told = f"{rows or ROWS:,} rows, best of {repeats}, {datetime.now(UTC).date()}, {os.cpu_count()} cores."
    return f"{told}\n\n{markdown([head, *lines])}"


def _line(case: Case, rows: int, repeats: int) -> tuple[str, ...]:
    """The figures of a case, in a JVM of its own: Spark leaks memory where it reads row ids (#17296)."""
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        SparkIceberg.start(cores=1, heap="4g", jvm_args=ON_ONE_CORE, conf={}) as spark,
        RestCatalogServer(Path(folder) / "rest") as server,
    ):
        catalog = spark.add_catalog(catalogs.sql(Path(folder)))
        of_go = _GoSide(server.url, spark.add_catalog(catalogs.rest(server.url)))
        return _Race(SparkTable(spark, catalog, f"db.{case.name}"), case, rows, of_go).line(repeats)


class _GoSide:
    """iceberg-go's compaction of tables in a REST catalog, as a process of its own."""

    def __init__(self, url: str, catalog: CatalogAddress) -> None:
        self.catalog = catalog
        self._url = url

    def __call__(self, table: SparkTable) -> tuple[float, Report | None]:
        """Compacts a table; returns its processor seconds.

        Raises:
            GoError: it fails, or finds nothing to do.
        """
        begin = _own_seconds()
        if not second_reader.compact(self._url, table.identifier)["removed_files"]:
            raise GoError("nothing is rewritten")
        return _own_seconds() - begin, None


class _Race:
    """All sides on one table."""

    def __init__(self, original: SparkTable, case: Case, rows: int, of_go: _GoSide) -> None:
        print(f"writing {case.title}", file=sys.stderr)
        self._case = case
        self._of_go = of_go
        self._failure_of_go = ""
        self._original = case.make(original, rows)
        self._location = original.metadata_location
        self._folder = Path(original.load().location().removeprefix("file://"))
        self._files = {*self._all_files()}
        self._digest = self._digest_of(original)
        files = original.metadata_table("files").filter(pc.field("content") == 0)
        self._inputs = _local_paths(files)

    def line(self, repeats: int) -> tuple[str, ...]:
        """The figures, after one round to warm up."""
        spark, ours, of_go = Taken(), Taken(), Taken()
        loads = [_load()]
        for number in range(1 + repeats):
            self._round(self._by_spark, spark)
            report = self._round(self._by_us, ours)
            self._round_of_go(of_go)
            loads.append(_load())
            figures = f"{spark.core_seconds[-1]:.2f} s and {ours.core_seconds[-1]:.2f} s"
            print(f"round {number + 1}: {figures} of processor time", file=sys.stderr)
        for side in (spark, ours, of_go):
            del side.core_seconds[:1], side.seconds[:1]
        assert report is not None
        return (
            self._case.title,
            spark.spread,
            ours.spread,
            f"**{spark.least / ours.least:.1f}**",
            "" if report.copied_bytes else f"{spark.least / ours.coding:.1f}",
            f"{min(spark.seconds) / min(ours.seconds):.1f}",
            f"{report.copied_bytes / report.before.bytes:.0%}",
            f"{ours.bytes / spark.bytes:.3f}",
            f"{report.peak_task_bytes / _MIB:,.0f} MiB",
            self._failure_of_go or f"{of_go.least:.2f} s",
            f"{min(loads):.1f} to {max(loads):.1f}",
        )

    def _round_of_go(self, taken: Taken) -> None:
        """The same for iceberg-go, unless it has failed before."""
        if self._failure_of_go:
            return
        try:
            self._round(self._of_go, taken, self._of_go.catalog)
        except GoError as error:
            self._failure_of_go = f"fails: {str(error).splitlines()[-1][-80:]}"
        except RowsChanged:
            self._failure_of_go = "changes rows"

    def _round(self, side: Side, taken: Taken, where: CatalogAddress | None = None) -> Report | None:
        """One side compacts a copy; then everything is as it was."""
        where = where or self._original.catalog
        copy = SparkTable(self._original.spark, where, f"{self._original.identifier}_copy")
        catalog = where.open()
        catalog.create_namespace_if_not_exists("db")
        catalog.register_table(copy.identifier, self._location)
        try:
            return self._compacted(side, copy, taken)
        finally:
            catalog.drop_table(copy.identifier)
            for path in {*self._all_files()} - self._files:
                path.unlink()

    def _compacted(self, side: Side, copy: SparkTable, taken: Taken) -> Report | None:
        begin = perf_counter()
        seconds, report = side(copy)
        taken.seconds.append(perf_counter() - begin)
        taken.core_seconds.append(seconds)
        if self._digest_of(copy) != self._digest:
            raise RowsChanged(self._case.title)
        files = copy.metadata_table("files").filter(pc.field("content") == 0)
        taken.bytes = files.column("file_size_in_bytes").to_numpy().sum()
        if report is not None and not report.copied_bytes:
            new = _local_paths(files)
            taken.coding = min(taken.coding, coding_seconds(self._inputs, new, 1, LEVEL))
        return report

    def _by_spark(self, table: SparkTable) -> tuple[float, Report | None]:
        timed = table.spark.timed("rewrite", table=table.name, options=_ALL)
        assert timed.result["rewritten_files"]
        assert not timed.result["failed_files"]
        return timed.cpu_nanos / 1e9, None

    def _by_us(self, table: SparkTable) -> tuple[float, Report | None]:
        begin = _own_seconds()
        report = compact(
            Request(address_of(table), Selection(strategy=Strategy.FULL)), InlineRunner(), _CLOCK
        )
        assert report.status == "Compacted"
        return _own_seconds() - begin, report

    def _digest_of(self, table: SparkTable) -> object:
        """Of all rows, with their lineage where they have one."""
        columns = ", ".join(["*", *(LINEAGE if self._case.version > 2 else ())])
        sums = "count(*), sum(CAST(xxhash64(struct(*)) AS DECIMAL(38)))"
        return table.spark.sql(f"SELECT {sums} FROM (SELECT {columns} FROM {table.name})").to_pylist()

    def _all_files(self) -> Iterator[Path]:
        return (path for path in self._folder.rglob("*") if path.is_file())


def _local_paths(files: pa.Table) -> list[str]:
    """The places of files of the metadata table `files`."""
    return [path for each in files["file_path"].to_pylist() if (path := local_path(each)) is not None]


def _own_seconds() -> float:
    """Processor seconds of this process, and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _load() -> float:
    """Processes that want to run, of the last minute; both sides together are one."""
    return os.getloadavg()[0]
