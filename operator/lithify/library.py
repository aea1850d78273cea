"""Lithify as a library: inspects, plans, compacts and maintains one table from Python.

Called by the command line, and by programs through `import lithify`, which shows the public names. What comes
back is what the commands print as JSON.
"""

from __future__ import annotations

import os
from dataclasses import replace

from lithify.clock import SystemClock
from lithify.engine.run import driver, maintaining
from lithify.engine.run.driver import Observer, Request
from lithify.engine.run.maintaining import MaintenanceReport
from lithify.engine.run.processor_time import tree_seconds
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, TaskRunner
from lithify.engine.run.spark import SparkRunner, SparkSettings
from lithify.engine.run.steps import Commits
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.inspection import TableInspection
from lithify.formats.protocol.maintenance import DEFAULT_SETTINGS, MaintenanceKind, MaintenanceSettings
from lithify.formats.protocol.planning import Plan
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from lithify.formats.registry import open_table

__all__ = [
    "Commits",
    "InlineRunner",
    "MaintenanceKind",
    "MaintenanceReport",
    "MaintenanceSettings",
    "Plan",
    "Report",
    "Selection",
    "Sizing",
    "SparkSettings",
    "Strategy",
    "TableAddress",
    "TableInspection",
    "compact",
    "inspect",
    "maintain",
    "plan",
]

EVERYTHING = Selection()


def inspect(table: TableAddress, selection: Selection = EVERYTHING) -> TableInspection:
    """Describes the selected groups of a table and what each trigger says of them; reads metadata only.

    Raises:
        UserError: the table or the selection cannot be served.
        CorruptTable: metadata is missing or unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    return open_table(table).inspect(selection, SystemClock(table.zone()))


def plan(table: TableAddress, selection: Selection = EVERYTHING) -> Plan | None:
    """Plans a run without executing it; None for a table without snapshots. Writes nothing.

    Raises:
        UserError: the table or the selection cannot be served.
        CorruptTable: metadata is missing or unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    opened = open_table(table)
    opened.check_supported()
    view = opened.pin_view(selection)
    return None if view is None else opened.plan(view, selection, SystemClock(table.zone()))


def compact(
    table: TableAddress,
    selection: Selection = EVERYTHING,
    *,
    run: str | None = None,
    sizing: Sizing | None = None,
    commits: Commits | None = None,
    spark: SparkSettings | None = None,
    runner: TaskRunner | None = None,
    observer: Observer | None = None,
    canary: bool = False,
) -> Report:
    """Compacts the selected groups of a table: one run, to its end.

    Args:
        table: the table.
        selection: the part of it, and the strategy.
        run: id of the run. A run that is started again goes on where it ended; None for a new one.
        sizing: how work is split into tasks, and the memory of one task.
        commits: how often the run commits.
        spark: where and how Spark runs; None for this machine.
        runner: where tasks run instead. `InlineRunner` needs no JVM.
        observer: receives the progress.
        canary: whether a copy of the table is compacted first, and its rows are compared.

    Raises:
        UserError: the request or the table cannot be served.
        CanaryFailed: the compaction of the copy changed rows; the table was not touched.
        CorruptTable: a file of the table is missing or broken; nothing was changed.
        StorageError: the file system refused; nothing was changed, unless it is a CommitUnknown.
        CommitConflict: every group was changed by others in every round.
    """
    request = Request(table, selection, run, sizing or Sizing(), commits or Commits(), canary=canary)
    clock = SystemClock(table.zone())
    if runner is not None:
        return driver.compact(request, runner, clock, observer)
    spent_before = tree_seconds(os.getpid())
    with SparkRunner(spark or SparkSettings(zone=table.zone())) as started:
        report = driver.compact(request, started, clock, observer)
        return replace(report, core_seconds=max(0.0, started.processor_time.charge() - spent_before))


def maintain(
    table: TableAddress,
    kind: MaintenanceKind,
    settings: MaintenanceSettings = DEFAULT_SETTINGS,
    *,
    dry_run: bool = False,
) -> MaintenanceReport:
    """Maintains a table: expires snapshots with the files that only they need, removes orphans, and so on.

    Args:
        table: the table; its overrides may be options of how long snapshots are kept.
        kind: the kind of maintenance.
        settings: what the table's options do not say.
        dry_run: whether the run is only planned, and nothing is deleted or written.

    Raises:
        UserError: the table or a setting cannot be served; some formats lack some kinds.
        CorruptTable: metadata is missing or unreadable, so it is unknown what is still needed.
        StorageError: the file system refuses, or the catalog does not answer; maintain it again.
        StalePlan: others changed what the run depends on each time while it was planned.
    """
    return maintaining.maintain(table, kind, SystemClock(table.zone()), settings, is_dry_run=dry_run)
