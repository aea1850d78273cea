"""Renders the report of a run for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lithify.amounts import bytes_text
from lithify.cli.output import blocked_lines, number
from lithify.engine.run.report import Report
from lithify.formats.protocol.results import GroupReport

_SHOWN = 20


def report_view(report: Report) -> RenderableType:
    """What the run did, bucket by bucket, and what it took."""
    left = [Text(f"left for a later run to clean up: {problem}", "yellow") for problem in report.uncleaned]
    blocked = blocked_lines(report.blocked, _SHOWN)
    if report.status != "Compacted":
        return Group(Text.assemble((report.table, "bold"), f"  {_reason(report)}"), *blocked, *left)
    parts: list[RenderableType] = [_headline(report), _buckets(report)]
    hidden = len(report.groups) - _SHOWN
    if hidden > 0:
        parts.append(Text(f"… and {number(hidden, 'more bucket')}; --json has them all", "dim"))
    parts += [
        Text(f"skipped {bucket}: {reason}", "yellow")
        for bucket, reason in list(report.skipped.items())[:_SHOWN]
    ]
    return Group(*parts, *blocked, *left, Text(_effort(report), "dim"))


def _headline(report: Report) -> Text:
    before, after = report.before, report.after
    return Text.assemble(
        (report.table, "bold"),
        f"  snapshot {report.snapshot_before} → {report.snapshot_after}: ",
        (f"{number(before.files, 'file')} → {after.files:,}", "green"),
        f", {bytes_text(before.bytes)} → {bytes_text(after.bytes)}, "
        f"{before.rows:,} → {number(after.rows, 'row')}, {number(report.upgraded, 'file')} upgraded",
        f", {bytes_text(report.copied_bytes)} copied without decoding" if report.copied_bytes else "",
    )


def _buckets(report: Report) -> Table:
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("bucket", "trigger", "files", "bytes", "levels before", "levels after"):
        grid.add_column(column)
    for group in report.groups[:_SHOWN]:
        grid.add_row(*_cells(group))
    return grid


def _cells(group: GroupReport) -> list[RenderableType]:
    return [
        Text(group.group),
        group.trigger,
        f"{group.before.files} → {group.after.files}",
        f"{bytes_text(group.before.bytes)} → {bytes_text(group.after.bytes)}",
        _levels(group.levels_before),
        _levels(group.levels_after),
    ]


def _levels(levels: Mapping[int, int] | None) -> str:
    if levels is None:
        return ""
    return " ".join(f"L{level}:{files}" for level, files in levels.items()) or "empty"


def _reason(report: Report) -> str:
    if report.status == "AlreadyCommitted":
        return f"run {report.run} had committed snapshot {report.snapshot_after} already"
    reasons = "; ".join(f"{number(count, 'bucket')}: {reason}" for reason, count in report.resting.items())
    empty = "the table has no snapshot yet" if report.snapshot_before is None else "there are no files"
    return f"nothing to do ({reasons or empty})"


def _effort(report: Report) -> str:
    retries = f" ({number(report.task_retries, 'retry', 'retries')})" if report.task_retries else ""
    rounds = f", {report.rounds} rounds" if report.rounds > 1 else ""
    commits = f", {report.commits} commits" if report.commits > 1 else ""
    return (
        f"{number(report.tasks, 'task')}{retries}{rounds}{commits}, {report.core_seconds:.1f} core-seconds, "
        f"at most {bytes_text(report.peak_task_bytes)} a worker, "
        f"{report.seconds.get('rewrite', 0):.1f} s rewriting, "
        f"{report.seconds.get('commit', 0):.1f} s committing"
    )
