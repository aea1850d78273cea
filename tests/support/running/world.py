"""A small world for the state machine: an API server, drivers, a lock, and one table with its commits.

Everything that may go wrong outside of the machine can be made to go wrong in here. It checks by itself that
what is written into status is true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from lithify.contract.outcome import Outcome, Stage
from lithify.controller.driver import DriverPhase, DriverState, Trouble
from lithify.controller.running.facts import UNKNOWN, Action, Lock, Problem, RunFacts, Unknown
from lithify.controller.running.machine import step
from lithify.controller.running.reconcile_input import is_plan_only, is_planned_here
from lithify.controller.running.searching import UNANSWERED
from lithify.errors import Failure
from lithify.formats.protocol.observation import RunFound
from lithify.resources.compaction import Compaction, CompactionStatus, Reason
from lithify.resources.modelling import plain, read
from lithify.resources.policy import CompactionPolicySpec
from support.running.runs import FOUND, NOON, PLAN, POLICY, RESULT, progress_of, run_of

STAGES = ("starting", "planning", "running", "committing")


class Refused(Exception):
    """A request failed, and nobody knows whether it took effect."""


@dataclass
class Driver:
    """A driver process, and what is to be seen of it."""

    uid: str
    owner: str
    attempt: int
    plan_only: bool
    table: str
    stage: str = "starting"
    reachable: bool = True
    terminating: bool = False
    released: bool = False
    trouble: Trouble | None = None
    outcome: Outcome | None = None
    exit_code: int | None = None

    @property
    def is_alive(self) -> bool:
        return self.stage != "ended"

    def seen(self, name: str) -> DriverState:
        phase = {"starting": DriverPhase.STARTING, "ended": DriverPhase.ENDED}.get(
            self.stage, DriverPhase.RUNNING
        )
        if not self.reachable:
            phase = DriverPhase.RUNNING
        in_stage = self.stage in STAGES[1:]
        return DriverState(
            name=name,
            uid=self.uid,
            owner_uid=self.owner,
            attempt=self.attempt,
            phase=phase,
            trouble=self.trouble if self.reachable else Trouble.UNREACHABLE,
            terminating=self.terminating,
            released=self.released,
            progress=progress_of(Stage(self.stage.capitalize())) if in_stage else None,
            outcome=self.outcome if self.reachable else None,
            exit_code=self.exit_code if phase is DriverPhase.ENDED else None,
        )

    def end(self, outcome: Outcome | None = None, exit_code: int = 0, trouble: Trouble | None = None) -> None:
        self.stage, self.outcome, self.exit_code, self.trouble = "ended", outcome, exit_code, trouble


@dataclass
class World:
    """Everything that outlives the operator."""

    policy: CompactionPolicySpec = POLICY
    now: datetime = NOON
    runs: dict[str, Compaction] = field(default_factory=dict)
    pods: dict[str, Driver] = field(default_factory=dict)
    hidden: list[Driver] = field(default_factory=list)
    lock: tuple[str, str] | None = None
    table: str = "table-1"
    commits: set[str] = field(default_factory=set)
    ever_committed: set[str] = field(default_factory=set)
    catalog_answers: bool = True
    launcher_answers: bool = True
    lock_answers: bool = True
    admitted: bool = True
    problem: Problem | None = None
    fault: str | None = None
    writes: int = 0
    requests: int = 0
    version: int = 0
    made: int = 0

    def create(self, name: str, **spec: object) -> None:
        self.made += 1
        self._put(replace(run_of(name, f"uid-{self.made}", **spec)))

    def edit(self, name: str, **spec: object) -> None:
        run = self.runs[name]
        metadata = replace(run.metadata, generation=run.metadata.generation + 1)
        self._put(replace(run, metadata=metadata, spec=replace(run.spec, **spec)))

    def _put(self, run: Compaction) -> None:
        self.version += 1
        version = str(self.version)
        metadata = replace(run.metadata, resource_version=version, creation_timestamp=NOON)
        self.runs[run.metadata.name] = replace(run, metadata=metadata)

    def write_status(self, known: Compaction, status: CompactionStatus) -> bool:
        """Writes status; whether the object was still as it was known."""
        fault, self.fault = self.fault, None
        run = self.runs.get(known.metadata.name)
        if fault == "before":
            raise Refused
        if run is None or run.metadata.resource_version != known.metadata.resource_version:
            return False
        kept = read(CompactionStatus, plain(status))
        assert kept == status, "status comes back from the API server as it went there"
        self._check_truth(run, kept)
        self.writes += 1
        self._put(replace(run, status=kept))
        if fault == "after":
            raise Refused
        return True

    def _check_truth(self, old: Compaction, status: CompactionStatus) -> None:
        new = replace(old, status=status)
        assert not old.is_over, f"a final status was changed: {old.status} -> {status}"
        pod = self.pods.get(old.metadata.name)
        if new.reason is Reason.SEARCHING_COMMIT:
            is_driven = pod is not None and pod.owner == old.metadata.uid and pod.is_alive
            assert not is_driven, "gives up its slot, and its driver is alive"
        if not new.is_over:
            return
        uid, message = old.metadata.uid, status.conditions[0].message
        if new.reason is Reason.COMPACTED:
            assert uid in self.ever_committed, "says Compacted, and there is no commit"
            return
        may_live = new.reason is Reason.DRIVER_LOST and pod is not None and pod.owner == uid
        if not may_live and UNANSWERED not in message:
            assert uid not in self.commits, f"says {new.reason}, but the run has committed: {message}"

    def lock_of(self, run: Compaction, busy: set[str]) -> Lock:
        if not self.lock_answers:
            return Lock.UNKNOWN
        if self.lock is None:
            return Lock.FREE
        name, uid = self.lock
        if uid == run.metadata.uid:
            return Lock.OURS
        other, pod = self.runs.get(name), self.pods.get(name)
        is_active = other is not None and other.metadata.uid == uid and not other.is_over
        has_pod = pod is not None and pod.owner == uid and (pod.is_alive or not pod.reachable)
        return Lock.OTHERS if is_active or has_pod or name in busy else Lock.FREE

    def look(self, name: str) -> DriverState | Unknown | None:
        if not self.launcher_answers:
            return UNKNOWN
        pod = self.pods.get(name)
        return None if pod is None else pod.seen(f"{name}-driver")

    def start(self, run: Compaction) -> None:
        name = run.metadata.name
        if name not in self.pods:
            self.made += 1
            self.pods[name] = Driver(
                f"pod-{self.made}",
                run.metadata.uid,
                run.status.attempts,
                is_plan_only(run),
                run.status.table_uuid or self.table,
            )
        self.check_drivers()

    def release(self, name: str, uid: str, *, remove: bool) -> None:
        pod = self.pods.get(name)
        if pod is None or pod.uid != uid:
            return
        assert not pod.is_alive, "a driver was let go that is alive"
        pod.released = True
        if remove:
            del self.pods[name]

    def check_drivers(self) -> None:
        alive = [pod for pod in (*self.pods.values(), *self.hidden) if pod.is_alive]
        assert len(alive) <= 1, f"two drivers are alive: {alive}"

    def advance(self, pod: Driver, reason: Reason | None = None) -> None:
        """Takes a driver one stage further; a commit is one."""
        if pod.stage == "starting":
            pod.stage = "planning"
        elif pod.stage == "planning" and (reason or pod.plan_only):
            self.say(pod, reason or Reason.PLANNED)
        elif pod.stage == "planning":
            pod.stage = "running"
        elif pod.stage == "running":
            pod.stage = "committing"
        elif pod.stage == "committing":
            self.commit(pod)
            self.say(pod, Reason.COMPACTED if pod.owner in self.commits else Reason.INVALID_SPEC)

    def commit(self, pod: Driver) -> None:
        if pod.table == self.table and not pod.plan_only:
            self.commits.add(pod.owner)
            self.ever_committed.add(pod.owner)

    def say(self, pod: Driver, reason: Reason, failure: Failure | None = None) -> None:
        is_done = reason is Reason.COMPACTED
        pod.end(
            Outcome(
                run=pod.owner,
                attempt=pod.attempt,
                reason=reason,
                failure=failure,
                plan=PLAN,
                result=RESULT if is_done else None,
                committed_snapshot_id="8" if is_done else None,
            )
        )


@dataclass
class Operator:
    """The shell around the machine as it should be, one request at a time; what it remembers may be lost."""

    world: World
    found: dict[str, RunFound | Unknown | None] = field(default_factory=dict)
    plans: dict[str, Outcome] = field(default_factory=dict)
    seen: dict[str, Compaction] = field(default_factory=dict)
    busy: dict[str, Iterator[None]] = field(default_factory=dict)
    wake: dict[str, datetime | None] = field(default_factory=dict)
    actions: int = 0

    def names(self) -> list[str]:
        return sorted({*self.world.runs, *self.world.pods, *self.seen})

    def go_on(self, name: str, requests: int) -> None:
        """Does some requests for a run, beginning anew if there is nothing left to do."""
        work = self.busy.get(name) or self._reconcile(name)
        self.busy[name] = work
        try:
            for _ in range(requests):
                next(work)
        except (StopIteration, Refused):
            del self.busy[name]

    def finish(self, name: str) -> None:
        self.go_on(name, 1000)

    def _known(self, name: str) -> tuple[Compaction | None, bool]:
        run = self.world.runs.get(name)
        if run is not None:
            self.seen[name] = run
            return run, False
        if name not in self.seen and name in self.world.pods:
            self.seen[name] = run_of(name, self.world.pods[name].owner)
        return self.seen.get(name), True

    def _reconcile(self, name: str) -> Iterator[None]:
        world = self.world
        run, deleted = self._known(name)
        if run is None:
            return
        yield
        driver = world.look(name)
        yield
        facts = self._facts(run, driver, deleted=deleted)
        yield
        answer = step(run, facts, world.now)
        settles(run, facts, world.now)
        self.wake[name] = answer.wake
        if Action.FIND_RUN not in answer.actions:
            self.found.pop(run.metadata.uid, None)
        if Action.PLAN not in answer.actions:
            self.plans.pop(run.metadata.uid, None)
        if answer.status != run.status and not deleted:
            if not world.write_status(run, answer.status):
                return
            yield
        written = replace(run, status=answer.status)
        for act in answer.actions:
            self.actions += 1
            self._act(act, written, facts)
            yield
        if deleted and not answer.actions and answer.wake is None:
            self.seen.pop(name, None)

    def _facts(self, run: Compaction, driver: DriverState | Unknown | None, *, deleted: bool) -> RunFacts:
        world = self.world
        lock = world.lock_of(run, {name for name in self.busy if name != run.metadata.name})
        return RunFacts(
            policy=world.policy,
            identifier="sales.orders",
            table_uuid=world.table,
            driver=driver,
            lock=lock,
            lock_holder=world.lock[0] if world.lock else "",
            admitted=world.admitted,
            problem=world.problem if run.reason.is_waiting or is_planned_here(run) else None,
            found=self.found.get(run.metadata.uid, UNKNOWN),
            plan=self.plans.get(run.metadata.uid),
            deleted=deleted,
        )

    def _act(self, act: Action, run: Compaction, facts: RunFacts) -> None:
        world = self.world
        fault, world.fault = world.fault, None
        if fault == "before":
            raise Refused
        self._do(act, run, facts)
        if fault == "after":
            raise Refused

    def _do(self, act: Action, run: Compaction, facts: RunFacts) -> None:
        world, name, uid = self.world, run.metadata.name, run.metadata.uid
        driver = facts.driver if isinstance(facts.driver, DriverState) else None
        pod = world.pods.get(name)
        is_same = driver is not None and pod is not None and pod.uid == driver.uid
        if act is Action.TAKE_LOCK and world.lock_of(run, set()) is Lock.FREE:
            world.lock = (name, uid)
        elif act is Action.DROP_LOCK and world.lock == (name, uid):
            world.lock = None
        elif act is Action.START_DRIVER:
            assert facts.driver is None
            assert facts.lock is Lock.OURS
            assert run.reason is Reason.SUBMITTING
            assert not is_plan_only(run), "a driver is started where the operator plans itself"
            world.start(run)
        elif act is Action.STOP_DRIVER and is_same and pod is not None:
            pod.terminating = True
        elif act in {Action.KEEP_DRIVER, Action.REMOVE_DRIVER} and driver is not None:
            world.release(name, driver.uid, remove=act is Action.REMOVE_DRIVER)
        elif act is Action.PLAN:
            assert is_planned_here(run)
            assert run.reason is Reason.PLANNING
            answers = self.world.catalog_answers
            reason, failure = Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE
            self.plans[uid] = Outcome(
                run=uid,
                attempt=run.status.attempts,
                reason=Reason.PLANNED if answers else reason,
                failure=None if answers else failure,
                plan=PLAN if answers else None,
            )
        elif act is Action.FIND_RUN:
            found = FOUND if uid in world.commits else None
            self.found[uid] = found if world.catalog_answers else UNKNOWN


def settles(run: Compaction, facts: RunFacts, now: datetime) -> None:
    """Checks that asking again and again with the same facts comes to rest: nothing is written for ever.

    No search goes on after its deadline.
    """
    answer = step(run, facts, now)
    if Action.FIND_RUN in answer.actions and answer.status.search is not None:
        assert now < answer.status.search.deadline, f"it searches for ever: {answer.status}"
    for _ in range(6):
        following = replace(run, status=step(run, facts, now).status)
        if following == run:
            return
        run = following
    raise AssertionError(f"status never comes to rest: {run.status}, {facts}")
