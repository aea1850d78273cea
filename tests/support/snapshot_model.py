"""A table of random snapshots, tags and branches, and a model that knows which of them needs which file.

Metadata is written as by commits; data, changelog and index files have only names. What must be in the
folder follows from the model alone, by sets of names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from pypaimon.common.json_util import JSON
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import Snapshot

from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.manifests.entries import ADD, DELETE, ManifestEntry
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from support.manifests import file_meta, manifest_files
from support.small_tables import SmallTable

_DAYS = ("a", "b")
_TYPES = [parse_type("STRING NOT NULL")]
_MINUTE = 60_000
NOW = 2_000_000_000_000


@dataclass(frozen=True)
class State:
    """What one snapshot names.

    Attributes:
        snapshot: as it is in its file.
        live: its data files, by name.
        metas: its manifests, in the order of its lists.
        files: paths of its metadata files and data files.
        changelog: paths of its changelog's files.
    """

    snapshot: Snapshot
    live: Mapping[str, ManifestEntry]
    metas: tuple[ManifestFileMeta, ...]
    files: frozenset[str]
    changelog: frozenset[str]


@dataclass
class SnapshotModel:
    """A table and what must be in its folder."""

    random: Random
    small: SmallTable
    lines: dict[str, dict[int, State]] = field(default_factory=lambda: {"": {}})
    """The snapshots of each branch; that of the table is ''."""
    tags: dict[str, State] = field(default_factory=dict)
    """The state of each tag, by its path."""
    outlived: dict[int, State] = field(default_factory=dict)
    """The snapshots of the table that are gone, and whose changelogs are not."""
    is_outlived: bool = False
    count: int = 0

    def __post_init__(self) -> None:
        self.table = open_table(self.small.address)
        self._writer = manifest_files(self.table)

    @property
    def main(self) -> dict[int, State]:
        return self.lines[""]

    def commit(self, line: str = "") -> None:
        """Adds, removes and moves files."""
        states = self.lines[line]
        base = states[max(states)] if states else None
        live = dict(base.live) if base else {}
        entries = [*self._removed(live), *self._added(live)]
        number = max(states, default=0) + 1
        states[number] = self._state(base, number, live, entries)
        self._write(f"{self._home(line)}snapshot/snapshot-{number}", states[number].snapshot)

    def _removed(self, live: dict[str, ManifestEntry]) -> Iterator[ManifestEntry]:
        names = self.random.sample(sorted(live), self.random.randint(0, len(live)))
        for name in names if self.random.random() < 0.5 else []:
            gone = live.pop(name)
            yield replace(gone, kind=DELETE)
            if self.random.random() < 0.3:
                live[name] = replace(gone, file=gone.file.upgraded(gone.file.level + 1))
                yield live[name]

    def _added(self, live: dict[str, ManifestEntry]) -> Iterator[ManifestEntry]:
        for _ in range(self.random.randint(0, 3)):
            entry = self._new("data")
            if self.random.random() < 0.2:
                entry = replace(entry, file=replace(entry.file, extra_files=(f"{entry.file.name}.index",)))
            live[entry.file.name] = entry
            yield entry

    def _new(self, stem: str) -> ManifestEntry:
        self.count += 1
        day = encode_row([self.random.choice(_DAYS).encode()], _TYPES)
        return ManifestEntry(ADD, day, self.random.randrange(2), 2, file_meta(f"{stem}-{self.count}"))

    def _state(
        self, base: State | None, number: int, live: dict[str, ManifestEntry], entries: list[ManifestEntry]
    ) -> State:
        inherited = base.metas if base else ()
        if inherited and self.random.random() < 0.25:
            assert base is not None
            inherited = tuple(self._manifests(base.live.values()))
        delta = tuple(self._manifests(entries))
        logged = [self._new("changelog") for _ in range(self.random.choice([0, 0, 1, 2]))]
        changes = self._manifests(logged)
        snapshot = Snapshot(
            version=3,
            id=number,
            schema_id=0,
            base_manifest_list=self._list(inherited),
            delta_manifest_list=self._list(delta),
            changelog_manifest_list=self._list(changes) if logged else None,
            total_record_count=0,
            delta_record_count=0,
            commit_user="model",
            commit_identifier=number,
            commit_kind="APPEND",
            time_millis=NOW - 1000 * _MINUTE + number * _MINUTE,
            index_manifest=base.snapshot.index_manifest if base else None,
            statistics=self._statistics(base),
        )
        if self.random.random() < 0.3:
            snapshot = replace(snapshot, index_manifest=self._indexes(snapshot))
        metas = (*inherited, *delta)
        return State(
            snapshot,
            live,
            metas,
            self._files(snapshot, metas, live),
            self._changelog(snapshot, changes, logged),
        )

    def _manifests(self, entries: Iterable[ManifestEntry]) -> list[ManifestFileMeta]:
        self.count += 1
        found = list(entries)
        for path in (path for entry in found for path in self._paths(entry)):
            (self.small.folder / path).parent.mkdir(parents=True, exist_ok=True)
            if "data-" in path or "changelog-" in path:
                (self.small.folder / path).touch()
        return self._writer.write(found, f"{self.count}") if found else []

    def _list(self, metas: Iterable[ManifestFileMeta]) -> str:
        self.count += 1
        return self._writer.write_list(list(metas), f"manifest-list-{self.count}")[0]

    def _statistics(self, base: State | None) -> str | None:
        if self.random.random() < 0.7:
            return base.snapshot.statistics if base else None
        self.count += 1
        self._touch(f"statistics/stat-{self.count}")
        return f"stat-{self.count}"

    def _indexes(self, snapshot: Snapshot) -> str | None:
        self.count += 1
        name = f"index-{self.count}"
        self._touch(f"index/{name}")
        known = self._index_names(snapshot)
        place = (encode_row([b"a"], _TYPES), self.count)
        removed = self.random.sample(sorted(known), self.random.randint(0, len(known)))
        added = [(place, VectorIndex(name, 1, {}))]
        return self._writer.write_indexes(snapshot, removed, added, f"index-manifest-{self.count}")

    def _index_names(self, snapshot: Snapshot) -> set[str]:
        return self.table.manifests.index_names(snapshot.index_manifest) if snapshot.index_manifest else set()

    def _files(
        self, snapshot: Snapshot, metas: Iterable[ManifestFileMeta], live: Mapping[str, ManifestEntry]
    ) -> frozenset[str]:
        names = [
            snapshot.base_manifest_list,
            snapshot.delta_manifest_list,
            *(each.file_name for each in metas),
        ]
        found = {f"manifest/{name}" for name in names}
        found.update(path for entry in live.values() for path in self._paths(entry))
        if snapshot.index_manifest:
            found.add(f"manifest/{snapshot.index_manifest}")
            found.update(f"index/{name}" for name in self._index_names(snapshot))
        if snapshot.statistics:
            found.add(f"statistics/{snapshot.statistics}")
        return frozenset(found)

    def _changelog(
        self, snapshot: Snapshot, metas: Iterable[ManifestFileMeta], entries: Iterable[ManifestEntry]
    ) -> frozenset[str]:
        names = [f"manifest/{each.file_name}" for each in metas]
        lists = [f"manifest/{snapshot.changelog_manifest_list}"] if snapshot.changelog_manifest_list else []
        return frozenset([*names, *lists, *(path for entry in entries for path in self._paths(entry))])

    def _paths(self, entry: ManifestEntry) -> list[str]:
        folder = self.table.locations.bucket_id(entry.partition, entry.bucket).path
        return entry.file.paths(folder)

    def _touch(self, path: str) -> None:
        (self.small.folder / path).parent.mkdir(exist_ok=True)
        (self.small.folder / path).touch()

    def _write(self, path: str, snapshot: Snapshot) -> None:
        place = self.small.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(JSON.to_json(snapshot))

    @staticmethod
    def _home(line: str) -> str:
        return f"branch/branch-{line}/" if line else ""

    def tag(self) -> None:
        """Tags a snapshot of the table."""
        self.count += 1
        state = self.main[self.random.choice(sorted(self.main))]
        self._tag(f"tag/tag-{self.count}", state)

    def _tag(self, path: str, state: State) -> None:
        self.tags[path] = state
        self._write(path, state.snapshot)

    def untag(self) -> None:
        """Deletes a tag whose snapshot is there: then Paimon deletes nothing else."""
        found = [
            path for path, state in self.tags.items() if path.startswith("tag/") and self._is_there(state)
        ]
        if found:
            path = self.random.choice(found)
            del self.tags[path]
            (self.small.folder / path).unlink()

    def _is_there(self, state: State) -> bool:
        return self.main.get(state.snapshot.id) is state

    def branch(self) -> None:
        """Makes a branch of a tag whose snapshot is there."""
        found = [
            state for path, state in self.tags.items() if path.startswith("tag/") and self._is_there(state)
        ]
        if found:
            self.count += 1
            state, line = self.random.choice(found), f"b{self.count}"
            self.lines[line] = {state.snapshot.id: state}
            self._write(f"{self._home(line)}snapshot/snapshot-{state.snapshot.id}", state.snapshot)
            self._tag(f"{self._home(line)}tag/tag-{self.count}", state)

    def commit_to_branch(self) -> None:
        """Commits to a branch, which never expires here."""
        lines = [line for line in self.lines if line]
        if lines:
            self.commit(self.random.choice(lines))

    def roll_back(self) -> None:
        """Goes back by a few snapshots; as in Paimon, what they alone need goes, and so do their tags."""
        kept = self.random.choice(sorted(self.main)[-3:])
        for number in [each for each in self.main if each > kept]:
            del self.main[number]
            (self.small.folder / f"snapshot/snapshot-{number}").unlink()
        for path in [
            path for path, state in self.tags.items() if path.startswith("tag/") and state.snapshot.id > kept
        ]:
            del self.tags[path]
            (self.small.folder / path).unlink()
        for path in self.files() - self.expected():
            (self.small.folder / path).unlink()

    def consume(self) -> None:
        """Sets a consumer somewhere."""
        at = self.random.randint(min(self.main), max(self.main) + 1)
        self._touch("consumer/consumer-c")
        (self.small.folder / "consumer" / "consumer-c").write_text(json.dumps({"nextSnapshot": at}))

    def forget(self, numbers: Iterable[int], outlived: Collection[int] = ()) -> None:
        """Notes that snapshots of the table have expired, and which of them leave their changelogs."""
        for number in numbers:
            state = self.main.pop(number)
            if number in outlived:
                self.outlived[number] = state

    def forget_changelogs(self, numbers: Iterable[int]) -> None:
        """Notes that changelogs have expired that had outlived their snapshots."""
        for number in numbers:
            del self.outlived[number]

    def expected(self) -> set[str]:
        """The files that something needs."""
        found = {
            path
            for line in self.lines.values()
            for state in line.values()
            for path in (*state.files, *state.changelog)
        }
        found.update(path for state in self.tags.values() for path in state.files)
        found.update(self.tags)
        for number, state in self.outlived.items():
            found.update((*state.changelog, f"changelog/changelog-{number}"))
        for line, states in self.lines.items():
            found.update(f"{self._home(line)}snapshot/snapshot-{number}" for number in states)
        return found

    def files(self) -> set[str]:
        """The files that are there, but for schemas, hints and consumers."""
        others = ("schema", "consumer")
        paths = (
            path.relative_to(self.small.folder) for path in self.small.folder.rglob("*") if path.is_file()
        )
        return {
            str(path)
            for path in paths
            if path.parts[0] not in others and path.name not in ("EARLIEST", "LATEST")
        }
