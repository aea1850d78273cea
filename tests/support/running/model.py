"""What may happen to two runs of one table, in any order, and what must become of them in the end.

The tests of the state machine and of its shell play it, each with what works on the runs.
"""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lithify.controller.driver import Trouble
from lithify.controller.running.facts import Problem
from lithify.errors import Failure
from lithify.resources.compaction import Reason
from lithify.resources.policy import Approval
from support.running.world import Driver, Operator, World

NAMES = ("a", "b")
PICK = st.integers(0, 1)
DEEDS = [
    "suspend",
    "suspend",
    "resume",
    "resume",
    "approved",
    "approved",
    "cancel",
    "delete",
    "drop the table",
]
WEATHER = [
    "fine",
    "fine",
    "no catalog",
    "no catalog",
    "no launcher",
    "no lock",
    "no room",
    "a passing problem",
]
WEATHER += [*WEATHER, "a problem that stays"]
KINDS = st.sampled_from(
    [{}, {}, {}, {"approval": Approval.MANUAL}, {"dry_run": True}, {"active_deadline_seconds": 700}]
)
End = tuple[Reason, Failure | None] | tuple[int, Trouble | None]
ENDS: list[End] = [
    (Reason.COMMIT_CONFLICT, Failure.CONFLICT),
    (Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE),
    (Reason.UNSUPPORTED, Failure.USER),
    (Reason.OUT_OF_MEMORY, Failure.OUT_OF_MEMORY),
    (Reason.DRIVER_FAILED, None),
    (Reason.CANCELLED, None),
    (1, None),
    (137, None),
    (143, Trouble.DISRUPTED),
    (137, Trouble.OUT_OF_MEMORY),
]


