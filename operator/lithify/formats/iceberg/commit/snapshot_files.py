"""Writes the manifests and the manifest list of a snapshot that replaces files.

Called by `committer` in every try. Manifests of which nothing is removed are kept as they are; others are
written once, together with those that the table's properties merge with them. Entries that stay keep their
sequence numbers and row ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers, integers
from lithify.formats.iceberg.commit.changes import Start
from lithify.formats.iceberg.manifests.carrying import CommittedEntries, committed_entries, removing
from lithify.formats.iceberg.manifests.entries import Entries
from lithify.formats.iceberg.manifests.manifest_lists import (
    ListOwner,
    ManifestContent,
    ManifestFile,
    write_list,
)
from lithify.formats.iceberg.manifests.manifest_writer import EncodedManifest, ManifestOwner, encode_manifest
from lithify.formats.iceberg.manifests.merging import gathered, merge_options, merge_plan
from lithify.formats.iceberg.manifests.new_entries import added_data_files, added_delete_files
from lithify.formats.iceberg.manifests.partition_types import PartitionField, PartitionType
from lithify.formats.iceberg.manifests.view import ManifestReader, View
from lithify.formats.iceberg.model import NewDataFile, NewDeleteFile
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_specs import partition_fields
from lithify.io.storage import Storage

File = TypeVar("File", NewDataFile, NewDeleteFile)

_MOST_KNOWN = 16 << 20
"""Bytes of manifests that are kept decoded, which take several times as much."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a snapshot changes in the view of the one before it.

    Attributes:
        outputs: the data files that it adds.
        data: mask of the data files that it removes.
        deletes: mask of the delete files that it removes.
        added_deletes: the delete files that it adds.
    """

    outputs: tuple[NewDataFile, ...]
    data: Flags
    deletes: Flags
    added_deletes: tuple[NewDeleteFile, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """What a snapshot says of its files.

    Attributes:
        manifest_list: its manifest list.
        next_row_id: the table's next row id after the commit; None before version 3.
    """

    manifest_list: str
    next_row_id: int | None


class KnownManifests:
    """Manifests that were decoded to be written again, for the next try of a commit that was outrun.

    Tries follow one another while others commit, and most of the manifests that they change are the same.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[ManifestFile, int], CommittedEntries] = {}
        self._left = _MOST_KNOWN

    def get(self, manifest: ManifestFile, version: int) -> CommittedEntries | None:
        """The entries of a manifest, if it is known."""
        return self._entries.get((manifest, version))

    def add(self, manifest: ManifestFile, version: int, entries: CommittedEntries) -> None:
        """Keeps the entries of a manifest while there is room."""
        self._left -= manifest.length
        if self._left >= 0:
            self._entries[manifest, version] = entries


