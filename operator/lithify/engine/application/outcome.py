"""Turns the report of an attempt into the `Outcome` that `lithify drive` writes.

Pure but for the writing. What errors and plans come to is in `resources.reasons`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lithify.contract import summaries
from lithify.contract.outcome import Outcome, write_outcome
from lithify.contract.reasons import blocks_of
from lithify.engine.run.maintaining import MaintenanceReport
from lithify.engine.run.report import Report
from lithify.formats.protocol.observation import RunFound
from lithify.formats.protocol.planning import Plan
from lithify.formats.protocol.tasks import Task
from lithify.resources.compaction import (
    MOST_FIGURES,
    CanarySummary,
    MaintenanceFigure,
    MaintenanceSummary,
    PlanSummary,
    Reason,
    ResultSummary,
)

_MAINTAINED = {
    "Done": Reason.MAINTAINED,
    "Planned": Reason.PLANNED,
    "NothingToDo": Reason.NOTHING_TO_DO,
}
_SAMPLES = 5
_DECIMALS = 3
"""Of seconds: a run of a small table takes less than one."""
_SAMPLE_LENGTH = 160
"""Characters of a sample; five samples leave room for the rest of a pod's termination message."""


def plan_summary(plan: Plan, tasks: Sequence[Task]) -> PlanSummary:
    """Summary of a round's plan."""
    return summaries.plan_summary(
        groups=len(plan.units),
        tasks=len(tasks),
        files=sum(unit.rewritten_files for unit in plan.units),
        size=sum(unit.read_bytes for unit in plan.units),
        totals=plan.totals,
    )


def result_summary(report: Report) -> ResultSummary:
    """Summary of a run's result."""
    left_out = [*((each.group, each.problem) for each in report.blocked), *sorted(report.skipped.items())]
    samples = [f"{path}: {reason}" for path, reason in left_out[:_SAMPLES]]
    blocked, canary = len(report.blocked) + len(report.held), report.canary
    return ResultSummary(
        input_files=report.before.files,
        output_files=report.after.files,
        input_bytes=report.before.bytes,
        output_bytes=report.after.bytes,
        input_rows=report.before.rows,
        output_rows=report.after.rows,
        upgraded_files=summaries.upgraded_files(report.totals),
        buckets=len(report.groups),
        skipped_buckets=len(report.skipped) + blocked,
        blocked_buckets=blocked,
        skipped_samples=tuple(sample[:_SAMPLE_LENGTH] for sample in samples),
        tasks=report.tasks,
        task_retries=report.task_retries,
        task_seconds=round(report.task_seconds, _DECIMALS),
        core_seconds=round(report.core_seconds, _DECIMALS),
        slot_seconds=round(report.slot_seconds, _DECIMALS),
        peak_task_bytes=report.peak_task_bytes,
        orphans_deleted=report.orphans_deleted,
        canary=None if canary is None else CanarySummary(groups=canary.groups, rows=canary.rows),
    )


def with_blocked(outcome: Outcome, report: Report | None) -> Outcome:
    """The outcome, with the groups that the run could not compact."""
    if report is None:
        return outcome
    count = len(report.blocked) + len(report.held)
    return replace(outcome, blocked=blocks_of(report.blocked), blocked_count=count)


def outcome_of_report(report: Report, attempt: int, plan: PlanSummary | None, message: str = "") -> Outcome:
    """Outcome of a run that finished, or that committed something before it was stopped."""
    committed = report.snapshot_after
    is_new = bool(report.groups)
    outcome = Outcome(
        run=report.run,
        attempt=attempt,
        reason=Reason.NOTHING_TO_DO if committed is None else Reason.COMPACTED,
        message=message or _skips(report),
        plan=plan,
        result=result_summary(report) if is_new or committed is None else None,
        base_snapshot_id=report.snapshot_before,
        committed_snapshot_id=committed,
    )
    return with_blocked(outcome, report)


def outcome_of_maintenance(run: str, attempt: int, report: MaintenanceReport) -> Outcome:
    """Outcome of a run of maintenance that reached its end."""
    reason = _MAINTAINED[report.status]
    counted = [MaintenanceFigure(name=name, count=count) for name, count in report.figures.items() if count]
    return Outcome(
        run=run,
        attempt=attempt,
        reason=reason,
        maintenance=MaintenanceSummary(
            figures=tuple(counted[:MOST_FIGURES]),
            oldest_snapshot_id=report.oldest,
            samples=tuple(each[:_SAMPLE_LENGTH] for each in report.samples[:_SAMPLES]),
        ),
    )


def outcome_of_found(run: str, attempt: int, found: RunFound) -> Outcome:
    """Outcome of a run that an earlier attempt has committed, as found in the table."""
    return Outcome(
        run=run,
        attempt=attempt,
        reason=Reason.COMPACTED,
        result=ResultSummary(
            input_files=found.input_files,
            output_files=found.output_files,
            input_bytes=found.input_bytes,
            output_bytes=found.output_bytes,
            recovered=True,
        ),
        base_snapshot_id=found.base,
        committed_snapshot_id=found.snapshot,
    )


def save_outcome(outcome: Outcome, path: Path) -> None:
    """Writes an outcome atomically, or in a single write where a file cannot be replaced, as in a pod.

    Raises:
        OSError: it cannot be written at all.
    """
    replace_file(path, write_outcome(outcome))


def replace_file(path: Path, text: str) -> None:
    """Replaces a file's text atomically where possible: readers see the old or the new text."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError:
        # A pod's termination message file is a mount of its own in a folder owned by root.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")


def _skips(report: Report) -> str:
    if not report.skipped:
        return ""
    return f"{len(report.skipped)} {report.noun}s were left out because other writers changed them"