class Runs(RuleBasedStateMachine):
    """Two runs of one table, an operator that may be restarted, drivers, nodes, people."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.operator = Operator(self.world)
        self.is_cancelled_at_last = False

    @initialize(first=KINDS, second=KINDS, ends=st.booleans())
    def begin(self, first: dict[str, object], second: dict[str, object], ends: bool) -> None:
        self.is_cancelled_at_last = ends
        self.world.create("a", **first)
        self.world.create("b", **second)

    # The operator

    @rule(which=PICK, requests=st.integers(1, 8))
    def work(self, which: int, requests: int) -> None:
        self.operator.go_on(NAMES[which], requests)

    @rule(which=PICK, times=st.integers(1, 4))
    def work_on(self, which: int, times: int) -> None:
        for _ in range(times):
            self.operator.finish(NAMES[which])

    @rule(rounds=st.integers(1, 3))
    def all_goes_well(self, rounds: int) -> None:
        self.become("fine")
        self.world.now += timedelta(seconds=11)
        for _ in range(rounds):
            for name in (*NAMES, *NAMES):
                self.operator.finish(name)
            for pod in self.alive():
                if pod.reachable and not pod.terminating:
                    self.world.advance(pod)

    @rule(fault=st.sampled_from(["before", "after", "restart"]))
    def fail(self, fault: str) -> None:
        if fault == "restart":
            self.operator = Operator(self.world)
        else:
            self.world.fault = fault

    @rule(seconds=st.sampled_from([1, 12, 12, 55, 55, 120, 400, 1100, -100_000]))
    def pass_time(self, seconds: int) -> None:
        self.world.now += timedelta(seconds=seconds)

    # Drivers and nodes

    @precondition(lambda self: self.alive())
    @rule(which=PICK, times=st.integers(1, 5))
    def driver_works(self, which: int, times: int) -> None:
        pod = self.chosen(which)
        for _ in range(times):
            self.world.advance(pod)

    @precondition(lambda self: self.alive())
    @rule(which=PICK, commits=st.booleans(), end=st.sampled_from(ENDS))
    def driver_ends(self, which: int, commits: bool, end: End) -> None:
        pod = self.chosen(which)
        if commits and pod.stage == "committing" and end[0] is not Reason.UNSUPPORTED:
            self.world.commit(pod)  # A driver that is refused commits nothing; all others may have.
        if isinstance(end[0], Reason):
            self.world.say(pod, *end)
        else:
            pod.end(None, *end)

    @precondition(lambda self: [pod for pod in self.alive() if pod.stage == "planning"])
    @rule(which=PICK)
    def nothing_to_do(self, which: int) -> None:
        pod = self.chosen(which)
        if pod.stage == "planning" and pod.owner not in self.world.commits:
            self.world.advance(pod, Reason.NOTHING_TO_DO)

    @precondition(lambda self: [pod for pod in self.alive() if pod.stage == "starting"])
    @rule(which=PICK, trouble=st.sampled_from([Trouble.UNSCHEDULABLE, Trouble.IMAGE, Trouble.CONFIGURATION]))
    def cannot_start(self, which: int, trouble: Trouble) -> None:
        pod = self.chosen(which)
        if pod.stage == "starting":
            pod.trouble = trouble

    @precondition(lambda self: [pod for pod in self.alive() if pod.terminating])
    @rule(says=st.sampled_from([None, Reason.CANCELLED, Reason.DRIVER_FAILED, Reason.COMPACTED]))
    def told_drivers_end(self, says: Reason | None) -> None:
        for pod in self.alive():
            if pod.terminating and says is None:
                pod.end(None, 143)
            elif pod.terminating and says is not Reason.COMPACTED:
                self.world.say(pod, says)
            elif pod.terminating and pod.stage == "committing":
                self.world.advance(pod)

    @precondition(lambda self: self.alive())
    @rule(which=PICK, dies=st.booleans())
    def node_is_lost(self, which: int, dies: bool) -> None:
        pod = self.chosen(which)
        pod.reachable = False
        if dies:
            pod.end(None, 137)

    @precondition(lambda self: any(not pod.reachable for pod in self.world.pods.values()))
    @rule(gone=st.booleans())
    def nodes_are_back(self, gone: bool) -> None:
        for name, pod in list(self.world.pods.items()):
            if gone and not pod.reachable and not pod.is_alive:
                del self.world.pods[name]
            pod.reachable = True

    @precondition(lambda self: any(not pod.is_alive for pod in self.world.pods.values()))
    @rule()
    def ended_pods_vanish(self) -> None:
        self.world.pods = {name: pod for name, pod in self.world.pods.items() if pod.is_alive}

    @rule(weather=st.sampled_from(WEATHER))
    def weather(self, weather: str) -> None:
        self.become(weather)

    def become(self, weather: str) -> None:
        world = self.world
        world.catalog_answers = weather != "no catalog"
        world.launcher_answers = weather != "no launcher"
        world.lock_answers = weather != "no lock"
        world.admitted = weather != "no room"
        world.problem = None
        if "problem" in weather:
            world.problem = Problem(Reason.ACCESS_DENIED, "the Secret has no key", "passing" in weather)

    # People

    @rule(which=PICK, does=st.sampled_from(DEEDS))
    def people(self, which: int, does: str) -> None:
        world = self.world
        busy = [name for name, pod in world.pods.items() if pod.is_alive]
        name = (busy or NAMES)[which % len(busy or NAMES)]  # Where it matters more.
        if name not in world.runs:
            return
        if does == "delete":
            del world.runs[name]
        elif does == "drop the table":
            world.table = f"{world.table}*"
            world.commits.clear()
        elif does in {"suspend", "resume"}:
            world.edit(name, suspend=does == "suspend")
        else:
            world.edit(name, **{does: True})

    def over(self) -> list[str]:
        runs = self.world.runs
        return [name for name in NAMES if name not in runs or runs[name].is_over]

    @precondition(lambda self: self.over())
    @rule(which=PICK, kind=KINDS)
    def people_want_another_run(self, which: int, kind: dict[str, object]) -> None:
        over = self.over()
        name = over[which % len(over)]
        self.world.runs.pop(name, None)
        self.world.create(name, **kind)
        self.operator.finish(name)
        self.operator.finish(name)

    def alive(self) -> list[Driver]:
        return [pod for pod in self.world.pods.values() if pod.is_alive]

    def chosen(self, which: int) -> Driver:
        alive = self.alive()
        return alive[which % len(alive)]

    # What always holds, and what must become of it all

    @invariant()
    def never_two_drivers(self) -> None:
        self.world.check_drivers()

    def teardown(self) -> None:
        self.calm_down()
        for _ in range(300):
            if self.is_quiet():
                break
        else:
            raise AssertionError(f"it never ends: {self.world}")
        for name, run in self.world.runs.items():
            assert run.is_over, f"{name} never ends: {run.status}"
        assert not [pod for pod in self.world.pods.values() if pod.is_alive or not pod.released]
        assert self.world.lock is None or self.world.lock[1] not in {
            run.metadata.uid for run in self.world.runs.values()
        }

    def calm_down(self) -> None:
        world = self.world
        self.become("fine")
        world.fault = None
        for name in list(self.operator.busy):
            self.operator.finish(name)
        self.nodes_are_back(gone=True)
        for name, run in list(world.runs.items()):
            cancel = run.spec.cancel or self.is_cancelled_at_last
            world.edit(name, suspend=False, approved=True, cancel=cancel)

    def is_quiet(self) -> bool:
        """Lets a round pass; whether nothing happened in it, and nothing ever will."""
        before = (self.world.writes, self.operator.actions)
        for name in self.operator.names():
            self.operator.finish(name)
        for pod in self.world.pods.values():
            if pod.is_alive and pod.terminating:
                pod.end(None, 143)
            elif pod.is_alive:
                self.world.advance(pod)
        waits = [wake for name, wake in self.operator.wake.items() if wake and name in self.operator.names()]
        if (self.world.writes, self.operator.actions) != before:
            self.world.now += timedelta(seconds=1)
            return False
        if not waits:
            return True
        self.world.now = max(self.world.now, min(waits)) + timedelta(seconds=1)
        return False
