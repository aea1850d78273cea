"""What this process has found out about runs. All of it can be found out again.

Kept by `compactions`; `run_facts` and `acts` read it and add to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lithify.controller.cluster.table_lock import Holder
from lithify.controller.reconciling.pacing import Backoff, Repeats
from lithify.controller.reconciling.planning import Planning
from lithify.controller.reconciling.searches import LONGEST_WAIT, Search
from lithify.controller.running.facts import Act
from lithify.errors import AccountMissing
from lithify.resources.names import ObjectKey


@dataclass(slots=True)
class RunMemory:
    """What this process has found out about a run.

    Attributes:
        uid: which run it is, of its name.
        repeats: how fast acts without effect are repeated.
        absences: how fast a driver is looked for that the API server does not tell of.
        search: the search for what it has committed.
        planning: the plan, if it only plans.
        lock: the name of its table's lock.
        former: who had the lock, and is over.
        refusal: why its driver was refused, and in which attempt.
        delay: why its driver could not be started the last time, and in which attempt.
        missing: the service account that its driver could not be started without.
        lead: the Compaction that its driver was named after when it last shared one.
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
        """Nothing is known of a run yet."""
        search = Search(Backoff(f"{uid}:search", LONGEST_WAIT))
        return cls(uid, Repeats(Backoff(f"{uid}:acts")), Backoff(f"{uid}:driver"), search)

    def forget_answers(self, acts: tuple[Act, ...]) -> None:
        """Forgets what was found out for steps that are over; `acts` are those of the step now."""
        if Act.FIND_RUN not in acts:
            self.search.forget()  # a driver may be alive from here on, so an answer grows old
        if Act.PLAN not in acts:
            self.planning.forget()


@dataclass(slots=True)
class RunMemories:
    """What is remembered of each run, by the key of its Compaction."""

    _all: dict[ObjectKey, RunMemory] = field(default_factory=dict)

    def known(self, key: ObjectKey) -> RunMemory | None:
        """What is remembered of a run, None if nothing is."""
        return self._all.get(key)

    def of(self, key: ObjectKey, uid: str) -> RunMemory:
        """What is remembered of a run, and of no other one that had its name before."""
        memory = self._all.get(key)
        if memory is None or memory.uid != uid:
            if memory is not None:
                memory.planning.forget()
            memory = self._all[key] = RunMemory.of(uid)
        return memory

    def forget(self, key: ObjectKey) -> None:
        """Forgets a run, and gives up what is under way for it."""
        memory = self._all.pop(key, None)
        if memory is not None:
            memory.planning.forget()
