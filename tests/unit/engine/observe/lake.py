"""A tiny format of tables in memory: what a format needs so that `engine.observe` can follow its tables.

A group is a region and a number. It is due when the time of one of its files has come. Marks stand for what
does not come with the files of a commit, such as deletion vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lithify.clock import epoch_millis
from lithify.columns.column_groups import (
    ColumnGroups,
    flagged,
    flags,
    integers,
    is_among,
    is_null,
    nullable,
    places_in,
    taken,
    with_columns,
)
from lithify.engine.observe.cache import ObservationCache
from lithify.engine.observe.cache_folder import ObservationCaches
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.observer import Observer
from lithify.engine.observe.rolled_back import History
from lithify.engine.observe.source import Changes, Judge, Listing, Misfit
from lithify.engine.observe.state import SnapshotMark, TableKey, TableState
from lithify.errors import MissingFile
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Finding, KeptSnapshots, Observation
from lithify.formats.protocol.observing import Filter, ObservationRequest

Found = TypeVar("Found")
Group = tuple[str, int]
File = tuple[str, int, str, int, int | None]
"""Region and number of its group, name, bytes, and when it is due in milliseconds since the epoch."""

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = np.iinfo(np.int64).max
FILES = pa.schema(
    {
        "region": pa.string(),
        "number": pa.int32(),
        "name": pa.string(),
        "bytes": pa.int64(),
        "due_millis": pa.int64(),
        "mark": pa.string(),
    }
)
GROUP = ("region", "number")
MARKED = pa.schema([FILES.field("region"), FILES.field("number"), FILES.field("mark")])


@dataclass(frozen=True, slots=True)
class Marks:
    """What the format remembers: the mark of each group that has one, and the number of files."""

    marks: frozenset[tuple[Group, str]] = frozenset()
    files: int = 0


class MarksFormat:
    """The JSON form; implements `DetailsFormat`."""

    def to_json(self, details: Marks) -> Mapping[str, Any]:
        return {"marks": [[*group, mark] for group, mark in sorted(details.marks)], "files": details.files}

    def parse(self, fields: Mapping[str, Any]) -> Marks:
        marks = (((region, number), mark) for region, number, mark in fields["marks"])
        return Marks(frozenset(marks), int(fields["files"]))


LAYOUT = Layout("lake 1", FILES, GROUP, (*GROUP, "name"), MarksFormat(), Marks())


def file(region: str, number: int, name: str, size: int = 10, due: int | None = None) -> File:
    return (region, number, name, size, due)


def frame(files: Iterable[File]) -> pa.Table:
    """Files without marks."""
    return table_of(((*each, None) for each in files), FILES)


def table_of(rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(list(map(pa.array, columns, schema.types)), schema=schema)


def counted(files: pa.Table) -> pa.Table:
    """The groups of some files with their numbers: the least that figures have."""
    groups = ColumnGroups(files, GROUP)
    return with_columns(taken(files.select(GROUP), groups.firsts), files=groups.sizes)


@dataclass(frozen=True, slots=True)
class Commit:
    """A snapshot: what it adds and removes, and the marks of all groups from then on."""

    added: tuple[File, ...]
    removed: tuple[File, ...]
    marks: frozenset[tuple[Group, str]]
    version: str

    @property
    def entries(self) -> pa.Table:
        """Its files, removed ones first, as an engine may write them."""
        is_added = [False] * len(self.removed) + [True] * len(self.added)
        return with_columns(frame((*self.removed, *self.added)), is_added=pa.array(is_added, pa.bool_()))


@dataclass
class Lake:
    """A table that tests change, and what was asked of it.

    Attributes:
        options: options that judging depends on.
        asked: kinds of reads, in their order.
        judged: the number of files at each judging.
        lost: numbers of snapshots that can no longer be read.
    """

    commits: list[Commit] = field(default_factory=list)
    uuid: str = "uuid-1"
    schema_id: int = 0
    options: str = "plain"
    versions: int = 0
    asked: list[str] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)

    def commit(
        self, *added: File, removed: Sequence[File] = (), marks: Mapping[Group, str] | None = None
    ) -> None:
        """Adds a snapshot; marks stay unless others are given."""
        before = self.commits[-1].marks if self.commits else frozenset()
        self.versions += 1
        after = before if marks is None else frozenset(marks.items())
        self.commits.append(Commit(added, tuple(removed), after, f"v{self.versions}"))

    def roll_back_to(self, number: int) -> None:
        """Removes later snapshots; their numbers are used again."""
        del self.commits[number:]

    def mark_of(self, number: int) -> SnapshotMark | None:
        """Identifies a snapshot, None if it does not exist."""
        if not 1 <= number <= len(self.commits):
            return None
        return SnapshotMark(SnapshotId(str(number)), self.commits[number - 1].version, number)

    def take_asked(self) -> list[str]:
        """What was asked since the last time."""
        asked, self.asked = self.asked, []
        return asked


@dataclass(frozen=True, slots=True)
class LakeJudge:
    """Judges groups; implements `Judge`."""

    lake: Lake
    now: datetime

    @property
    def terms(self) -> str:
        return self.lake.options

    def figures(self, files: pa.Table) -> pa.Table:
        self.lake.judged.append(len(files))
        groups, now = ColumnGroups(files, GROUP), epoch_millis(self.now)
        due, has_due = integers(files["due_millis"]), ~is_null(files["due_millis"])
        later = -groups.max(np.where(has_due & (due > now), -due, -NEVER))
        return with_columns(
            counted(files),
            bytes=groups.sum(integers(files["bytes"])),
            marked=groups.sum(~is_null(files["mark"])),
            is_due=pa.array(groups.any(has_due & (due <= now)), pa.bool_()),
            valid_until=nullable(later, later < NEVER),
        )


@dataclass(frozen=True, slots=True)
class PinnedLake:
    """A snapshot; implements `PinnedSnapshot`."""

    lake: Lake
    number: int

    @property
    def mark(self) -> SnapshotMark:
        found = self.lake.mark_of(self.number)
        assert found is not None
        return found

    def listing(self, earlier: TableState[Marks] | None) -> Listing[Marks]:
        self.lake.asked.append("everything")
        commits = self.lake.commits[: self.number]
        sizes = (len(commit.added) + len(commit.removed) for commit in commits)
        frames = (commit.entries for commit in commits)
        return Listing(sum(sizes), frames, self._live, self._details)

    def changes_since(self, state: TableState[Marks]) -> Changes[Marks]:
        self.lake.asked.append("changes")
        number = 0 if state.newest is None else int(state.newest.id)
        if self.lake.mark_of(number) != state.newest:
            raise Misfit
        if self.lake.lost & {*range(number + 1, self.number + 1)}:
            raise MissingFile("snapshot")
        commits = self.lake.commits[number : self.number]
        changed = {group for group, _ in state.details.marks ^ self._marks}
        touched = table_of(sorted(changed), pa.schema([FILES.field(name) for name in GROUP]))
        return Changes([commit.entries for commit in commits], self._complete, touched, self._details)

    @property
    def _marks(self) -> frozenset[tuple[Group, str]]:
        return self.lake.commits[self.number - 1].marks

    def _live(self, frames: Sequence[pa.Table]) -> pa.Table:
        entries = pa.concat_tables(frames)
        is_added = flags(entries["is_added"])
        removed = flagged(entries, ~is_added)
        added = flagged(entries, is_added)
        return self._complete(flagged(added, ~is_among(added, removed, LAYOUT.file)).select(FILES.names))

    def _complete(self, files: pa.Table) -> pa.Table:
        marked = table_of(((*group, mark) for group, mark in self._marks), MARKED)
        places = places_in(files, marked, GROUP)
        return with_columns(files, mark=marked["mark"].take(pa.array(places, mask=places < 0)))

    def _details(self, figures: pa.Table) -> Marks:
        return Marks(self._marks, int(integers(figures["files"]).sum()))


class ObservedLake:
    """An open table; implements `ObservedTable`."""

    def __init__(self, lake: Lake) -> None:
        lake.asked.append("open")
        self.key = TableKey(lake.uuid, lake.schema_id)
        self._lake = lake

    def is_unchanged(
        self, known: SnapshotId | None, mark: SnapshotMark | None, seconds: Callable[[], float | None]
    ) -> bool:
        self._lake.asked.append("unchanged?" if mark is None else "unchanged, exactly?")
        newest = self._lake.mark_of(len(self._lake.commits))
        return (newest and newest.id) == known and mark in (None, newest)

    def is_outdated(self) -> bool:
        return self.key.schema_id != self._lake.schema_id

    def on_newest(self, read: Callable[[PinnedLake], Found]) -> Found | None:
        return read(PinnedLake(self._lake, len(self._lake.commits))) if self._lake.commits else None

    def judge(self, now: datetime) -> Judge:
        return LakeJudge(self._lake, now)

    def history(self) -> History:
        numbers = range(1, len(self._lake.commits) + 1)
        return History(frozenset(SnapshotId(str(number)) for number in numbers), NOW + timedelta(seconds=1))

    def summarise(self, cache: ObservationCache[Marks], wanted: Filter, now: datetime) -> Observation:
        figures, newest = cache.figures, cache.state.newest
        due = flagged(figures, flags(figures["is_due"])).sort_by(
            [("region", "ascending"), ("number", "ascending")]
        )
        return Observation(
            table_uuid=cache.state.table.uuid,
            snapshot=newest and newest.id,
            snapshot_time=None,
            schema_id=cache.state.table.schema_id,
            refusals=(),
            write_only=True,
            partitions=len(figures),
            files=int(integers(figures["files"]).sum()),
            bytes=int(integers(figures["bytes"]).sum()),
            small_files=int(integers(figures["marked"]).sum()),
            delete_percent=None,
            findings=tuple(
                Finding("Due", row["region"], str(row["number"]), 1, 0) for row in due.to_pylist()
            ),
            full_bytes=cache.state.details.files,
            snapshots=KeptSnapshots(0, None, 0, writers_expire=True),
        )


@dataclass
class HandClock:
    """A clock that tests set."""

    moment: datetime = NOW

    def now(self) -> datetime:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@dataclass
class Follower:
    """Observes one table or several, again and again, as a controller does."""

    lakes: Mapping[str, Lake]
    folder: Path
    clock: HandClock = field(default_factory=HandClock)
    layout: Layout[Marks] = LAYOUT
    limit: int = 1 << 20
    most_open: int = 8
    seen: dict[str, Observation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start_again()

    def start_again(self) -> None:
        """As a new worker process does."""
        caches = ObservationCaches(self.folder, self.limit)
        self.observer = Observer(self._open, self.layout, caches, self.clock, self.most_open)

    def look(self, name: str = "t", **changes: Any) -> Observation | None:
        seen = self.seen.get(name)
        request = ObservationRequest(TableAddress("/lake", name), name)
        if seen is not None:
            request = replace(request, known_uuid=seen.table_uuid, known_snapshot=seen.snapshot)
        found = self.observer.observe(replace(request, **changes))
        if found is not None:
            self.seen[name] = found
        return found

    def find(self, name: str = "t", **changes: Any) -> Observation:
        """An observation that must find something."""
        found = self.look(name, **changes)
        assert found is not None
        return found

    def fresh(self, folder: Path, name: str = "t") -> Observation:
        """What a worker finds that never saw the table."""
        follower = Follower(self.lakes, folder, self.clock)
        asked, judged = [*self.lakes[name].asked], [*self.lakes[name].judged]
        found = follower.find(name, is_full=True)
        self.lakes[name].asked, self.lakes[name].judged = asked, judged
        return found

    def _open(self, address: TableAddress) -> ObservedLake:
        return ObservedLake(self.lakes[address.name])
