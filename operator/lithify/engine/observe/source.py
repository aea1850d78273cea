"""What a format implements so that its tables can be observed: Protocols and values of `observer`.

An adapter implements `ObservedTable`, `PinnedSnapshot` and `Judge`. Everything else is the same for all
formats: caches on disk, updates by what new snapshots changed, full reads in bounded memory, and judging
again when figures expire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from lithify.engine.observe.cache import ObservationCache
from lithify.engine.observe.rolled_back import History
from lithify.engine.observe.state import Details, SnapshotMark, TableKey, TableState
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter

Found = TypeVar("Found")


class Misfit(Exception):
    """New snapshots do not continue a cached state: everything is read then."""


class Judge(Protocol):
    """Tells what is due in groups of files. Pure."""

    @property
    def terms(self) -> str:
        """Everything except files and time that figures depend on."""
        ...

    @property
    def now(self) -> datetime:
        """The time of the observation, aware, in the table's time zone."""
        ...

    def figures(self, files: pa.Table) -> pa.Table:
        """The figures of the groups of some files, one row per group.

        Args:
            files: all live files of these groups, with the columns of the format's layout.

        Returns:
            A frame with the same columns for any files: those that identify a group; `files`, their number;
            `valid_until`, when the group has to be judged again (milliseconds since the epoch, null for
            never); and the format's own.
        """
        ...


@dataclass(frozen=True, slots=True)
class Listing(Generic[Details]):
    """All files of a snapshot, to be read.

    Attributes:
        entries: their approximate number, which decides how many parts are made of them.
        frames: reads them, each frame at most once. They have the columns that identify a group.
        live: the live files among all frames of some groups, in the order in which they were read.
        details: what the format remembers, given the figures of all groups; not made again when these expire.
    """

    entries: int
    frames: Iterable[pa.Table]
    live: Callable[[Sequence[pa.Table]], pa.Table]
    details: Callable[[pa.Table], Details]


@dataclass(frozen=True, slots=True)
class Changes(Generic[Details]):
    """What the snapshots since a cached state have changed.

    Attributes:
        commits: the files that each has added and removed, oldest first: the columns of the layout, those of
            `complete` possibly null, and `is_added`. A file that one commit both adds and removes is gone.
        complete: completes the columns of some groups' files that do not come with commits.
        touched: further groups that `complete` may change; groups without files may be among them.
        details: what the format remembers, given the figures of all groups; not made again when these expire.
    """

    commits: Sequence[pa.Table]
    complete: Callable[[pa.Table], pa.Table]
    touched: pa.Table
    details: Callable[[pa.Table], Details]


class PinnedSnapshot(Protocol[Details]):
    """The newest snapshot of a table, or what it was a moment ago."""

    @property
    def mark(self) -> SnapshotMark:
        """Identifies it."""
        ...

    def listing(self, earlier: TableState[Details] | None) -> Listing[Details]:
        """All its files.

        Args:
            earlier: a state that was cached, possibly of another table; only to save requests.

        Raises:
            MissingFile: it has expired.
            LithifyError: it cannot be read.
        """
        ...

    def changes_since(self, state: TableState[Details]) -> Changes[Details]:
        """What the snapshots after a cached one have changed; no more is read.

        Raises:
            Misfit: they do not continue it, or reading everything is cheaper.
            MissingFile: one of them has expired.
            LithifyError: one of them cannot be read.
        """
        ...


class ObservedTable(Protocol[Details]):
    """An open table, as it is observed; it may stay open between observations."""

    @property
    def key(self) -> TableKey:
        """Identifies the table, as it was when it was opened."""
        ...

    def is_unchanged(
        self, known: SnapshotId | None, mark: SnapshotMark | None, seconds: Callable[[], float | None]
    ) -> bool:
        """Whether the newest snapshot is still a known one, as cheaply as can be said.

        Args:
            known: id of the snapshot, None if there was none.
            mark: the snapshot, if the last observation by this process found it.
            seconds: returns the seconds since the last observation by any process, None if unknown; snapshots
                may have come and expired meanwhile.
        """
        ...

    def is_outdated(self) -> bool:
        """Whether it has to be opened again to see all changes, such as a new schema."""
        ...

    def on_newest(self, read: Callable[[PinnedSnapshot[Details]], Found]) -> Found | None:
        """Reads the newest snapshot, and another one if it expires meanwhile; None if the table has none."""
        ...

    def judge(self, now: datetime) -> Judge:
        """The judge of its groups at a time, aware and in the table's time zone."""
        ...

    def history(self) -> History | None:
        """The table's history as last read; None where nobody takes snapshots of compactions back.

        Sends no requests.
        """
        ...

    def summarise(self, cache: ObservationCache[Details], wanted: Filter, now: datetime) -> Observation:
        """Sums up a cache of it that was just judged; sends no requests.

        Raises:
            InvalidOption: the filter names a column that is not a partition column.
            Damaged: the cache cannot be read.
        """
        ...
