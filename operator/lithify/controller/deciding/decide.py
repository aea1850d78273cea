"""Decides whether a table is compacted or maintained now, with the reason; `sentences` puts that into words.

Called by `reconciling.tables` whenever the table or its references have changed, and at `Decision.wake`.
Pure: the same input at the same moment gives the same decision.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lithify.clock import earliest
from lithify.controller.deciding.decision_input import Decision, DecisionInput, DueMaintenance
from lithify.controller.deciding.due_compactions import due_compactions
from lithify.controller.deciding.due_maintenance import due_maintenance
from lithify.controller.deciding.hold_reasons import hold_reason, standing_hold


def decide(decision_input: DecisionInput, now: datetime) -> Decision:
    """Decides about a table at `now` (aware).

    Due is, in this order: a compaction requested by annotation; a full compaction by the policy's interval or
    schedule, if it would gain anything; a minor one if a trigger fired.

    A request means "now": it needs no trigger, and waits neither for a window nor for the end of a back-off.
    It does wait for what only a person can change (suspension, a table that cannot be read, a policy that is
    missing, invalid or suspended), for the active run, which may have begun before the data in question was
    written, and for limits, which protect others. It stays pending until then.

    Maintenance is decided beside that: what holds back the table as a whole holds it back, too, but not what
    delays a compaction.

    Full compactions by schedule rely on `next_full` being written to status, see `schedule`. If the input
    does not change, the decision stays the same until `wake`; at `wake` it may change.
    """
    found = due_compactions(decision_input, now)
    held = hold_reason(decision_input, found.due, now)
    maintenance = _maintenance(decision_input, now)
    return Decision(
        due=found.due,
        not_due=found.not_due,
        held=held.reason,
        next_full=found.next_full,
        maintenance=maintenance,
        wake=earliest(found.changes, held.changes, maintenance.changes),
    )


def _maintenance(decision_input: DecisionInput, now: datetime) -> DueMaintenance:
    """The maintenance that is due; none for a table that is held back as a whole."""
    policy, seen = decision_input.policy, decision_input.observation
    if policy is None or seen is None or standing_hold(decision_input, None) is not None:
        return DueMaintenance()
    found = due_maintenance(decision_input.table, policy, seen, now)
    return found if decision_input.limit is None else replace(found, due=None)
