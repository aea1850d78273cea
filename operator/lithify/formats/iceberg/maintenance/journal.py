"""The journal of expiries: which files go once some snapshots have left the metadata.

Called by `snapshot_expiry`. Once a snapshot has left the metadata, nothing in the table names its files. So
they are written down before the commit, in `<table>/lithify/expiry`: a run that finds the snapshots of an
earlier one gone, and the files still unreachable, completes it. They are not gone if the metadata is older
than the journal: a replica of the catalog lags behind, or was restored from a backup, and does not know them
yet. A journal whose snapshots are still there
belongs to a run that may commit yet, or to one that never did; after a day it is forgotten, because a new
plan finds the files again.

Anyone who may write to the table's folder can put files there, so what they name is checked like a plan.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import flagged, flags, is_null
from lithify.errors import CorruptTable, StorageError
from lithify.formats.iceberg.maintenance.named_files import FILES, FileKind
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.io.storage import ListedFile, Storage

_FORGOTTEN_AFTER = timedelta(days=1)
_SUFFIX = ".arrow"
_HEADER = b"lithify"
_MOST_FILES = 500_000
"""Files in one journal; an expiry of more writes several."""
_MOST_BYTES = 1 << 30
_KINDS = pa.array([*FileKind], FILES.field("kind").type)


@dataclass(frozen=True, slots=True)
class Journals:
    """The journals of a table.

    Attributes:
        settled: those whose snapshots have all left the metadata.
        files: the files that these name; they may be needed again, and have to be checked.
        open: the others of less than a day, with their snapshots.
        forgotten: those that nobody needs any more.
    """

    settled: tuple[str, ...] = ()
    files: tuple[pa.Table, ...] = ()
    open: tuple[tuple[str, frozenset[int]], ...] = ()
    forgotten: tuple[str, ...] = ()

    def needless_after(self, snapshots: Set[int]) -> tuple[str, ...]:
        """The journals that nobody needs once all files are deleted that only some snapshots needed."""
        covered = (path for path, gone in self.open if gone <= snapshots)
        return (*self.settled, *self.forgotten, *covered)


@dataclass(frozen=True, slots=True)
class _Header:
    """What a journal says of the snapshots that leave, and of the metadata that had them.

    Attributes:
        snapshots: the snapshots.
        sequence: the highest sequence number of that metadata; 0 in version 1.
        updated: milliseconds of its last change.
    """

    snapshots: frozenset[int]
    sequence: int
    updated: int

    def have_left(self, metadata: TableMetadata) -> bool:
        """Whether metadata has none of the snapshots any more; older metadata may have none of them yet."""
        is_older = metadata.last_sequence < self.sequence
        if not self.sequence:
            is_older = metadata.last_updated < self.updated
        return not is_older and not self.snapshots & metadata.snapshots.keys()


def write_journals(table: IcebergTable, snapshots: Collection[int], files: pa.Table) -> tuple[str, ...]:
    """Records which files go once some snapshots have left the metadata; returns the files that say so."""
    known = {"sequence": table.metadata.last_sequence, "updated": table.metadata.last_updated}
    said = json.dumps({"table": table.uuid, "snapshots": sorted(snapshots), **known})
    schema = FILES.with_metadata({_HEADER: said.encode()})
    written: list[str] = []
    for start in range(0, len(files), _MOST_FILES):
        path = f"{_folder(table.metadata)}/{uuid4()}{_SUFFIX}"
        part = files.select(FILES.names).slice(start, _MOST_FILES).combine_chunks()
        _write(table.storage, path, part.cast(schema))
        written.append(path)
    table.storage.persist(written)
    return tuple(written)


def read_journals(table: IcebergTable, metadata: TableMetadata, now: datetime) -> Journals:
    """What earlier expiries have written down.

    Raises:
        StorageError: the file system refuses.
    """
    settled, forgotten, files = list[str](), list[str](), list[pa.Table]()
    others = list[tuple[str, frozenset[int]]]()
    for path, listed in _listed(table.storage, _folder(metadata)):
        found = _read(table.storage, path)
        said = None if found is None else _said(found, table.uuid)
        if found is not None and said is not None and said.have_left(metadata):
            settled.append(path)
            files.append(found.replace_schema_metadata(None))
        elif now.timestamp() - listed.modified_seconds > _FORGOTTEN_AFTER.total_seconds():
            forgotten.append(path)
        elif said is not None:
            others.append((path, said.snapshots))
    return Journals(tuple(settled), tuple(files), tuple(others), tuple(forgotten))


def delete_journals(storage: Storage, paths: Collection[str]) -> None:
    """Deletes journals; one that stays does no harm."""
    for path in paths:
        with suppress(StorageError):
            storage.delete(path)


def _folder(metadata: TableMetadata) -> str:
    return f"{metadata.location}/lithify/expiry"


def _listed(storage: Storage, folder: str) -> Iterator[tuple[str, ListedFile]]:
    for each in storage.list(folder):
        if each.name.endswith(_SUFFIX) and not each.is_folder:
            yield f"{folder}/{each.name}", each


def _write(storage: Storage, path: str, files: pa.Table) -> None:
    new = storage.create(path)
    try:
        with new.sink, pa.ipc.new_file(new.sink, files.schema) as writer:
            writer.write_table(files)
    except BaseException:
        new.give_up()
        raise


def _read(storage: Storage, path: str) -> pa.Table | None:
    """The files of a journal; None if it is gone, or was not finished."""
    try:
        storage.check_inside(path)
        found = pa.ipc.open_file(storage.read_bytes(path, _MOST_BYTES)).read_all()
        found.validate(full=True)
    except (FileNotFoundError, CorruptTable, pa.ArrowException, OSError):
        return None
    if not found.schema.equals(FILES):
        return None
    return flagged(found, flags(pc.is_in(found["kind"], value_set=_KINDS)) & ~is_null(found["path"]))


def _said(files: pa.Table, uuid: str) -> _Header | None:
    """The header of a journal; None if it is none of this table."""
    try:
        found = json.loads((files.schema.metadata or {})[_HEADER])
        snapshots = frozenset(map(int, found["snapshots"]))
        said = _Header(snapshots, int(found["sequence"]), int(found["updated"]))
    except (KeyError, TypeError, ValueError):
        return None
    return said if snapshots and found.get("table") == uuid else None
