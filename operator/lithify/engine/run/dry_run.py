"""Plans a run without executing it: summarizes the plan, in bounded memory, from metadata alone.

Called by the operator's workers (`controller.observing.planning`), which may open no data file. Tasks are
counted, not kept. It needs neither Spark nor anything that writes.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.clock import Clock
from lithify.engine.run.blocks import error_of
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.details import added
from lithify.formats.protocol.observation import PlanFound
from lithify.formats.protocol.planning import TableView
from lithify.formats.protocol.results import Block
from lithify.formats.protocol.table import OpenTable
from lithify.formats.protocol.tasks import Sizing

_MOST_TOLD = 1000
"""Blocked groups that are named; all are counted."""


def plan_only(
    table: OpenTable,
    selection: Selection,
    clock: Clock,
    sizing: Sizing,
) -> PlanFound:
    """The plan of a run on the newest snapshot. No data file is opened.

    Args:
        table: the table.
        selection: which part of it, and how much the run would take.
        clock: for triggers that depend on the time.
        sizing: how work would be cut.

    Raises:
        UserError: the table or the selection cannot be served.
        CorruptTable: metadata of the table is missing or broken.
        StorageError: the file system refuses.
    """
    table.check_supported()
    view = table.pin_view(selection)
    if view is None:
        return PlanFound(snapshot=None)
    found = PlanFound(snapshot=view.snapshot_id)
    blocks: list[Block] = []
    rest: TableView | None = view
    while rest is not None:
        plan = table.plan(rest, selection, clock, reads_data=False)
        found = replace(
            found,
            groups=found.groups + len(plan.units),
            tasks=found.tasks + table.count_tasks(plan, sizing),
            files=found.files + sum(unit.rewritten_files for unit in plan.units),
            bytes=found.bytes + sum(unit.read_bytes for unit in plan.units),
            totals=added(found.totals, plan.totals),
            blocked_count=found.blocked_count + len(plan.blocks) + len(plan.held),
        )
        blocks += plan.blocks
        rest = plan.remaining
    return replace(
        found,
        blocked=tuple(block.told for block in blocks[:_MOST_TOLD]),
        problem=str(error_of(table.name, blocks)) if blocks and not found.groups else "",
    )
