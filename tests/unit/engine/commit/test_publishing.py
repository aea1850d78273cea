"""What became of a write, whatever its answer was: only what is found in its place counts."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from lithify.engine.commit.patience import Backoff, Patience, backoff_of
from lithify.engine.commit.publishing import Found, Next, Place, Published, Sent, next_step, publish
from lithify.errors import CatalogUnavailable, CommitUnknown, NotAllowed, StorageError
from support.cases import case
from unit.engine.commit.clocks import SleepingClock
from unit.engine.commit.rest_catalog import Catalog, Draft, Snapshot, Writer

PATIENCE = Patience(max_retries=3, min_wait=1.0, max_wait=4.0, timeout=10.0)
BASE = {"a": "old"}
ALWAYS = [*product(Sent, [True, False])]


def writer(*answers: str, reads: tuple[bool, ...] = (), can_arrive_late: bool = True) -> Writer:
    catalog = Catalog(Snapshot(BASE))
    return Writer("run", catalog, BASE, answers=[*answers], reads=[*reads], can_arrive_late=can_arrive_late)


def send(store: Writer, clock: SleepingClock | None = None) -> Published:
    draft = store.prepare({"a": "new"}, store.catalog.newest, 0)
    return publish(store, draft, Backoff(PATIENCE, clock or SleepingClock(), Random(0)))


@pytest.mark.parametrize(("sent", "late"), ALWAYS)
def test_what_is_found_to_be_ours_is_ours_whatever_was_answered(sent: Sent, late: bool) -> None:
    assert next_step(sent, Found.OURS, can_arrive_late=late) is Place.OURS


@pytest.mark.parametrize(("sent", "late"), ALWAYS)
def test_a_place_that_cannot_be_read_decides_nothing(sent: Sent, late: bool) -> None:
    assert next_step(sent, None, can_arrive_late=late) is Next.READ_AGAIN


@pytest.mark.parametrize(
    ("sent", "found", "late", "step"),
    [
        case(Sent.REFUSED, Found.OTHER, True, Place.OUTRUN, id="another one was first"),
        case(Sent.REFUSED, Found.NOTHING, True, Place.OUTRUN, id="the base had left its place"),
        case(Sent.ACCEPTED, Found.OTHER, True, Place.LOST, id="another one was put over ours"),
        case(Sent.ACCEPTED, Found.NOTHING, True, Next.READ_AGAIN, id="removed after it was accepted"),
        case(Sent.UNANSWERED, Found.OTHER, True, Place.LOST, id="ours may have been there, or may arrive"),
        case(Sent.UNANSWERED, Found.OTHER, False, Place.LOST, id="ours may have been there"),
        case(Sent.UNANSWERED, Found.NOTHING, True, Next.SEND_AGAIN, id="the request may be lost or late"),
        case(Sent.UNANSWERED, Found.NOTHING, False, Next.NOT_WRITTEN, id="the request has failed"),
    ],
)
def test_a_draft_that_is_not_found_is_tried_again_only_if_it_never_was_there(
    sent: Sent, found: Found, late: bool, step: Place | Next
) -> None:
    assert next_step(sent, found, can_arrive_late=late) is step


@pytest.mark.parametrize(
    ("answers", "requests"),
    [
        case(["yes"], 1, id="answered"),
        case(["lost answer"], 1, id="500 after it has committed"),
        case(["twice"], 1, id="409 from the second of two copies"),
        case(["lost request"], 2, id="500 before it commits"),
        case(["lost request", "lost request", "lost answer"], 3, id="500 again and again"),
        case(["late", "yes"], 2, id="the first request is still under way"),
    ],
)
def test_an_unanswered_draft_is_sent_again_until_it_is_in_place(answers: list[str], requests: int) -> None:
    store = writer(*answers)
    assert send(store).place is Place.OURS
    assert (len(store.sent), len({*store.sent})) == (requests, 1)
    assert store.catalog.newest is store.sent[0].snapshot
    store.catalog.deliver()
    assert len(store.catalog.accepted) == 1


def test_a_place_that_cannot_be_read_is_read_again_before_anything_is_sent() -> None:
    store = writer("lost answer", reads=(False, False, True))
    assert send(store).place is Place.OURS
    assert len(store.sent) == 1


def test_a_draft_that_was_accepted_and_is_gone_is_not_sent_again() -> None:
    store = writer()
    store.pause = lambda: store.catalog.roll_back() if store.sent else None
    with pytest.raises(CommitUnknown):
        send(store)
    assert len(store.sent) == 1


def test_an_unanswered_draft_that_another_overtook_is_lost_because_it_may_still_arrive() -> None:
    store = writer("late")
    store.pause = lambda: store.catalog.append("b", "theirs") if store.catalog.late else None
    assert send(store).place is Place.LOST
    assert store.catalog.discarded == []


def test_a_store_that_never_answers_leaves_the_outcome_unknown_after_all_retries() -> None:
    store, clock = writer(*["late"] * 9), SleepingClock()
    with pytest.raises(CommitUnknown) as unknown:
        send(store, clock)
    assert unknown.value.path == store.location(store.sent[0])
    assert isinstance(unknown.value.__cause__, CatalogUnavailable)
    assert len(store.sent) == 1 + PATIENCE.max_retries == 1 + len(clock.slept)


def test_a_refusal_is_raised_as_it_is() -> None:
    with pytest.raises(NotAllowed):
        send(writer("refused"))


def test_a_refusal_of_a_copy_says_nothing_of_the_first_one() -> None:
    with pytest.raises(CommitUnknown):
        send(writer("late", "refused"))


def test_a_fenced_attempt_sends_no_second_copy_and_deletes_nothing() -> None:
    store = writer("late")
    store.is_fenced = True
    with pytest.raises(CommitUnknown):
        send(store)
    assert len(store.sent) == 1


@pytest.mark.parametrize("answers", [["interrupted"], ["lost request", "interrupted"]])
def test_an_interruption_leaves_the_outcome_unknown(answers: list[str]) -> None:
    with pytest.raises(CommitUnknown):
        send(writer(*answers))


def test_an_interruption_while_the_place_is_read_leaves_the_outcome_unknown() -> None:
    store = writer("lost answer")

    def interrupt() -> None:
        if store.sent:
            raise KeyboardInterrupt

    store.pause = interrupt
    with pytest.raises(CommitUnknown):
        send(store)


def test_a_failed_write_that_cannot_arrive_late_is_an_error_and_not_unknown() -> None:
    with pytest.raises(StorageError) as failed:
        send(writer("lost request", can_arrive_late=False))
    assert not isinstance(failed.value, CommitUnknown)


def test_a_snapshot_outside_of_the_history_is_lost_with_the_reason() -> None:
    class Elsewhere(Writer):
        def confirm(self, draft: Draft) -> str | None:
            return "rolled back"

    store = Elsewhere("run", Catalog(Snapshot(BASE)), BASE)
    assert send(store) == Published(Place.LOST, reason="rolled back")


def test_a_history_that_cannot_be_read_leaves_the_outcome_unknown() -> None:
    class Unreadable(Writer):
        def confirm(self, draft: Draft) -> str | None:
            raise StorageError("t", "no answer")

    with pytest.raises(CommitUnknown):
        send(Unreadable("run", Catalog(Snapshot(BASE)), BASE))


def waits(attempt: str) -> list[float]:
    clock = SleepingClock()
    backoff = backoff_of(attempt, PATIENCE, clock)
    for tries in range(6):
        backoff.wait(tries)
    return clock.slept


def test_attempts_wait_differently_and_each_the_same_again() -> None:
    assert waits("run-1") == waits("run-1") != waits("run-2")


def test_waits_grow_and_stay_within_the_bounds() -> None:
    for number, wait in enumerate(waits("run-1")):
        assert PATIENCE.min_wait <= wait <= min(PATIENCE.max_wait, PATIENCE.min_wait * 2**number)
