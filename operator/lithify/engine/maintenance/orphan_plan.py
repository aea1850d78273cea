"""The plan of a removal of orphans in any format, and its execution.

Made by the adapters, shown by dry runs. It has a reader of names that goes on where the plan has read, and
the files are listed on the local disk: both end with the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers
from lithify.engine.attempts.journal import Journal
from lithify.engine.attempts.recorded_prefixes import recorded_prefixes
from lithify.engine.maintenance import spared_paths
from lithify.engine.maintenance.file_places import FilePlaces
from lithify.engine.maintenance.orphan_search import (
    Candidates,
    Orphans,
    delete_orphans,
    find_orphans,
    gather,
)
from lithify.engine.maintenance.share_limit import check_share
from lithify.faults import failpoint
from lithify.formats.protocol.maintenance import (
    FOREIGN_FILES,
    MOST_SAMPLES,
    Maintained,
    MaintenanceKind,
    MaintenanceSettings,
)
from lithify.formats.protocol.model import SnapshotId
from lithify.io.storage import Storage


class NameReader(Protocol):
    """Reads the names of all files that something needs, and later those that came since."""

    @property
    def has_read(self) -> bool:
        """Whether anything was read."""
        ...

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot when it was first read."""
        ...

    def unread(self) -> Iterator[pa.Array]:
        """The names that were not read yet.

        Raises:
            CorruptTable: metadata that should be readable is not, so names are unknown.
        """
        ...


@dataclass(frozen=True, slots=True)
class ForeignFiles:
    """Files outside of the table's folders that nothing of the table names; they may be another table's.

    Attributes:
        count: how many there are.
        samples: paths of some of them.
    """

    count: int
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrphanPlan:
    """What one removal deletes.

    Attributes:
        orphans: the files.
        root: the table's folder.
        names: what was read of the table's metadata.
        kinds: the figure of each kind of files, by the kind's number.
        foreign: what was found outside of the folder and stays; None if the table has no files there.
    """

    orphans: Orphans
    root: str
    names: NameReader
    kinds: tuple[str, ...]
    foreign: ForeignFiles | None = None

    def beside(self, others: Sequence[OrphanPlan]) -> OrphanPlan:
        """The plan with what searches of folders outside of the table's have found, which is not deleted."""
        samples = [path for other in others for path in other.samples][:MOST_SAMPLES]
        count = sum(other.orphans.files.count for other in others)
        return replace(self, foreign=ForeignFiles(count, tuple(samples)))

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.REMOVE_ORPHANS

    @property
    def is_empty(self) -> bool:
        """Whether there is no orphan."""
        return not self.orphans.files.count

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot."""
        return self.names.oldest

    @property
    def figures(self) -> Mapping[str, int]:
        """How many files of each kind are orphans, and their bytes."""
        return self.figures_of(self.orphans.counts, self.orphans.files.size)

    def figures_of(self, counts: Numbers, size: int) -> Mapping[str, int]:
        """Figures of some of the orphans, and how many files stay outside."""
        numbers = {name: int(count) for name, count in zip(self.kinds, counts, strict=True)}
        foreign = {} if self.foreign is None else {FOREIGN_FILES: self.foreign.count}
        return {**numbers, "bytes": size, **foreign}

    @property
    def samples(self) -> Sequence[str]:
        """Paths of some orphans, and of files that stay outside, which are marked."""
        own = [f"{self.root}/{path}" for path in self.orphans.samples]
        foreign = () if self.foreign is None else self.foreign.samples
        return [*own, *(f"{path} (left alone)" for path in foreign)][:MOST_SAMPLES]


def search_orphans(
    listings: Iterable[pa.Table],
    places: FilePlaces,
    journals: Callable[[], Iterable[Journal[Any]]],
    read: Callable[[], NameReader],
    root: str,
    kinds: tuple[str, ...],
    before_millis: int,
) -> OrphanPlan:
    """Lists the files of a table and compares them with names, in the order that is safe.

    Args:
        listings: batches of `io.listings.LISTED`, with paths relative to `root`.
        places: which of them may be orphans.
        journals: the journals of attempts; read after the listing, and before snapshots that attempts commit.
        read: makes a reader of names that has read nothing.
        root: the folder to which paths are relative.
        kinds: the figure of each kind of files.
        before_millis: when a file must have been written for the last time.

    Raises:
        CorruptTable: names cannot be read, so it is unknown what is needed.
        StorageError: the table or the local disk refuses.
    """
    candidates = gather(listings, places.candidates, before_millis)
    prefixes = recorded_prefixes(journals())
    spared = partial(spared_paths.is_spared, folders=places.others, prefixes=prefixes)
    return plan_orphans(candidates, read, spared, root, kinds)


def plan_orphans(
    candidates: Candidates,
    read: Callable[[], NameReader],
    is_spared: Callable[[pa.Array], Flags],
    root: str,
    kinds: tuple[str, ...],
) -> OrphanPlan:
    """Compares candidates with names.

    Args:
        candidates: the files; listed before any name is read.
        read: makes a reader that has read nothing.
        is_spared: which paths stay although nothing names them.
        root: the folder to which paths are relative.
        kinds: the figure of each kind of files.

    Raises:
        CorruptTable: names cannot be read, so it is unknown what is needed.
        StorageError: the table or the local disk refuses.
    """
    first = read()

    def names() -> Iterable[pa.Array]:
        # The first reader is asked for new names later: what is committed while other portions of files are
        # compared counts for the first one, too.
        return (read() if first.has_read else first).unread()

    return OrphanPlan(find_orphans(candidates, names, is_spared, len(kinds)), root, first, kinds)


def remove_planned(
    plan: OrphanPlan, table: str, storage: Storage, settings: MaintenanceSettings
) -> Maintained:
    """Deletes what a plan says, but what commits since have named.

    Raises:
        TooManyOrphans: there are more than the settings allow; nothing was deleted.
        CorruptTable: metadata cannot be read any more; some files may be deleted.
        StorageError: the file system refuses; the next run finds what is left.
    """
    orphans = plan.orphans
    check_share(table, orphans.amount, orphans.listed, settings.most_share)
    failpoint("orphans-planned")
    counts, size = delete_orphans(orphans, plan.root, storage.delete_all, plan.names.unread)
    return Maintained(plan.kind, plan.figures_of(counts, size), plan.oldest, plan.samples)
