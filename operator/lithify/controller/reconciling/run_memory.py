"""In-memory state of runs. All of it can be rebuilt after a restart.

Kept by `compactions`; `run_facts` and `actions` read it and add to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lithify.controller.cluster.table_lock import Holder
from lithify.controller.reconciling.pacing import Backoff, Repeats
from lithify.controller.reconciling.planning import Planning
from lithify.controller.reconciling.searches import LONGEST_WAIT, Search
from lithify.controller.running.facts import Action
from lithify.errors import AccountMissing
from lithify.resources.names import ObjectKey


@dataclass(slots=True)
class RunMemory:
    """In-memory state of a run.

    Attributes:
        uid: the run's uid.
        repeats: backoff of actions without effect.
        absences: backoff between requests for a driver whose state is unknown.
        search: the search for the run's commits.
        planning: the plan of a plan-only run.
        lock: the name of its table's lock.
        former: the lock's previous holder, which is over.
        refusal: the attempt whose driver was refused, and why.
        delay: the attempt whose driver last failed to start, and why.
        missing: the error about the service account that its driver needs.
        lead: the lead Compaction of the last driver that it shared.
    """

    uid: str
    repeats: Repeats
    absences: Backoff
    search: Search
    planning: Planning = field(default_factory=Planning)
    lock: str | None = None
    former: Holder | None = None
    refusal: tuple[int, str] | None = None
    delay: tuple[int, str] | None = None
    missing: AccountMissing | None = None
    lead: ObjectKey | None = None

    @classmethod
    def of(cls, uid: str) -> RunMemory:
        """The initial state of a run."""
        search = Search(Backoff(f"{uid}:search", LONGEST_WAIT))
        return cls(uid, Repeats(Backoff(f"{uid}:actions")), Backoff(f"{uid}:driver"), search)

    def forget_answers(self, actions: tuple[Action, ...]) -> None:
        """Forgets results that only earlier steps needed; `actions` are those of the current step."""
        if Action.FIND_RUN not in actions:
            self.search.forget()  # from here on a driver may run and commit, so the result may become stale
        if Action.PLAN not in actions:
            self.planning.forget()


@dataclass(slots=True)
class RunMemories:
    """In-memory state of all runs, by the key of the Compaction."""

    _all: dict[ObjectKey, RunMemory] = field(default_factory=dict)

    def known(self, key: ObjectKey) -> RunMemory | None:
        """The state of a run; None if there is none."""
        return self._all.get(key)

    def of(self, key: ObjectKey, uid: str) -> RunMemory:
        """The state of a run; new if the known one belongs to an earlier run of the same name."""
        memory = self._all.get(key)
        if memory is None or memory.uid != uid:
            if memory is not None:
                memory.planning.forget()
            memory = self._all[key] = RunMemory.of(uid)
        return memory

    def forget(self, key: ObjectKey) -> None:
        """Forgets a run, and cancels its plan if one is under way."""
        memory = self._all.pop(key, None)
        if memory is not None:
            memory.planning.forget()
