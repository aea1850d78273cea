"""The state machine in a world where anything may happen in any order, and in the end all is well."""

from __future__ import annotations

import os
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lithify.controller.launching.driver import Trouble
from lithify.controller.running.facts import Problem
from lithify.errors import Failure
from lithify.resources.compaction import Reason
from lithify.resources.policy import Approval
from unit.controller.running.world import Driver, Operator, World

NAMES = ("a", "b")
KINDS = st.sampled_from(
    [{}, {}, {}, {"approval": Approval.MANUAL}, {"dry_run": True}, {"active_deadline_seconds": 700}]
)
FAILURES = [
    (Reason.COMMIT_CONFLICT, Failure.CONFLICT),
    (Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE),
    (Reason.UNSUPPORTED, Failure.USER),
    (Reason.OUT_OF_MEMORY, Failure.OUT_OF_MEMORY),
    (Reason.DRIVER_FAILED, None),
    (Reason.CANCELLED, None),
]
DEATHS = [(1, None), (137, None), (143, Trouble.DISRUPTED), (137, Trouble.OUT_OF_MEMORY), (0, None)]


class Runs(RuleBasedStateMachine):
    """Two runs of one table, an operator that may be restarted, drivers, nodes, people."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.operator = Operator(self.world)

    @initialize(first=KINDS, second=KINDS)
    def begin(self, first: dict[str, object], second: dict[str, object]) -> None:
        self.world.create("a", **first)
        self.world.create("b", **second)

    # The operator

    @rule(name=st.sampled_from(NAMES), requests=st.integers(1, 8))
    def work(self, name: str, requests: int) -> None:
        self.operator.go_on(name, requests)

    @rule(name=st.sampled_from(NAMES), times=st.integers(1, 4))
    def work_on(self, name: str, times: int) -> None:
        for _ in range(times):
            self.operator.finish(name)

    @rule()
    def restart(self) -> None:
        self.operator = Operator(self.world)

    @rule(fault=st.sampled_from(["before", "after"]))
    def fail_next_request(self, fault: str) -> None:
        self.world.fault = fault

    @rule(seconds=st.sampled_from([1, 12, 55, 120, 400, 1100]))
    def pass_time(self, seconds: int) -> None:
        self.world.now += timedelta(seconds=seconds)

    @rule(hours=st.sampled_from([-30, -1, 2]))
    def set_clock(self, hours: int) -> None:
        self.world.now += timedelta(hours=hours)

    # Drivers and nodes

    def pod(self, name: str) -> Driver | None:
        pod = self.world.pods.get(name)
        return pod if pod is not None and pod.is_alive else None

    @precondition(lambda self: any(pod.is_alive for pod in self.world.pods.values()))
    @rule(name=st.sampled_from(NAMES), times=st.integers(1, 5))
    def driver_works(self, name: str, times: int) -> None:
        for _ in range(times):
            pod = self.pod(name)
            if pod is not None:
                self.world.advance(pod)

    @precondition(lambda self: any(pod.is_alive for pod in self.world.pods.values()))
    @rule(name=st.sampled_from(NAMES), commits=st.booleans(), how=st.sampled_from(FAILURES))
    def driver_fails(self, name: str, commits: bool, how: tuple[Reason, Failure | None]) -> None:
        pod = self.pod(name)
        if pod is not None:
            if commits and pod.stage == "committing":
                self.world.commit(pod)
            self.world.say(pod, *how)

    @precondition(lambda self: any(pod.is_alive for pod in self.world.pods.values()))
    @rule(name=st.sampled_from(NAMES), commits=st.booleans(), how=st.sampled_from(DEATHS))
    def driver_dies(self, name: str, commits: bool, how: tuple[int, Trouble | None]) -> None:
        pod = self.pod(name)
        if pod is not None:
            if commits and pod.stage == "committing":
                self.world.commit(pod)
            pod.end(None, *how)

    @precondition(lambda self: any(pod.stage == "planning" for pod in self.world.pods.values()))
    @rule(name=st.sampled_from(NAMES))
    def nothing_to_do(self, name: str) -> None:
        pod = self.pod(name)
        if pod is not None and pod.stage == "planning" and pod.owner not in self.world.commits:
            self.world.advance(pod, Reason.NOTHING_TO_DO)

    @precondition(lambda self: any(pod.terminating and pod.is_alive for pod in self.world.pods.values()))
    @rule(says=st.sampled_from([None, Reason.CANCELLED, Reason.DRIVER_FAILED]))
    def told_drivers_end(self, says: Reason | None) -> None:
        for pod in self.world.pods.values():
            if pod.terminating and pod.is_alive and says is not None:
                self.world.say(pod, says)
            elif pod.terminating and pod.is_alive:
                pod.end(None, 143)

    @precondition(lambda self: self.world.pods)
    @rule(name=st.sampled_from(NAMES), dies=st.booleans())
    def node_is_lost(self, name: str, dies: bool) -> None:
        pod = self.world.pods.get(name)
        if pod is not None and pod.is_alive:
            pod.reachable = False
            if dies:
                pod.end(None, 137)

    @precondition(lambda self: any(not pod.reachable for pod in self.world.pods.values()))
    @rule(name=st.sampled_from(NAMES), gone=st.booleans())
    def node_is_back(self, name: str, gone: bool) -> None:
        pod = self.world.pods.get(name)
        if pod is not None:
            pod.reachable = True
            if gone and not pod.is_alive:
                del self.world.pods[name]

    @precondition(lambda self: any(not pod.is_alive for pod in self.world.pods.values()))
    @rule(name=st.sampled_from(NAMES))
    def pod_vanishes(self, name: str) -> None:
        pod = self.world.pods.get(name)
        if pod is not None and not pod.is_alive:
            del self.world.pods[name]

    @rule(catalog=st.booleans(), launcher=st.booleans(), lock=st.booleans(), room=st.booleans())
    def weather(self, catalog: bool, launcher: bool, lock: bool, room: bool) -> None:
        self.world.catalog_answers, self.world.launcher_answers = catalog, launcher
        self.world.lock_answers, self.world.admitted = lock, room

    @rule(passes=st.booleans())
    def something_is_missing(self, passes: bool) -> None:
        self.world.problem = Problem(Reason.ACCESS_DENIED, "the Secret has no key", passes)

    @rule()
    def nothing_is_missing(self) -> None:
        self.world.problem = None

    @rule()
    def table_is_made_anew(self) -> None:
        self.world.table = f"{self.world.table}*"
        self.world.commits.clear()

    # People

    @precondition(lambda self: self.world.runs)
    @rule(name=st.sampled_from(NAMES), suspend=st.booleans())
    def suspend(self, name: str, suspend: bool) -> None:
        if name in self.world.runs:
            self.world.edit(name, suspend=suspend)

    @precondition(lambda self: self.world.runs)
    @rule(name=st.sampled_from(NAMES), change=st.sampled_from(["cancel", "approved"]))
    def decide(self, name: str, change: str) -> None:
        if name in self.world.runs:
            self.world.edit(name, **{change: True})

    @precondition(lambda self: self.world.runs)
    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        self.world.runs.pop(name, None)

    @precondition(lambda self: len(self.world.runs) < len(NAMES))
    @rule(name=st.sampled_from(NAMES), kind=KINDS)
    def create_anew(self, name: str, kind: dict[str, object]) -> None:
        if name not in self.world.runs:
            self.world.create(name, **kind)

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
        world.catalog_answers = world.launcher_answers = world.lock_answers = world.admitted = True
        world.problem = world.fault = None
        for name, pod in list(world.pods.items()):
            if not pod.reachable and not pod.is_alive:
                del world.pods[name]
            pod.reachable = True
        for name in list(world.runs):
            world.edit(name, suspend=False, approved=True)

    def is_quiet(self) -> bool:
        """Lets a round pass; whether nothing happened in it, and nothing ever will."""
        before = (self.world.writes, self.operator.acts)
        for name in self.operator.keys():
            self.operator.finish(name)
        for pod in self.world.pods.values():
            if pod.is_alive and pod.terminating:
                pod.end(None, 143)
            elif pod.is_alive:
                self.world.advance(pod)
        waits = [wake for name, wake in self.operator.wake.items() if wake and name in self.operator.keys()]
        if (self.world.writes, self.operator.acts) != before:
            self.world.now += timedelta(seconds=1)
            return False
        if not waits:
            return True
        self.world.now = max(self.world.now, min(waits)) + timedelta(seconds=1)
        return False


TestRuns = Runs.TestCase
TestRuns.settings = settings(
    max_examples=int(os.environ.get("LITHIFY_MODEL_EXAMPLES", "40")),
    stateful_step_count=int(os.environ.get("LITHIFY_MODEL_STEPS", "50")),
    deadline=None,
    derandomize="LITHIFY_MODEL_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