class SnapshotFiles:
    """Writes the files of one snapshot.

    Attributes:
        paths: the files that were written so far; for clean-up if a later one fails.
        snapshot_id: the snapshot's id.
        writer: the unique part of the names of its files.

    Args:
        storage: access to the table's files.
        reader: reads manifests.
        metadata: the metadata that the snapshot is built on.
        view: the live files of the snapshot before it.
        snapshot_id: its id.
        writer: the unique part of the names of its files.
        known: manifests that earlier tries of the same commit have decoded.
    """

    def __init__(
        self,
        storage: Storage,
        reader: ManifestReader,
        metadata: TableMetadata,
        view: View,
        snapshot_id: int,
        writer: str,
        known: KnownManifests | None = None,
    ) -> None:
        self.paths: list[str] = []
        self.snapshot_id = snapshot_id
        self._storage = storage
        self._reader = reader
        self._metadata = metadata
        self._view = view
        self._known = KnownManifests() if known is None else known
        self.writer = writer

    def write(
        self, replacement: Replacement, start: Start, parent: int | None, sequence: int
    ) -> WrittenFiles:
        """Writes all files; `sequence` is that of the new snapshot, `parent` the snapshot before it.

        Raises:
            MissingFile: a manifest is gone; the snapshot before may have expired concurrently.
            CorruptTable: a manifest cannot be read.
            StorageError: the store refuses.
        """
        removed = {
            **_positions(self._view.data, replacement.data),
            **_positions(self._view.deletes, replacement.deletes),
        }
        version = self._metadata.format_version
        # New files have the sequence number of the planned snapshot, so that later deletes apply to them. New
        # deletes have that of their own: all data files of the snapshot before have smaller ones.
        planned = start.sequence if version > 1 else None
        data = self._added(replacement.outputs, added_data_files, planned)
        deletes = self._added(replacement.added_deletes, added_delete_files, None)
        manifests = [
            *self._manifests(ManifestContent.DATA, removed, data),
            *self._manifests(ManifestContent.DELETES, removed, deletes),
        ]
        return self.write_list(manifests, parent, sequence)

    def write_list(
        self, manifests: Sequence[ManifestFile], parent: int | None, sequence: int
    ) -> WrittenFiles:
        """Writes the manifest list of the new snapshot; see `write`."""
        version = self._metadata.format_version
        first_row_id = self._metadata.next_row_id if version > 2 else None
        written = write_list(manifests, ListOwner(version, self.snapshot_id, parent, sequence, first_row_id))
        path = f"{self._metadata.metadata_folder}/snap-{self.snapshot_id}-1-{self.writer}.avro"
        self.store(path, written.content)
        return WrittenFiles(path, written.next_row_id)

    def store(self, path: str, content: bytes) -> None:
        """Writes one of the snapshot's files."""
        self.paths.append(path)
        with closing(self._storage.create(path).sink) as sink:
            sink.write(content)

    def _added(
        self, files: Sequence[File], added: Callable[..., Entries], sequence: int | None
    ) -> Mapping[int, Entries]:
        """The entries of new files by spec; their data sequence number is None for that of the snapshot."""
        specs = dict.fromkeys(file.partition.spec_id for file in files)
        return {
            spec: added(
                [file for file in files if file.partition.spec_id == spec],
                self._partition_type(spec),
                self.snapshot_id,
                sequence,
            )
            for spec in specs
        }

    def _manifests(
        self, content: ManifestContent, removed: Mapping[int, Numbers], new: Mapping[int, Entries]
    ) -> list[ManifestFile]:
        """The manifests of one kind, new entries first."""
        places = {
            each.path: place
            for place, each in enumerate(self._view.manifests)
            if each.content is content and each.may_have_live
        }
        fresh = {each.path: new[spec] for spec in new for each in [self._planned(content, spec)]}
        listed = [self._planned(content, spec) for spec in new]
        listed += [self._view.manifests[place] for place in places.values()]
        options, found, emptied = merge_options(self._metadata.properties), [], []
        live = np.bincount(integers(self._rows(content)["manifest"]), minlength=len(self._view.manifests))
        for group in merge_plan(listed, options):
            place = places.get(group[0].path)
            if len(group) > 1 or place is None:
                found.append(self._written(group, fresh, places, removed))
            elif len(removed.get(place, ())) == live[place] > 0:
                emptied.append(group[0])
            elif place in removed or not (group[0].is_counted or self._metadata.format_version == 1):
                found.append(self._written(group, fresh, places, removed))
            else:
                found.append(group[0])
        for group in gathered(emptied, options):
            found += self._emptied(group, places, removed)
        return found

    def _emptied(
        self, group: Sequence[ManifestFile], places: Mapping[str, int], removed: Mapping[int, Numbers]
    ) -> list[ManifestFile]:
        """Writes manifests of which nothing stays as one, or as several if their fields do not agree."""
        try:
            return [self._written(group, {}, places, removed)]
        except ValueError:
            return [self._written((each,), {}, places, removed) for each in group]

    def _rows(self, content: ManifestContent) -> pa.Table:
        return self._view.data if content is ManifestContent.DATA else self._view.deletes

    def _written(
        self,
        group: Sequence[ManifestFile],
        fresh: Mapping[str, Entries],
        places: Mapping[str, int],
        removed: Mapping[int, Numbers],
    ) -> ManifestFile:
        """Writes one manifest with the entries of some."""
        parts = [
            fresh[each.path] if each.path in fresh else self._carried(each, removed.get(places[each.path]))
            for each in group
        ]
        path = self.next_path()
        owner = self.owner(group[0].content, group[0].spec_id)
        encoded: EncodedManifest = encode_manifest(parts, owner, path)
        self.store(path, encoded.content)
        return encoded.file

    def _carried(self, manifest: ManifestFile, removed: Numbers | None) -> Entries:
        version = self._metadata.format_version
        committed = self._known.get(manifest, version)
        if committed is None:
            committed = committed_entries(manifest, self._reader.content(manifest), version)
            self._known.add(manifest, version, committed)
        none = np.empty(0, dtype=np.int64) if removed is None else removed
        return removing(committed, self.snapshot_id, none)

    def next_path(self) -> str:
        """The path of the next manifest."""
        return f"{self._metadata.metadata_folder}/{self.writer}-m{len(self.paths)}.avro"

    def owner(self, content: ManifestContent, spec_id: int) -> ManifestOwner:
        """What a manifest of this snapshot says of itself."""
        spec = self._metadata.specs.get(spec_id, {})
        schema = self._metadata.schemas[self._metadata.schema_id]
        return ManifestOwner(
            version=self._metadata.format_version,
            snapshot_id=self.snapshot_id,
            content=content,
            spec_id=spec_id,
            partition=self._partition_type(spec_id),
            spec=json.dumps(spec.get("fields") or []),
            schema=json.dumps(schema),
        )

    def _partition_type(self, spec_id: int) -> PartitionType:
        """The fields of a spec: as manifests state them, else by its transforms."""
        known = self._view.partitions.types.get(spec_id)
        if known is not None:
            return known
        return tuple(PartitionField(*field) for field in partition_fields(self._metadata, spec_id))

    def _planned(self, content: ManifestContent, spec_id: int) -> ManifestFile:
        """A manifest of new files that is not written yet, for the plan of merges."""
        counts = dict.fromkeys(
            ("added_files", "existing_files", "deleted_files", "added_rows", "existing_rows", "deleted_rows")
        )
        return ManifestFile(f"new-{spec_id}", 0, spec_id, content, None, None, self.snapshot_id, **counts)


def _positions(rows: pa.Table, removed: Flags) -> dict[int, Numbers]:
    """The positions of removed entries, by the place of their manifest."""
    manifests, positions = integers(rows["manifest"])[removed], integers(rows["position"])[removed]
    return {int(place): positions[manifests == place] for place in set(manifests.tolist())}
