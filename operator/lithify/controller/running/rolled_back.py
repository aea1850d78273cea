"""The end of a run that was rolled back after it had succeeded. Used by `machine` only. Pure."""

from __future__ import annotations

from lithify.controller.running.reconcile_input import ReconcileInput
from lithify.controller.running.status import stand
from lithify.resources.compaction import CompactionStatus, Reason


def status_after_rollback(inputs: ReconcileInput) -> CompactionStatus | None:
    """The status of a run that is over, once it is known that it was rolled back; None otherwise."""
    if inputs.reason is not Reason.COMPACTED or not inputs.facts.rolled_back:
        return None
    message = (
        f"Snapshot {inputs.status.committed_snapshot_id} of this run is no longer part of the table: the "
        "catalog removed it in favour of a writer's commit, or the table was rolled back. The files that "
        "were compacted are as they were before, and are compacted again by the table's triggers."
    )
    return stand(inputs, Reason.ROLLED_BACK, message, undo=None)
