"""How attempts of an unfinished run fail: told with cause and what follows, lasting from the second on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.controller.deciding.failing import failure_of_attempts
from lithify.controller.deciding.sentences import attempt_failure_text
from lithify.controller.running.failures import rules_of_run
from lithify.errors import Failure
from lithify.resources.compaction import Reason
from lithify.resources.names import LABEL_TABLE
from support.running.runs import POLICY, Way, ended, outcome_of, run_of, under_way

FULL = outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE, message="no space left on the device")


def failed(times: int) -> Way:
    """A run whose first attempts have failed."""
    way = under_way()
    for attempt in range(1, times + 1):
        if attempt > 1:
            way.ask(driver=None).ask(after=601).ask()
        way.ask(driver=ended(replace(FULL, attempt=attempt), attempt=attempt, uid=f"pod-{attempt}"))
    return way


def test_run_without_failed_attempts_tells_nothing() -> None:
    assert failure_of_attempts(under_way().run) is None


@pytest.mark.parametrize(("times", "is_lasting"), [(1, False), (2, True)])
def test_back_off_names_attempt_cause_and_next_start(times: int, is_lasting: bool) -> None:
    way = failed(times)
    found = failure_of_attempts(way.run)
    assert way.reason is Reason.BACKING_OFF
    assert found is not None
    assert found.is_lasting is is_lasting
    assert f"attempt {times} " in attempt_failure_text(found)
    assert "no space left" in attempt_failure_text(found)
    following = way.run.status.next_attempt_time
    assert following is not None
    assert f"{following:%H:%M:%S}" in attempt_failure_text(found)


def test_search_after_the_last_attempt_names_its_failure() -> None:
    way = failed(3)
    found = failure_of_attempts(way.run)
    assert way.reason is Reason.SEARCHING_COMMIT
    assert found is not None
    assert found.is_lasting
    assert "attempt 3 " in attempt_failure_text(found)


def test_search_after_a_cancellation_is_no_failure() -> None:
    way = under_way().edit(cancel=True).ask().ask(driver=ended(exit_code=143))
    assert way.reason is Reason.SEARCHING_COMMIT
    assert failure_of_attempts(way.run) is None


def test_only_runs_of_the_operator_try_once_after_a_failed_run() -> None:
    own = run_of()
    made = replace(own, metadata=replace(own.metadata, labels={LABEL_TABLE: "orders"}))
    assert rules_of_run(own, POLICY, 1) == rules_of_run(made, POLICY, 0) == POLICY
    once = rules_of_run(made, POLICY, 1).retries
    assert (once.infrastructure, once.scheduling, once.bug) == (0, 0, 0)
    assert (once.conflict, once.out_of_memory) == (POLICY.retries.conflict, POLICY.retries.out_of_memory)
