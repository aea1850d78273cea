"""Classifies failed attempts, counts them, and decides whether another attempt makes sense.

Used by `ending` and `driving`. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lithify.contract.outcome import Outcome
from lithify.controller.driver import DriverState, Trouble
from lithify.errors import Failure
from lithify.resources.compaction import Compaction, FailureCounts, Reason
from lithify.resources.names import LABEL_TABLE
from lithify.resources.objects import ConditionStatus
from lithify.resources.policy import CompactionPolicySpec, Retries

_KILLED = 137
_MORE_MEMORY = 1.5
_MOST_RAISES = 10
"""The most retries after a lack of memory that a policy allows; a status that users wrote may say more."""
_FAILURE_OF_REASON = {
    Reason.SCHEDULING_TIMED_OUT: Failure.SCHEDULING,
    Reason.IMAGE_ERROR: Failure.SCHEDULING,
    Reason.STORAGE_UNAVAILABLE: Failure.INFRASTRUCTURE,
    Reason.DRIVER_LOST: Failure.INFRASTRUCTURE,
    Reason.OUT_OF_MEMORY: Failure.OUT_OF_MEMORY,
    Reason.COMMIT_CONFLICT: Failure.CONFLICT,
    Reason.DRIVER_FAILED: Failure.BUG,
}


@dataclass(frozen=True, slots=True)
class FailureVerdict:
    """How an attempt failed: the kind of failure, and the run's reason if it was the last attempt."""

    reason: Reason
    failure: Failure
    message: str


def failure_of(reason: Reason) -> Failure:
    """The kind of failure behind a reason; failures that only a person can fix are not retried."""
    return _FAILURE_OF_REASON.get(reason, Failure.USER)


def verdict_of_outcome(outcome: Outcome) -> FailureVerdict:
    """The verdict on an attempt that reported an outcome."""
    reason, message = outcome.reason, outcome.message
    if reason is Reason.CANCELLED:
        told = message or "The driver was asked to end by another party."
        return FailureVerdict(Reason.DRIVER_LOST, Failure.INFRASTRUCTURE, told)
    if reason.status is not ConditionStatus.FALSE or reason is Reason.ROLLED_BACK:
        strange = f"The driver ended with {reason.value}, which was not requested. {message}".rstrip()
        return FailureVerdict(Reason.DRIVER_FAILED, Failure.BUG, strange)
    return FailureVerdict(
        reason, outcome.failure or failure_of(reason), message or "The driver gave no reason."
    )


def verdict_of_death(driver: DriverState | None) -> FailureVerdict:
    """The verdict on an attempt whose driver ended without an outcome, or is gone (None)."""
    if driver is None:
        gone = "The driver disappeared without a result."
        return FailureVerdict(Reason.DRIVER_LOST, Failure.INFRASTRUCTURE, gone)
    seen = f" ({driver.message})" if driver.message else ""
    if driver.trouble is Trouble.OUT_OF_MEMORY:
        return _out_of_memory(driver, seen)
    if driver.trouble in {Trouble.DISRUPTED, Trouble.UNREACHABLE} or driver.terminating:
        ended = f"Driver {driver.name} was ended by another party without a result{seen}; {_log_of(driver)}."
        return FailureVerdict(Reason.DRIVER_LOST, Failure.INFRASTRUCTURE, ended)
    if driver.exit_code is None:
        lost = f"Driver {driver.name} ended for an unknown reason{seen}; {_log_of(driver)}."
        return FailureVerdict(Reason.DRIVER_LOST, Failure.INFRASTRUCTURE, lost)
    if driver.exit_code == _KILLED:
        return _out_of_memory(driver, seen)
    ended = f"Driver {driver.name} ended with exit code {driver.exit_code} and no result{seen}"
    return FailureVerdict(Reason.DRIVER_FAILED, Failure.BUG, f"{ended}; {_log_of(driver)}.")


def counted(counts: FailureCounts, failure: Failure) -> FailureCounts:
    """The counts with one more failure of a kind."""
    return replace(counts, **{_field(failure): count_of(counts, failure) + 1})


def count_of(counts: FailureCounts, failure: Failure) -> int:
    """Number of failures of a kind."""
    count: int = getattr(counts, _field(failure))
    return count


def limit_of(retries: Retries, failure: Failure) -> int:
    """Maximum number of failures of a kind that are retried."""
    if failure is Failure.USER:
        return 0
    limit: int = getattr(retries, _field(failure))
    return limit


def rules_of_run(run: Compaction, rules: CompactionPolicySpec, failed_runs: int) -> CompactionPolicySpec:
    """The policy for a run of a table whose last runs failed.

    Then a run of the operator tries once, as the table's own back-off already spaces such runs. Attempts that
    differ from the one before, by more memory or on a newer snapshot, are made as usual.
    """
    if failed_runs <= 0 or LABEL_TABLE not in run.metadata.labels:
        return rules
    return replace(rules, retries=replace(rules.retries, infrastructure=0, scheduling=0, bug=0))


def memory_factor(run: Compaction) -> float:
    """Factor of memory for the run's next attempt: multiplied by 1.5 for each attempt that ran out of it."""
    return float(_MORE_MEMORY ** min(run.status.failures.out_of_memory, _MOST_RAISES))


def _field(failure: Failure) -> str:
    return failure.value.replace("-", "_")


def _out_of_memory(driver: DriverState, seen: str) -> FailureVerdict:
    message = (
        f"Driver {driver.name} was killed for lack of memory{seen}; raise spec.spark.driver.memory of the "
        f"policy; {_log_of(driver)}."
    )
    return FailureVerdict(Reason.OUT_OF_MEMORY, Failure.OUT_OF_MEMORY, message)


def _log_of(driver: DriverState) -> str:
    """Where people find the log of a driver that left no result."""
    return f"its log is {driver.log}" if driver.log else "`lithify logs` shows its log"
