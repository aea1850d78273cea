"""Whose question is next: nobody waits for another catalog's tables, and silent catalogs are left alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.observing.turns import FIRST_PAUSE, LONGEST_PAUSE, PATIENCE, Ending, Source, Turns

LAKE, SHOP, DEAD, GONE = (Source(f"team/{name}", f"s3://{name}") for name in ("lake", "shop", "dead", "gone"))


@dataclass
class Play:
    """Turns with a clock that is set by hand."""

    slots: int = 2
    now: float = 0.0
    turns: Turns[str] = field(init=False)

    def __post_init__(self) -> None:
        self.turns = Turns(self.slots, lambda: self.now)

    def proven(self, *sources: Source) -> Play:
        for source in sources:
            self.asked(source, "proof")
            assert self.taken() == (source, "proof")
            self.turns.ended(source, "proof", Ending.ANSWERED)
        return self

    def asked(self, source: Source, *tables: str) -> None:
        for table in tables:
            self.turns.add(source, table)

    def taken(self) -> tuple[Source, str] | None:
        return self.turns.next()

    def silent(self, source: Source, table: str) -> list[str]:
        self.turns.add(source, table)
        assert self.taken() == (source, table)
        return self.turns.ended(source, table, Ending.SILENT)

    def paused(self, source: Source) -> Play:
        self.silent(source, "a")
        self.silent(source, "b")
        assert self.turns.pause_seconds(source) > 0
        return self


def test_catalogs_take_turns_however_many_tables_they_have() -> None:
    play = Play(slots=4).proven(LAKE, SHOP)
    play.asked(LAKE, *(f"lake-{number}" for number in range(100)))
    play.asked(SHOP, "shop-0", "shop-1")
    assert [play.taken() for _ in range(4)] == [
        (LAKE, "lake-0"),
        (SHOP, "shop-0"),
        (LAKE, "lake-1"),
        (SHOP, "shop-1"),
    ]
    assert play.taken() is None, "all slots are taken"


def test_a_catalog_that_answers_has_all_places_if_nobody_else_wants_them() -> None:
    play = Play(slots=3).proven(LAKE)
    play.asked(LAKE, "a", "b", "c")
    assert [play.taken() for _ in range(3)] == [(LAKE, "a"), (LAKE, "b"), (LAKE, "c")]


def test_catalogs_that_have_proven_nothing_share_half_of_the_places() -> None:
    play = Play(slots=4).proven(LAKE)
    for source in (DEAD, GONE, SHOP):
        play.asked(source, "a", "b")
    play.asked(LAKE, "x")
    assert {play.taken() for _ in range(3)} == {(DEAD, "a"), (GONE, "a"), (LAKE, "x")}
    assert play.taken() is None, "one place is free, and kept for who answers"


def test_unproven_catalog_gives_way_to_one_that_waits_and_gets_twice_the_time_next() -> None:
    play = Play()
    play.asked(DEAD, "a")
    assert play.taken() == (DEAD, "a")
    play.turns.sent(DEAD)
    assert play.turns.displaced() is None, "nobody else waits"
    play.asked(LAKE, "x")
    assert play.taken() is None
    assert play.turns.displaced() == (DEAD, PATIENCE)
    play.now += PATIENCE
    assert play.turns.displaced() == (DEAD, 0.0)
    play.turns.ended(DEAD, "a", Ending.DISPLACED)
    play.turns.add(DEAD, "a", first=True)
    assert play.taken() == (LAKE, "x")
    play.turns.sent(LAKE)
    play.turns.ended(LAKE, "x", Ending.ANSWERED)
    assert play.taken() == (DEAD, "a")
    play.turns.sent(DEAD)
    play.asked(SHOP, "y")
    assert play.turns.displaced() == (DEAD, 2 * PATIENCE)


def test_catalog_gives_way_only_once_its_question_is_sent_and_not_to_a_silent_one() -> None:
    play = Play()
    assert play.silent(DEAD, "hung") == []
    play.asked(SHOP, "y")
    assert play.taken() == (SHOP, "y")
    play.asked(LAKE, "x")
    assert play.turns.displaced() is None, "the worker of the question is still starting"
    assert play.turns.remove(LAKE, "x")
    play.turns.sent(SHOP)
    play.asked(DEAD, "a")
    assert play.turns.displaced() is None, "the one that waits is silent"


def test_proven_catalogs_and_long_questions_keep_their_places() -> None:
    play = Play(slots=1)
    plans = replace(LAKE, is_long=True)
    play.asked(plans, "plan")
    assert play.taken() == (plans, "plan")
    play.turns.sent(plans)
    play.asked(SHOP, "y")
    assert play.turns.displaced() is None
    play.turns.ended(plans, "plan", Ending.ANSWERED)
    assert play.taken() == (SHOP, "y")
    play.turns.ended(SHOP, "y", Ending.ANSWERED)
    play.asked(SHOP, "z")
    assert play.taken() == (SHOP, "z")
    play.turns.sent(SHOP)
    play.asked(DEAD, "a")
    assert play.turns.displaced() is None


def test_one_silent_table_slows_its_catalog_down_and_does_not_pause_it() -> None:
    play = Play(slots=4).proven(LAKE)
    for _ in range(5):
        assert play.silent(LAKE, "hung") == []
    assert play.turns.pause_seconds(LAKE) == 0
    play.asked(LAKE, "a", "b")
    assert (play.taken(), play.taken()) == ((LAKE, "a"), None)
    play.turns.ended(LAKE, "a", Ending.ANSWERED)
    play.asked(LAKE, "c")
    assert (play.taken(), play.taken()) == ((LAKE, "b"), (LAKE, "c"))


def test_an_answer_between_two_silent_tables_counts() -> None:
    play = Play()
    play.silent(LAKE, "a")
    play.proven(LAKE)
    play.silent(LAKE, "b")
    assert play.turns.pause_seconds(LAKE) == 0


def test_a_pause_refuses_all_who_wait_and_lets_one_find_out_whether_it_is_over() -> None:
    play = Play()
    play.silent(DEAD, "a")
    play.asked(DEAD, "b", "c", "d")
    assert play.taken() == (DEAD, "b")
    assert play.turns.ended(DEAD, "b", Ending.SILENT) == ["c", "d"]
    assert not play.turns.admits(DEAD)
    play.now = FIRST_PAUSE
    assert play.turns.admits(DEAD)
    play.asked(DEAD, "c")
    assert not play.turns.admits(DEAD), "one is enough"
    assert play.taken() == (DEAD, "c")
    assert not play.turns.admits(DEAD)
    assert play.turns.ended(DEAD, "c", Ending.ANSWERED) == []
    assert play.turns.pause_seconds(DEAD) == 0
    assert play.turns.pause_seconds(LAKE) == 0


def test_pauses_grow_to_a_bound_and_begin_anew_after_an_answer() -> None:
    play = Play().paused(DEAD)
    pauses = []
    for _ in range(6):
        pauses.append(play.turns.pause_seconds(DEAD))
        play.now += pauses[-1]
        play.silent(DEAD, "a")
    assert pauses == [FIRST_PAUSE, 10.0, 20.0, 40.0, LONGEST_PAUSE, LONGEST_PAUSE]
    play.now += LONGEST_PAUSE
    play.proven(DEAD).paused(DEAD)
    assert play.turns.pause_seconds(DEAD) == FIRST_PAUSE


@pytest.mark.parametrize(
    ("ending", "is_slowed_down"),
    [
        pytest.param(Ending.LOST, True, id="a table that costs workers"),
        pytest.param(Ending.WITHDRAWN, False, id="a question that nobody asks any more"),
    ],
)
def test_what_says_nothing_of_the_catalog_does_not_pause_it(ending: Ending, *, is_slowed_down: bool) -> None:
    play = Play(slots=4).proven(DEAD)
    for table in ("a", "b", "c"):
        play.asked(DEAD, table)
        assert play.taken() == (DEAD, table)
        play.turns.ended(DEAD, table, ending)
    assert play.turns.pause_seconds(DEAD) == 0
    play.asked(DEAD, "a", "b")
    assert (play.taken(), play.taken() is None) == ((DEAD, "a"), is_slowed_down)


def test_a_catalog_that_is_changed_is_another_one() -> None:
    play = Play().paused(DEAD)
    mended = Source(DEAD.catalog, "s3://mended")
    assert play.turns.admits(mended)
    assert play.turns.pause_seconds(mended) == 0 < play.turns.pause_seconds(DEAD)


def test_a_question_that_is_taken_back_leaves_its_line() -> None:
    play = Play()
    play.asked(LAKE, "a", "b")
    assert play.turns.remove(LAKE, "a")
    assert not play.turns.remove(LAKE, "a")
    assert not play.turns.remove(SHOP, "a")
    assert play.taken() == (LAKE, "b")
    assert play.turns.clear() == []


@given(
    slots=st.integers(1, 6),
    dead=st.integers(0, 5),
    tables=st.lists(st.integers(0, 5), min_size=1, max_size=60),
)
def test_questions_to_healthy_catalogs_never_wait_for_dead_ones(
    slots: int, dead: int, tables: list[int]
) -> None:
    """With two slots or more: dead catalogs hold theirs for a hundred rounds, healthy ones for one each."""
    play = Play(max(2, slots))
    sources = [Source(f"team/{number}", "") for number in range(6)]
    healthy = sources[dead:]
    play.proven(*healthy)
    for number, table in enumerate(tables):
        play.asked(sources[table], f"{number}")
    expected = Counter(sources[table] for table in tables if sources[table] in healthy)
    held: list[tuple[Source, str]] = []
    answered: Counter[Source] = Counter()
    for _ in range(100):
        running = []
        while (taken := play.taken()) is not None:
            (running if taken[0] in healthy else held).append(taken)
        for source, subject in running:
            play.turns.ended(source, subject, Ending.ANSWERED)
            answered[source] += 1
    assert answered == expected
    assert len(held) <= max(1, play.slots // 2)


@pytest.mark.parametrize("slots", [1, 2, 7])
def test_no_more_than_there_are_slots(slots: int) -> None:
    play = Play(slots).proven(LAKE)
    play.asked(LAKE, *map(str, range(20)))
    taken = [play.taken() for _ in range(20)]
    assert sum(one is not None for one in taken) == slots


def test_long_questions_never_take_more_than_half_of_the_places() -> None:
    long = [Source(source.catalog, source.address, is_long=True) for source in (LAKE, SHOP, GONE)]
    play = Play(slots=4).proven(LAKE, *long)
    for source in long:
        play.asked(source, "a", "b")
    play.asked(LAKE, "c", "d", "e")
    taken = [play.taken() for _ in range(5)]
    assert [one for one in taken if one and one[0].is_long] == [(long[0], "a"), (long[1], "a")]
    assert [one for one in taken if one and not one[0].is_long] == [(LAKE, "c"), (LAKE, "d")]


def test_a_catalog_has_one_long_question_at_a_time_whatever_it_has_proven() -> None:
    long = Source(LAKE.catalog, LAKE.address, is_long=True)
    play = Play(slots=6).proven(LAKE, long)
    play.asked(long, "a", "b")
    assert [play.taken(), play.taken()] == [(long, "a"), None]
