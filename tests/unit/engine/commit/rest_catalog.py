"""A catalog in memory that commits by comparing the base, as REST catalogs do, and the hooks of a loop on it.

It answers as networks make servers answer: late, twice, with errors, or not at all. It checks at every step
what must never happen, so tests only choose what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lithify.engine.commit.loop import Validation
from lithify.engine.commit.publishing import Found, Place, Published
from lithify.errors import AttemptFenced, CatalogUnavailable, NotAllowed

Files = Mapping[str, str]
"""The file of each group."""

GONE = "its input is gone"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A snapshot; two of them are never the same."""

    files: Files
    parent: Snapshot | None = None


@dataclass(frozen=True, eq=False)
class Draft:
    """A snapshot that a loop wants to commit on its parent, and the base that it was built on."""

    snapshot: Snapshot

    @property
    def base(self) -> Snapshot:
        assert self.snapshot.parent is not None
        return self.snapshot.parent


@dataclass(eq=False)
class Catalog:
    """The server.

    Attributes:
        newest: the current snapshot.
        late: requests that are still under way.
        accepted: all snapshots that were ever committed.
        discarded: drafts whose metadata was deleted.
        removed: files that a rollback has removed, apart from the outputs of compactions.
        rollbacks: number of rollbacks.
        inputs: the file that each output of a compaction was made of.
    """

    newest: Snapshot
    late: list[Draft] = field(default_factory=list)
    accepted: list[Snapshot] = field(default_factory=list)
    discarded: list[Draft] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)
    rollbacks: int = 0
    inputs: dict[str, str] = field(default_factory=dict)

    @property
    def history(self) -> list[Snapshot]:
        """The current snapshot and those before it."""
        found = [self.newest]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found

    def commit(self, draft: Draft) -> bool:
        """Commits a draft if its base is the current snapshot."""
        if draft.base is not self.newest:
            return False
        assert draft not in self.discarded, "the metadata of a committed snapshot was deleted"
        written = {self.inputs.get(file, file) for file in draft.snapshot.files.values()}
        assert not self.removed & written, "rows that a rollback has removed came back"
        self.newest = draft.snapshot
        self.accepted.append(draft.snapshot)
        return True

    def append(self, group: str, file: str) -> None:
        """Another writer commits."""
        assert self.commit(Draft(Snapshot({**self.newest.files, group: file}, self.newest)))

    def roll_back(self) -> None:
        """Goes back to the snapshot before the current one, if there is one.

        A copy of a compaction may still arrive on its base, and changes no row there; rows of others may not.
        """
        if self.newest.parent is not None:
            self.rollbacks += 1
            gone = {*self.newest.files.values()} - {*self.newest.parent.files.values()}
            self.removed |= gone - self.inputs.keys()
            self.newest = self.newest.parent

    def deliver(self) -> None:
        """The oldest request that is under way arrives."""
        if self.late:
            self.commit(self.late.pop(0))


ANSWERS = ("yes", "lost answer", "lost request", "late", "twice", "refused", "interrupted")


@dataclass(eq=False)
class Writer:
    """The hooks of a loop: one run, which has planned on the snapshot `planned`.

    Attributes:
        run: its name.
        catalog: the server.
        planned: the files that it has read.
        pause: called before each request, so that others can take steps.
        answers: how the server answers its requests to commit, then "yes".
        reads: whether each read of the outcome succeeds, then yes.
    """

    run: str
    catalog: Catalog
    planned: Files
    pause: Callable[[], None] = lambda: None
    answers: list[str] = field(default_factory=list)
    reads: list[bool] = field(default_factory=list)
    is_fenced: bool = False
    drafts: list[Draft] = field(default_factory=list)
    sent: list[Draft] = field(default_factory=list)
    can_arrive_late: bool = True

    table = "db.t"

    @property
    def publisher(self) -> Writer:
        return self

    def newest(self) -> Snapshot:
        self.pause()
        return self.catalog.newest

    def exists(self, base: Snapshot) -> bool:
        return base in self.catalog.history

    def validate(self, changes: Files, base: Snapshot | None) -> Validation[str]:
        assert base is not None
        ready = {group: new for group, new in changes.items() if base.files[group] == self.planned[group]}
        return Validation(ready, {group: GONE for group in changes if group not in ready})

    def prepare(self, changes: Files, base: Snapshot, number: int) -> Draft:
        assert number == len(self.drafts)
        self.drafts.append(Draft(Snapshot({**base.files, **changes}, base)))
        return self.drafts[-1]

    def location(self, draft: Draft) -> str:
        del draft
        return f"{self.run}/{len(self.drafts)}"

    def publish(self, draft: Draft) -> bool:
        self.pause()
        self.sent.append(draft)
        answer = self.answers.pop(0) if self.answers else "yes"
        if answer == "refused":
            raise NotAllowed("the catalog", "no")
        if answer == "late":
            self.catalog.late.append(draft)
        is_done = answer not in ("late", "lost request") and self.catalog.commit(draft)
        if answer == "interrupted":
            raise KeyboardInterrupt
        if answer in ("lost answer", "lost request", "late"):
            raise CatalogUnavailable("the catalog", "no answer")
        return is_done and answer != "twice"

    def is_refusal(self, error: Exception) -> bool:
        return isinstance(error, NotAllowed)

    def find_published(self, draft: Draft) -> Found:
        self.pause()
        if self.reads and not self.reads.pop(0):
            raise CatalogUnavailable("the catalog", "no answer")
        if draft.snapshot in self.catalog.history:
            return Found.OURS
        return Found.NOTHING if self.catalog.newest is draft.base else Found.OTHER

    def may_send_again(self, draft: Draft) -> bool:
        if self.is_fenced:
            raise AttemptFenced("journal", "condemned")
        return self.catalog.newest is draft.base

    def confirm(self, draft: Draft) -> str | None:
        del draft
        return None

    def verify(self, draft: Draft) -> Published:
        self.pause()
        return Published(Place.OURS, draft.snapshot)

    def discard(self, draft: Draft) -> None:
        assert draft.snapshot not in self.catalog.history, "the metadata of a committed snapshot is deleted"
        self.catalog.discarded.append(draft)
