"""Decides whether a table is compacted now, and says why.

Called by `reconciling.tables` whenever the table or its references have changed, and at `Decision.wake`.
Pure: the same situation at the same moment gives the same decision.
"""

from __future__ import annotations

from datetime import datetime

from lithify.controller.deciding.decision_input import Decision, DecisionInput, Hold
from lithify.controller.deciding.due_compactions import DueCompactions, due_compactions
from lithify.controller.deciding.hold_reasons import Held, hold_reason


def decide(situation: DecisionInput, now: datetime) -> Decision:
    """Decides about a table at `now` (aware).

    Due is, in this order: a compaction requested by annotation; a full compaction by the policy's interval or
    schedule, if it would gain anything; a minor one if a trigger fired.

    A request means "now": it needs no trigger, and waits neither for a window nor for the end of a back-off.
    It does wait for what only a person can change (suspension, a table that cannot be read, a policy that is
    missing, invalid or suspended), for the active run, which may have begun before the data in question was
    written, and for limits, which protect others. It stays pending until then.

    Full compactions by schedule rely on `next_full` being written to status, see `schedule`. If the situation
    does not change, the decision stays the same until `wake`; at `wake` it may change.
    """
    dues = due_compactions(situation, now)
    held = hold_reason(situation, dues.due, now)
    return Decision(
        due=dues.due,
        hold=held.hold,
        message=_message(dues, held),
        waits_for_slot=held.hold is Hold.CONCURRENCY_LIMIT,
        next_full=dues.next_full,
        wake=min((moment for moment in (dues.changes, held.changes) if moment is not None), default=None),
    )


def _message(dues: DueCompactions, held: Held) -> str:
    if dues.due is not None:
        return f"{dues.due.message}; held back: {held.message}" if held.hold else dues.due.message
    if held.hold is None:
        return dues.reason
    return held.message if held.hold is Hold.NOT_READY else f"{held.message}; {dues.reason}"
