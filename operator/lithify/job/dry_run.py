"""Plans a run without doing it: the figures of its plan, in bounded memory, without a trace in the table.

Called by drivers that are told only to plan, and by the operator's workers (`controller.observing.planning`).
Tasks are counted, not kept. It needs neither Spark nor anything that writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.clock import Clock
from lithify.job.blocking import error_of
from lithify.job.planner import NOTHING_HELD, Sizing, plan_run, tasks_of, total_bytes
from lithify.planning.policy import Strategy
from lithify.tables.observation import PlanFound
from lithify.tables.paimon.table import PaimonTable, Selection

_MOST_TOLD = 1000
"""Blocked buckets that are named; all are counted."""


def plan_only(
    table: PaimonTable,
    selection: Selection,
    strategy: Strategy,
    clock: Clock,
    sizing: Sizing,
    held: Mapping[str, str] = NOTHING_HELD,
) -> PlanFound:
    """What a run would do to the newest snapshot.

    Args:
        table: the table.
        selection: which partitions and buckets.
        strategy: minor or full.
        clock: for triggers that depend on the time.
        sizing: how work would be cut.
        held: fingerprints by bucket path: buckets that still have these files are left out.

    Raises:
        UserError: the table or the selection cannot be served.
        CorruptTable: metadata of the table is missing or broken.
        StorageError: the file system refuses.
    """
    table.check_supported()
    view = table.view(selection)
    if view is None:
        return PlanFound(snapshot=None)
    plan = plan_run(table, view, strategy, clock, held)
    return PlanFound(
        snapshot=view.snapshot_id,
        buckets=len(plan.units),
        tasks=sum(1 for _ in tasks_of(table, plan, sizing)),
        files=sum(len(rewrite.files) for unit in plan.units for rewrite in unit.work.rewrites),
        bytes=total_bytes(plan.units),
        upgraded_files=sum(len(unit.work.upgrades) for unit in plan.units),
        blocked=plan.blocked[:_MOST_TOLD],
        blocked_count=len(plan.blocked) + len(plan.held),
        problem=str(error_of(table.name, plan.blocks)) if plan.blocks and not plan.units else "",
    )
