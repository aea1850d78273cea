"""The actions that release a driver and the table's lock. Used by the modules of this package only. Pure.

The lock is dropped only when no driver of the run's name can still act. A driver on a lost node may: then the
lock stays until the driver is known to be gone.
"""

from __future__ import annotations

from lithify.controller.driver import DriverPhase
from lithify.controller.running.facts import UNKNOWN, Action, Lock
from lithify.controller.running.reconcile_input import ReconcileInput


def clear_name(inputs: ReconcileInput) -> tuple[Action, ...]:
    """Makes the driver's name free for the next attempt; empty once it is."""
    pod = inputs.pod
    if pod is None:
        return ()
    if pod.phase is DriverPhase.ENDED:
        return (Action.REMOVE_DRIVER,)
    return () if pod.terminating else (Action.STOP_DRIVER,)


def free_table(inputs: ReconcileInput) -> tuple[Action, ...]:
    """Makes name and lock free for others, between two attempts."""
    return (*clear_name(inputs), *_drop_lock(inputs))


def settle(inputs: ReconcileInput) -> tuple[Action, ...]:
    """Releases everything after the end and keeps the logs; empty once that is done."""
    own = inputs.own
    if own is None:
        return free_table(inputs)
    if own.phase is DriverPhase.ENDED and own.released:
        return _drop_lock(inputs)
    if own.phase is DriverPhase.ENDED:
        return (Action.KEEP_DRIVER, *_drop_lock(inputs))
    return clear_name(inputs)


def _drop_lock(inputs: ReconcileInput) -> tuple[Action, ...]:
    free = inputs.facts.lock is not Lock.OURS or inputs.is_alive or inputs.facts.driver is UNKNOWN
    return () if free else (Action.DROP_LOCK,)
