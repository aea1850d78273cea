"""Plans tables of many files before and after their manifests are merged, by Java and by us.

Called by `make bench ARGS=--manifests`. The tables are invented: real metadata of files that do not exist,
whose commits each add files to every partition. The same table is planned as its commits left it, after a
merge by Java (Paimon's `compact_manifest`, Spark's `rewrite_manifests`), and after `lithify merge-manifests`:
all files, and those of one partition. Figures are processor time, of plans the least of the rounds; Java's
JVM is warm, and all of its threads count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import numpy as np

from against_java.page import JAVA, markdown
from iceberg_metadata import invented
from iceberg_metadata.java import write_table
from infrastructure.iceberg import catalogs
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.oracle.client import Oracle, Table
from lithify.clock import SystemClock
from lithify.engine.run.maintaining import maintain
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from support.invented.append_table import AppendShape, make_append_table
from support.invented.shape import Batch
from support.tables import copy_of

DAYS = 100
_OF_A_COMMIT = 1_000
"""Files that a commit adds, as many to each day."""
_FIRST_DAY = date(2026, 1, 1)
_EPOCH_DAY = 19_000
"""The first day of the invented tables of Iceberg, since 1970."""
_ONE_FILE = {"max-files-to-rewrite": "1"}
"""All files are planned, and the answer is short."""


@dataclass(frozen=True, slots=True)
class Commits(AppendShape):
    """A table whose commits each add files to all days."""

    def old_batches(self) -> Iterator[Batch]:
        """All commits but the newest."""
        for commit in range(self.files // _OF_A_COMMIT - 1):
            yield from self._commit(commit)

    def new_batches(self) -> Iterator[Batch]:
        """The newest commit."""
        yield from self._commit(self.files // _OF_A_COMMIT)

    def _commit(self, commit: int) -> Iterator[Batch]:
        zeros = np.zeros(_OF_A_COMMIT // self.partitions, np.int64)
        for day in self.days:
            yield Batch(day, 0, commit, zeros, zeros, zeros + 1)


@dataclass(frozen=True, slots=True)
class Planned:
    """Seconds of plans, of all files and of one partition, by Java and by us."""

    name: str
    manifests: int
    java: tuple[float, float]
    ours: tuple[float, float]
    merged: float | None = None


def compare(files: int, repeats: int) -> str:
    """The figures of both formats in Markdown."""
    with tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder:
        paimon = _of_paimon(Path(folder) / "paimon", files, repeats)
        iceberg = _of_iceberg(Path(folder) / "iceberg", files, repeats)
    return f"{_figures(files, JAVA, paimon)}\n\n{_figures(files, 'Iceberg in Spark', iceberg)}"


def _of_paimon(folder: Path, files: int, repeats: int) -> list[Planned]:
    small = ManifestOptions(target_size=1)
    with Oracle.start(heap="6g", jvm_args=()) as oracle:
        table = make_append_table(oracle, folder / "commits", Commits(files, DAYS), {"bucket": "-1"}, small)
        java, ours = (copy_of(table, folder / name) for name in ("java", "ours"))
        begin = cpu_seconds(oracle.pid)
        oracle.compact_manifests(java)
        by_java = cpu_seconds(oracle.pid) - begin
        by_us = _seconds(lambda: _merge(_address(ours)))
        told = ((table, _LEFT, None), (java, "after `compact_manifest`", by_java), (ours, _OURS, by_us))
        return [_planned_paimon(oracle, each, name, merged, repeats) for each, name, merged in told]


_LEFT = "as its commits left it"
_OURS = "after `lithify merge-manifests`"


def _planned_paimon(oracle: Oracle, table: Table, name: str, merged: float | None, repeats: int) -> Planned:
    print(f"planning {table.folder}", file=sys.stderr)
    day = str(_FIRST_DAY + timedelta(days=DAYS // 2))
    opened = open_table(_address(table))
    snapshot = opened.snapshots.latest()
    assert snapshot is not None
    manifests = opened.manifests
    partition = encode_row([day.encode()], opened.schema.partition_types)
    chosen = manifests.chosen([(partition, 0)])
    java = [oracle.bench_plan(table, repeats + 2, partition).cpu_nanos for partition in (None, {"dt": day})]
    return Planned(
        name,
        len(manifests.list_files(snapshot)),
        (min(java[0]) / 1e9, min(java[1]) / 1e9),
        (
            _least(lambda: manifests.live_columns(snapshot), repeats),
            _least(lambda: manifests.live_columns(snapshot, chosen), repeats),
        ),
        merged,
    )


def _of_iceberg(folder: Path, files: int, repeats: int) -> list[Planned]:
    shape = invented.Shape(files, 0, partitions=DAYS, of_a_manifest=_OF_A_COMMIT)
    found = []
    with SparkIceberg.start(cores=1, heap="4g", jvm_args=(), conf={}) as spark:
        for name in (_LEFT, "after `rewrite_manifests`", _OURS):
            warehouse = folder / str(len(found))
            catalog = spark.add_catalog(catalogs.folder_of_tables(warehouse))
            write_table(shape, warehouse / "db" / "t")
            address = TableAddress(str(warehouse), "db.t", format="iceberg")
            merged = None
            if name == _OURS:
                merged = _seconds(partial(_merge, address))
            elif name != _LEFT:
                call = f"CALL {catalog.name}.system.rewrite_manifests(table => 'db.t')"
                merged = spark.timed("sql", statement=call).cpu_nanos / 1e9
            found.append(_planned_iceberg(spark, f"{catalog.name}.db.t", address, name, merged, repeats))
    return found


def _planned_iceberg(
    spark: SparkIceberg, table: str, address: TableAddress, name: str, merged: float | None, repeats: int
) -> Planned:
    print(f"planning {address.warehouse}", file=sys.stderr)
    spark.run(f"REFRESH TABLE {table}")
    day = date(1970, 1, 1) + timedelta(days=_EPOCH_DAY + DAYS // 2)
    where = f"day = DATE '{day}'"
    java = [
        min(
            spark.timed("plan_rewrite", table=table, options=_ONE_FILE, where=condition).cpu_nanos
            for _ in range(repeats + 2)
        )
        for condition in (None, where)
    ]
    opened = open_iceberg_table(address)
    head = opened.head()
    assert head is not None
    reader = ManifestReader(opened.storage)
    listed = reader.manifests(head.manifest_list)
    wanted = (_EPOCH_DAY + DAYS // 2).to_bytes(4, "little")
    of_day = [each for each in listed if _may_have(each.partitions, wanted)]
    ours = tuple(_least(lambda each=each: reader.view(each), repeats) for each in (listed, of_day))
    return Planned(name, len(listed), (java[0] / 1e9, java[1] / 1e9), (ours[0], ours[1]), merged)


def _may_have(summaries: Sequence[object] | None, day: bytes) -> bool:
    (summary,) = summaries or ()
    low, high = (int.from_bytes(getattr(summary, side), "little") for side in ("lower", "upper"))
    return low <= int.from_bytes(day, "little") <= high


def _merge(address: TableAddress) -> None:
    report = maintain(address, MaintenanceKind.MERGE_MANIFESTS, SystemClock())
    assert report.status == "Done", report


def _address(table: Table) -> TableAddress:
    return TableAddress(str(table.warehouse), str(table.name))


def _seconds(do: Callable[[], object]) -> float:
    begin = time.process_time()
    do()
    return time.process_time() - begin


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _least(do: Callable[[], object], repeats: int) -> float:
    return min(_seconds(do) for _ in range(repeats))


def _figures(files: int, java: str, rows: Sequence[Planned]) -> str:
    head = (
        f"{files:,} files of {DAYS} days",
        "manifests",
        f"{java}: all",
        f"{java}: one day",
        "Lithify: all",
        "Lithify: one day",
        "merge",
    )
    lines = [
        (
            row.name,
            f"{row.manifests:,}",
            *(f"{each:.2f} s" for each in (*row.java, *row.ours)),
            "" if row.merged is None else f"{row.merged:.1f} s",
        )
        for row in rows
    ]
    return markdown([head, *lines])
