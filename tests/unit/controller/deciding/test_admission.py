"""Who may start: limits are never exceeded, the order is fair, and everybody has a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.admission import (
    HOUR,
    SECONDS_A_POINT,
    Active,
    Admission,
    Caps,
    PolicyLimits,
    Waiting,
    admit,
    limits_of,
)
from lithify.resources.names import ObjectKey
from support.cases import case
from support.deciding.situations import BRIEFLY, NOON, policy

NIGHTLY = ObjectKey("lake", "nightly")
HOURLY = ObjectKey("lake", "hourly")
ELSEWHERE = ObjectKey("swamp", "nightly")
SECOND = timedelta(seconds=1)
NO_CAPS = Caps()


def waits(name: str, priority: int = 100, age: int = 0, of: ObjectKey = NIGHTLY, size: int = 0) -> Waiting:
    return Waiting(ObjectKey(of.namespace, name), priority, NOON - age * SECOND, of, size)


def runs(name: str, of: ObjectKey = NIGHTLY, size: int = 0, age: int = 0) -> Active:
    return Active(ObjectKey(of.namespace, name), of, size, NOON - age * SECOND)


def ask(
    waiting: list[Waiting],
    active: list[Active] | None = None,
    recent: list[Active] | None = None,
    caps: Caps = NO_CAPS,
    limits: Mapping[ObjectKey, PolicyLimits] | None = None,
) -> Admission:
    return admit(waiting, active or [], recent or [], caps, limits or {}, NOON)


def names(admission: Admission) -> list[str]:
    return [key.name for key in admission.admitted]


class TestOrder:
    @pytest.mark.parametrize(
        ("waiting", "expected"),
        [
            case([waits("a", 1), waits("b", 2)], ["b", "a"], id="higher priority first"),
            case([waits("a", age=1), waits("b", age=2)], ["b", "a"], id="longer wait first"),
            case([waits("b"), waits("a")], ["a", "b"], id="then by name"),
            case(
                [waits("a", 10), waits("b", 0, age=10 * SECONDS_A_POINT + 1)],
                ["b", "a"],
                id="a wait is worth its points",
            ),
            case(
                [waits("a", 10), waits("b", 0, age=10 * SECONDS_A_POINT - 1)],
                ["a", "b"],
                id="and no more than these",
            ),
            case(
                [waits("a", 10), waits("b", 0, age=10 * SECONDS_A_POINT)],
                ["b", "a"],
                id="the one that has waited longer, of two that have as many",
            ),
            case([waits("a", age=-(10**6)), waits("b")], ["a", "b"], id="a wait from the future is none"),
        ],
    )
    def test_waiting_runs_start_by_priority_and_age(
        self, waiting: list[Waiting], expected: list[str]
    ) -> None:
        assert names(ask(waiting)) == expected


class TestLimits:
    @pytest.mark.parametrize(
        ("active", "caps", "limits", "admitted"),
        [
            case([], NO_CAPS, {}, ["a", "b", "c"], id="none"),
            case([runs("x")], Caps(total=3), {}, ["a", "b"], id="in all"),
            case([runs("x"), runs("y")], Caps(total=1), {}, [], id="more run already than may"),
            case([runs("x")], Caps(per_namespace=1), {}, ["c"], id="by namespace: others go on"),
            case(
                [runs("x")],
                NO_CAPS,
                {NIGHTLY: PolicyLimits(active_runs=2)},
                ["a", "c"],
                id="by policy: others of the same name go on",
            ),
            case([], Caps(total=0), {}, [], id="nobody"),
        ],
    )
    def test_no_more_runs_are_admitted_than_slots_are_free(
        self,
        active: list[Active],
        caps: Caps,
        limits: Mapping[ObjectKey, PolicyLimits],
        admitted: list[str],
    ) -> None:
        waiting = [waits("a", age=3), waits("b", age=2), waits("c", age=1, of=ELSEWHERE)]
        found = ask(waiting, active, caps=caps, limits=limits)
        assert names(found) == admitted
        assert {key.name for key in found.held} == {"a", "b", "c"} - set(admitted)

    @pytest.mark.parametrize(
        ("waiting", "recent", "admitted", "wake"),
        [
            case([waits("a", size=100)], [], ["a"], None, id="as many bytes as there are"),
            case([waits("a", size=101)], [], ["a"], None, id="more than ever, and nothing else started"),
            case(
                [waits("a", size=101)], [runs("x", size=1, age=60)], [], 3540, id="more, after something else"
            ),
            case([waits("a", size=40)], [runs("x", size=60, age=60)], ["a"], None, id="what is left"),
            case(
                [waits("a", size=41)], [runs("x", size=60, age=60)], [], 3540, id="a byte more than is left"
            ),
            case(
                [waits("a", size=41)], [runs("x", size=60, age=3600)], ["a"], None, id="an hour has gone by"
            ),
            case(
                [waits("a", size=41)],
                [runs("x", size=60, age=-86400)],
                ["a"],
                None,
                id="started tomorrow: a wrong clock",
            ),
            case(
                [waits("a", size=90, age=2), waits("b", size=1, age=1)],
                [runs("x", size=60, age=60)],
                [],
                3540,
                id="a small one does not pass a large one",
            ),
            case(
                [waits("a", size=90, age=2), waits("b", size=1, age=1, of=HOURLY)],
                [runs("x", size=60, age=60)],
                ["b"],
                3540,
                id="but one of another policy does",
            ),
            case(
                [waits("a", size=60, age=2), waits("b", size=60, age=1)],
                [],
                ["a"],
                3600,
                id="what has just been admitted counts",
            ),
            case(
                [waits("a", size=41)],
                [runs("x", size=30, age=60), runs("y", size=30, age=1200)],
                [],
                2400,
                id="asked again when the first is an hour old",
            ),
        ],
    )
    def test_runs_wait_until_the_bytes_of_an_hour_suffice(
        self, waiting: list[Waiting], recent: list[Active], admitted: list[str], wake: int | None
    ) -> None:
        found = ask(waiting, recent=recent, limits={NIGHTLY: PolicyLimits(bytes_per_hour=100)})
        assert names(found) == admitted
        assert found.wake == (None if wake is None else NOON + wake * SECOND)

    def test_a_run_that_is_both_active_and_recent_counts_once(self) -> None:
        same = [runs("x", size=60)]
        limits = {NIGHTLY: PolicyLimits(active_runs=2, bytes_per_hour=100)}
        assert names(ask([waits("a", size=40)], same, same, limits=limits)) == ["a"]

    def test_come_from_the_policy(self) -> None:
        found = policy(limits={"activeRuns": 7, "bytesPerHour": "2Ki"}).limits
        assert limits_of(found) == PolicyLimits(7, 2048)
        assert limits_of(policy().limits) == PolicyLimits(4, None)


POLICIES = st.sampled_from([NIGHTLY, HOURLY, ELSEWHERE])
CAPS = st.builds(Caps, st.none() | st.integers(1, 5), st.none() | st.integers(1, 4))
LIMITS = st.dictionaries(
    POLICIES, st.builds(PolicyLimits, st.none() | st.integers(1, 3), st.none() | st.integers(1, 100))
)


@st.composite
def queues(draw: st.DrawFn) -> list[Waiting]:
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 1000), st.integers(0, 10**5), POLICIES, st.integers(0, 150)), max_size=20
        )
    )
    return [waits(f"w{number:02}", *row) for number, row in enumerate(rows)]


@st.composite
def running(draw: st.DrawFn) -> list[Active]:
    rows = draw(st.lists(st.tuples(POLICIES, st.integers(0, 150), st.integers(0, 7200)), max_size=8))
    return [runs(f"r{number:02}", *row) for number, row in enumerate(rows)]


class TestAlways:
    @BRIEFLY
    @given(queues(), running(), CAPS, LIMITS)
    def test_no_limit_is_exceeded(
        self,
        waiting: list[Waiting],
        active: list[Active],
        caps: Caps,
        limits: Mapping[ObjectKey, PolicyLimits],
    ) -> None:
        found = ask(waiting, active, caps=caps, limits=limits)
        by_key = {one.key: one for one in waiting}
        started = [by_key[key] for key in found.admitted]
        assert set(found.admitted) | found.held.keys() == by_key.keys()
        assert not set(found.admitted) & found.held.keys()
        if caps.total is not None and started:
            # Runs above the cap of their namespace take no slots of other namespaces.
            sizes = Counter(run.policy.namespace for run in [*active, *started]).values()
            assert sum(min(size, caps.per_namespace or size) for size in sizes) <= caps.total
        for namespace in {one.policy.namespace for one in started}:
            slots = sum(run.policy.namespace == namespace for run in [*active, *started])
            assert caps.per_namespace is None or slots <= caps.per_namespace
        for of in {one.policy for one in started}:
            assert_policy_limits(of, started, active, limits.get(of, PolicyLimits()))

    @BRIEFLY
    @given(queues(), running(), CAPS, LIMITS, st.randoms())
    def test_the_order_of_asking_does_not_matter(
        self,
        waiting: list[Waiting],
        active: list[Active],
        caps: Caps,
        limits: Mapping[ObjectKey, PolicyLimits],
        random: object,
    ) -> None:
        shuffled = list(waiting)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        assert ask(shuffled, active, caps=caps, limits=limits) == ask(
            waiting, active, caps=caps, limits=limits
        )

    @BRIEFLY
    @given(queues(), CAPS, LIMITS)
    def test_everybody_has_a_turn(
        self, waiting: list[Waiting], caps: Caps, limits: Mapping[ObjectKey, PolicyLimits]
    ) -> None:
        """Each round all that runs ends, an hour goes by, and newcomers of high priority arrive."""
        left = {one.key for one in waiting}
        queue, now = list(waiting), NOON
        last: list[Active] = []
        for number in range(400):
            found = admit(queue, [], last, caps, limits, now)
            started = [one for one in queue if one.key in set(found.admitted)]
            left -= set(found.admitted)
            if not left:
                return
            last = [Active(one.key, one.policy, one.bytes, now) for one in started]
            queue = [one for one in queue if one.key not in set(found.admitted)]
            now += HOUR
            for of in (NIGHTLY, HOURLY, ELSEWHERE):
                queue.append(Waiting(ObjectKey(of.namespace, f"n{number:03}-{of.name}"), 1000, now, of, 1))
        assert left == set()

    @BRIEFLY
    @given(queues(), st.integers(0, 1000), st.integers(0, 1000))
    def test_nobody_is_overtaken_by_what_came_much_later(
        self, waiting: list[Waiting], low: int, high: int
    ) -> None:
        early = waits("early", low, age=1000 * SECONDS_A_POINT + 1)
        order = names(ask([*waiting, waits("late", high), early]))
        assert order.index("early") < order.index("late")

    def test_ten_thousand_are_sorted_out_quickly(self) -> None:
        waiting = [waits(f"t{number}", number % 1001, number % 977, NIGHTLY, 1) for number in range(10_000)]
        start = perf_counter()
        found = ask(waiting, caps=Caps(total=50), limits={NIGHTLY: PolicyLimits(40, 10**6)})
        assert perf_counter() - start < 2
        assert len(found.admitted) == 40


def assert_policy_limits(
    of: ObjectKey, started: list[Waiting], active: list[Active], limits: PolicyLimits
) -> None:
    mine = [one for one in started if one.policy == of]
    slots = Counter(run.policy for run in active)[of] + len(mine)
    assert limits.active_runs is None or slots <= limits.active_runs
    before = sum(run.bytes for run in active if run.policy == of and run.started + HOUR > NOON)
    if limits.bytes_per_hour is None:
        return
    together = before + sum(one.bytes for one in mine)
    alone = before == 0 and sum(one.bytes > 0 for one in mine) <= 1
    assert together <= limits.bytes_per_hour or alone or before + together == before + 0
