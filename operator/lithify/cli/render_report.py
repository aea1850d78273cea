"""Renders the report of a run for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lithify.amounts import bytes_text
from lithify.cli.output import blocked_lines, number
from lithify.engine.run.report import Report
from lithify.formats.protocol.details import DetailKind
from lithify.formats.protocol.results import GroupReport, Slot

_SHOWN = 20
_SLOTS = {
    Slot.CHANGELOG: ("changelog file", "written"),
    Slot.INDEX: ("index file", "written"),
    Slot.DELETES: ("delete file", "written"),
    Slot.REMOVED_DELETES: ("delete file", "removed"),
}


def report_view(report: Report) -> RenderableType:
    """What the run did, group by group, and what it took."""
    left = [Text(f"left for a later run to clean up: {problem}", "yellow") for problem in report.uncleaned]
    blocked = blocked_lines(report.blocked, _SHOWN, report.noun)
    if report.status != "Compacted":
        return Group(Text.assemble((report.table, "bold"), f"  {_reason(report)}"), *blocked, *left)
    parts: list[RenderableType] = [_headline(report), _groups(report)]
    hidden = len(report.groups) - _SHOWN
    if hidden > 0:
        parts.append(Text(f"… and {number(hidden, f'more {report.noun}')}; --json has them all", "dim"))
    if report.canary is not None:
        same = f"{number(report.canary.rows, 'row')} in {number(report.canary.groups, report.noun)}"
        parts.append(Text(f"canary: a copy has the same rows after its compaction ({same} compared)"))
    parts += [
        Text(f"skipped {group}: {reason}", "yellow")
        for group, reason in list(report.skipped.items())[:_SHOWN]
    ]
    return Group(*parts, *blocked, *left, Text(_effort(report), "dim"))


def _headline(report: Report) -> Text:
    before, after = report.before, report.after
    return Text.assemble(
        (report.table, "bold"),
        f"  snapshot {report.snapshot_before} → {report.snapshot_after}: ",
        (f"{number(before.files, 'file')} → {after.files:,}", "green"),
        f", {bytes_text(before.bytes)} → {bytes_text(after.bytes)}, "
        f"{before.rows:,} → {number(after.rows, 'row')}",
        *(f", {text}" for text in _besides(report)),
    )


def _besides(report: Report) -> Iterator[str]:
    """What the run did besides replacing data files."""
    for kind in report.reported:
        if kind.said is not None and (text := kind.said(report.totals[kind.total])):
            yield text
    for slot, totals in report.other_files.items():
        noun, verb = _SLOTS[slot]
        yield f"{number(totals.files, noun)} ({bytes_text(totals.bytes)}) {verb}"
    if report.copied_bytes:
        yield f"{bytes_text(report.copied_bytes)} copied without decoding"


def _groups(report: Report) -> Table:
    """A row a group; a detail that no group has gets no column."""
    shown = report.groups[:_SHOWN]
    kinds = {
        detail.kind: None
        for group in shown
        for detail in group.details
        if detail.kind.label and detail.value is not None
    }
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for column in (report.noun, "trigger", "files", "bytes", *(kind.label for kind in kinds)):
        grid.add_column(column)
    for group in shown:
        grid.add_row(*_cells(group, [*kinds]))
    return grid


def _cells(group: GroupReport, kinds: Sequence[DetailKind]) -> list[RenderableType]:
    details = {detail.kind: detail.text or "" for detail in group.details}
    return [
        Text(group.group),
        group.trigger,
        f"{group.before.files} → {group.after.files}",
        f"{bytes_text(group.before.bytes)} → {bytes_text(group.after.bytes)}",
        *(Text(details.get(kind, "")) for kind in kinds),
    ]


def _reason(report: Report) -> str:
    if report.status == "AlreadyCommitted":
        return f"run {report.run} had committed snapshot {report.snapshot_after} already"
    reasons = "; ".join(f"{number(count, report.noun)}: {reason}" for reason, count in report.resting.items())
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
