"""Two loops that commit to one table at the same time, in all orders of their steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitOutcome
from lithify.engine.commit.patience import Backoff, Patience
from lithify.errors import CommitOutrun, CommitUnknown, NotAllowed
from support.properties import examples
from unit.engine.commit.clocks import SleepingClock
from unit.engine.commit.interleaving import Actor, Choose, Pause, all_orders, interleave
from unit.engine.commit.rest_catalog import ANSWERS, GONE, Catalog, Snapshot, Writer

PATIENCE = Patience(max_retries=4, min_wait=1.0, max_wait=4.0, timeout=10.0)
GROUPS = ("both", "left", "right", "theirs")


class Loops:
    """A table with two loops: each compacts the group of its name, and both the group `both`."""

    def __init__(self, *answers: Iterable[str]) -> None:
        before = Snapshot(dict.fromkeys(GROUPS, "before"))
        first = Snapshot({group: f"{group}-old" for group in GROUPS}, before)
        self.catalog = Catalog(first)
        told = [*answers, (), ()]
        self.writers = [
            Writer(run, self.catalog, first.files, answers=[*told[number]])
            for number, run in enumerate(("left", "right"))
        ]
        self.catalog.inputs = {
            f"{group}-{run}": f"{group}-old" for group in GROUPS for run in ("left", "right")
        }
        self.outcomes: dict[str, CommitOutcome | Exception] = {}

    def actor(self, writer: Writer) -> Actor:
        def run(pause: Pause) -> None:
            writer.pause = pause
            changes = {group: f"{group}-{writer.run}" for group in ("both", writer.run)}
            backoff = Backoff(PATIENCE, SleepingClock(), Random(writer.run))
            try:
                self.outcomes[writer.run] = loop.commit(writer, changes, backoff)
            except (CommitUnknown, CommitOutrun, NotAllowed) as error:
                self.outcomes[writer.run] = error

        return run

    def run(self, choose: Choose, actors: Iterable[Actor] = ()) -> None:
        """Runs both loops and other actors; then all requests arrive that are still under way."""
        interleave([*map(self.actor, self.writers), *actors], choose)
        while self.catalog.late:
            self.catalog.deliver()


def _once(step: Callable[[], None]) -> Actor:
    def take(pause: Pause) -> None:
        pause()
        step()

    return take


def test_both_commit_what_they_can_in_every_order_of_their_steps() -> None:
    orders = 0
    for choose in all_orders():
        loops = Loops()
        loops.run(choose)
        orders += 1
        left, right = (loops.outcomes[writer.run] for writer in loops.writers)
        assert isinstance(left, CommitOutcome)
        assert isinstance(right, CommitOutcome)
        conflicts = [outcome.conflicts for outcome in (left, right) if outcome.conflicts]
        assert conflicts == [{"both": GONE}], "the group of both is compacted once"
        files = loops.catalog.newest.files
        assert (files["left"], files["right"]) == ("left-left", "right-right")
        assert files["both"] in ("both-left", "both-right")
        assert len(loops.catalog.accepted) == 2
    assert orders > 50


@pytest.mark.thorough
@pytest.mark.parametrize("left", ANSWERS)
def test_no_answer_loses_or_doubles_a_commit_in_any_order_of_steps(left: str) -> None:
    for right in ANSWERS:
        for choose in all_orders():
            loops = Loops([left], [right])
            loops.run(choose)
            check(loops)


def check(loops: Loops) -> None:
    """What holds whatever happened."""
    catalog = loops.catalog
    for writer in loops.writers:
        outcome, mine = loops.outcomes[writer.run], {draft.snapshot for draft in writer.drafts}
        in_history = mine.intersection(catalog.history)
        assert len(in_history) <= 1, "a loop has committed twice"
        if isinstance(outcome, CommitOutcome):
            assert {*outcome.committed, *outcome.conflicts} == {"both", writer.run}
            if outcome.snapshot is not None:
                assert outcome.snapshot in catalog.accepted
                assert in_history <= {outcome.snapshot}
                assert catalog.rollbacks or in_history, "a commit was reported and is lost"
        elif isinstance(outcome, CommitUnknown):
            assert writer.drafts[-1] not in catalog.discarded, "the outcome is unknown"
        else:
            assert not in_history, "an error was reported, and the loop has committed"


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_metadata_of_an_overtaken_commit_goes_that_may_arrive_after_a_rollback(answer: str) -> None:
    """A copy that is under way takes effect if the table goes back to its base, so it must stay whole."""
    for choose in all_orders():
        loops = Loops([answer, answer])
        del loops.writers[1]

        def overtake(pause: Pause, catalog: Catalog = loops.catalog) -> None:
            for step in (lambda: catalog.append("theirs", "theirs-new"), catalog.roll_back, catalog.deliver):
                pause()
                step()

        loops.run(choose, actors=[overtake])
        check(loops)


@pytest.mark.thorough
@settings(max_examples=examples(500), deadline=None)
@given(data=st.data())
def test_no_commit_is_lost_or_doubled_and_no_rollback_undone_whatever_happens(data: st.DataObject) -> None:
    answers = st.lists(st.sampled_from(ANSWERS), max_size=3)
    loops = Loops(data.draw(answers, "left"), data.draw(answers, "right"))
    for writer in loops.writers:
        writer.reads = data.draw(st.lists(st.booleans(), max_size=3), f"reads of {writer.run}")
    catalog = loops.catalog
    steps: dict[str, Callable[[], None]] = {
        "append": lambda: catalog.append("theirs", f"theirs-{len(catalog.accepted)}"),
        "roll back": catalog.roll_back,
        "deliver": catalog.deliver,
    }
    others = data.draw(st.lists(st.sampled_from([*steps]), max_size=4), "others")
    choices = data.draw(st.lists(st.integers(0, 5), max_size=40), "order")
    order = iter(choices)

    loops.run(lambda count: next(order, 0) % count, [_once(steps[name]) for name in others])

    check(loops)
