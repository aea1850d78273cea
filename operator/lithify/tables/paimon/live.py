"""The live files of a table: all of them read at once, or those of an earlier look brought up to date.

Called by `observation`. A full look reads every manifest of a snapshot; an update reads only what the
snapshots since have added and removed. Both come to the same. An update that does not fit what was kept (a
rollback, an expired snapshot, a missing delta) is given up for a full look. Reads metadata only and writes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import MissingFile
from lithify.tables.model import DataFile, OrderKey
from lithify.tables.paimon.entries import ADD, Entry
from lithify.tables.paimon.history import read_history, removed_bytes, update_history
from lithify.tables.paimon.kept import Buckets, FileKey, KeptTable, Place, SnapshotMark
from lithify.tables.paimon.table import PaimonTable

_READERS = 8
_MOST_DELTAS = 256
"""With more new snapshots than these a full look is cheaper."""


class Misfit(Exception):
    """What was kept is not what the new snapshots build on."""


class Gathering:
    """Live files while entries are applied to them.

    Args:
        key: turns a key bound into an order key.
        buckets: what is live before; copied.
    """

    def __init__(self, key: Callable[[bytes], OrderKey], buckets: Buckets | None = None) -> None:
        self._key = key
        self._buckets: dict[Place, dict[FileKey, DataFile]] = {
            place: dict(files) for place, files in (buckets or {}).items()
        }

    def everything(self, entries: Iterable[Entry]) -> Buckets:
        """The files that the manifests of one snapshot add and do not remove, in whatever order."""
        gone: list[tuple[Place, FileKey]] = []
        for entry in entries:
            if entry.kind == ADD:
                self._add(entry)
            else:
                gone.append((_place(entry), _file_key(entry)))
        for place, file in gone:
            self._buckets.get(place, {}).pop(file, None)
        return self.buckets

    def apply(self, delta: Sequence[Entry]) -> None:
        """Adds and removes what one snapshot does.

        Raises:
            Misfit: a file is added that is there, or removed that is not.
        """
        for entry in delta:
            if entry.kind == ADD and not self._add(entry):
                raise Misfit
        for entry in delta:
            files = self._buckets.get(_place(entry), {})
            if entry.kind != ADD and files.pop(_file_key(entry), None) is None:
                raise Misfit

    @property
    def buckets(self) -> Buckets:
        """The files that are live now."""
        return {place: files for place, files in self._buckets.items() if files}

    def _add(self, entry: Entry) -> bool:
        """Adds a file; whether it was not there before."""
        files = self._buckets.setdefault(_place(entry), {})
        is_new = _file_key(entry) not in files
        files[_file_key(entry)] = entry.file.as_data_file(self._key)
        return is_new


def read(table: PaimonTable, uuid: str, earlier: KeptTable | None) -> KeptTable:
    """The live files in the newest snapshot, read as if for the first time.

    Args:
        table: the table, just opened.
        uuid: what tells it from others of its name.
        earlier: what was kept of a table; only what its snapshots removed is taken from it.

    Raises:
        CorruptTable: a snapshot or manifest is missing or unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    is_of_table = earlier is not None and (earlier.root, earlier.uuid) == (table.home, uuid)
    known = earlier if is_of_table else None

    def look(snapshot: Snapshot) -> KeptTable:
        removed, read_to = _known_removals(table, known, snapshot)
        return KeptTable(
            root=table.home,
            uuid=uuid,
            schema_id=table.schema.id,
            newest=mark_of(snapshot),
            index_types=table.manifests.index_types(snapshot),
            buckets=Gathering(table.order_key).everything(_all_entries(table, snapshot)),
            history=read_history(table, snapshot, removed, read_to),
        )

    return table.on_newest(look) or KeptTable(table.home, uuid, table.schema.id, None)


def update(table: PaimonTable, uuid: str, kept: KeptTable) -> KeptTable | None:
    """What was kept, with what the snapshots since have added and removed.

    None if that does not fit together: another table or schema, a rollback, an expired or missing delta.

    Raises:
        CorruptTable: a snapshot or manifest is unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    if (kept.root, kept.uuid, kept.schema_id) != (table.home, uuid, table.schema.id):
        return None
    return table.on_newest(lambda snapshot: _updated(table, kept, snapshot))


def mark_of(snapshot: Snapshot) -> SnapshotMark:
    """What is kept of a snapshot."""
    return SnapshotMark(snapshot.id, snapshot.delta_manifest_list, snapshot.time_millis)


def is_still_there(table: PaimonTable, mark: SnapshotMark) -> bool:
    """Whether a snapshot that was seen is neither expired nor replaced by another one; one request."""
    found = table.snapshots.get(mark.id)
    return found is not None and mark_of(found) == mark


def _all_entries(table: PaimonTable, snapshot: Snapshot) -> Iterator[Entry]:
    """The entries of all manifests, a few manifests at a time: together they may not fit into memory."""
    names = [manifest.file_name for manifest in table.manifests.list_files(snapshot)]
    with ThreadPoolExecutor(_READERS) as readers:
        for start in range(0, len(names), _READERS):
            for entries in readers.map(table.manifests.entries_of, names[start : start + _READERS]):
                yield from entries


def _known_removals(
    table: PaimonTable, earlier: KeptTable | None, snapshot: Snapshot
) -> tuple[Mapping[int, int], int]:
    """What snapshots removed as far as an earlier look read it, and the last one that it read.

    Whatever happened to the files: what was removed stays so if the snapshots only went on since.
    """
    if earlier is None or earlier.newest is None or earlier.history is None:
        return {}, 0
    continues = earlier.newest == mark_of(snapshot) or (
        earlier.newest.id < snapshot.id and is_still_there(table, earlier.newest)
    )
    return (earlier.history.removed, earlier.newest.id) if continues else ({}, 0)


def _updated(table: PaimonTable, kept: KeptTable, snapshot: Snapshot) -> KeptTable | None:
    """What was kept with the deltas of the snapshots since; None if that cannot be."""
    if kept.history is None or snapshot.schema_id > kept.schema_id:
        return None
    files = Gathering(table.order_key, kept.buckets)
    removed = dict(kept.history.removed)
    try:
        for step in _steps(table, kept, snapshot):
            delta = table.manifests.delta(step)
            files.apply(delta)
            removed[step.id] = removed_bytes(delta)
    except (Misfit, MissingFile):
        return None
    return KeptTable(
        root=kept.root,
        uuid=kept.uuid,
        schema_id=kept.schema_id,
        newest=mark_of(snapshot),
        index_types=table.manifests.index_types(snapshot),
        buckets=files.buckets,
        history=update_history(table, snapshot, removed, kept.history),
    )


def _steps(table: PaimonTable, kept: KeptTable, snapshot: Snapshot) -> Sequence[Snapshot]:
    """The snapshots after the one that was seen, up to the newest.

    Raises:
        Misfit: they do not follow it, or some are gone.
    """
    base = kept.newest
    is_near = base is not None and 0 <= snapshot.id - base.id <= _MOST_DELTAS
    if base is None or not is_near:
        raise Misfit
    if base == mark_of(snapshot):
        return []
    if base.id == snapshot.id or not is_still_there(table, base):
        raise Misfit
    steps = [*(table.snapshots.get(number) for number in range(base.id + 1, snapshot.id)), snapshot]
    if any(step is None for step in steps):
        raise Misfit
    return steps


def _place(entry: Entry) -> Place:
    return entry.partition, entry.bucket


def _file_key(entry: Entry) -> FileKey:
    return entry.file.name, entry.file.level
