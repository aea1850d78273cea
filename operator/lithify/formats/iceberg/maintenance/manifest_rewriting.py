"""Writes the selected manifests of a snapshot again: sorted by partition, without what vanishes.

Called by `manifest_commit` in each try. Entries keep their snapshot, sequence numbers and row ids, and all
statistics, as `carrying` has them. They are read portion by portion in the new order, so memory depends on
the size of a portion, and a few numbers for each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Numbers, integers, taken
from lithify.engine.pack.sorted_portions import sorted_portions
from lithify.files.avro.metadata_files import reading
from lithify.formats.iceberg.commit.snapshot_files import SnapshotFiles
from lithify.formats.iceberg.maintenance.manifest_selection import Group, Selection
from lithify.formats.iceberg.manifests.carrying import carried_entries
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.manifest_writer import ManifestOwner
from lithify.formats.iceberg.manifests.sorted_manifests import (
    SortedManifests,
    encoded_entries,
    partition_ranks,
)
from lithify.formats.iceberg.manifests.view import ManifestReader, View

INFLATION = 10
"""Bytes of entries for each byte of a manifest: what most manifests have about, for the size of portions."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The live entries of one manifest: their partitions, and the positions of those that are dropped."""

    manifest: ManifestFile
    partitions: Numbers
    dropped: Numbers


@dataclass(frozen=True, slots=True)
class ManifestRewriter:
    """Rewrites manifests of one snapshot.

    Attributes:
        reader: reads manifests.
        view: the live entries of the manifests, at least of those that are rewritten.
        selection: what is rewritten, selected from this view.
        target_size: bytes at which a manifest ends.
        memory: bytes of entries that are held at a time.
        beat: called after each manifest that was read: a merge may take minutes.
    """

    reader: ManifestReader
    view: View
    selection: Selection
    target_size: int
    memory: int
    beat: Callable[[], None]

    def rewrite(self, group: Group, files: SnapshotFiles) -> list[ManifestFile]:
        """Writes the entries of a group as new manifests of a snapshot.

        Raises:
            MissingFile: a manifest is gone; the snapshot before may have expired concurrently.
            CorruptTable: a manifest cannot be read, or has fields that this release does not know.
            StorageError: the store refuses.
        """
        content, spec_id = group.place
        owner = files.owner(content, spec_id)
        ranks = partition_ranks(self.view.partitions, spec_id)
        first = self.view.partitions.of_spec(spec_id).start
        sources = [*self._sources(group)]
        keys = [ranks[each.partitions - first] for each in sources]
        sizes = [each.manifest.length * INFLATION for each in sources]
        writer = SortedManifests(owner, files.next_path, files.store, self.target_size)
        for portion in sorted_portions(keys, sizes, self.memory):
            parts = [self._entries(sources[source], rows, owner) for source, rows in portion.rows]
            writer.write(taken(pa.concat_tables(parts), portion.order))
        return writer.close()

    def _sources(self, group: Group) -> Iterator[_Source]:
        is_data = group.place[0] is ManifestContent.DATA
        rows = self.view.data if is_data else self.view.deletes
        manifests, partitions = integers(rows["manifest"]), integers(rows["partition"])
        positions = integers(rows["position"])
        is_dropped = np.zeros(len(rows), dtype=bool) if is_data else self.selection.dangling
        places = {each.path: place for place, each in enumerate(self.view.manifests)}
        for manifest in group.chosen:
            mine = manifests == places[manifest.path]
            yield _Source(manifest, partitions[mine], positions[mine & is_dropped])

    def _entries(self, source: _Source, rows: Numbers, owner: ManifestOwner) -> pa.Table:
        self.beat()
        manifest = source.manifest
        content = self.reader.content(manifest)
        carried = carried_entries(manifest, content, owner.version, owner.snapshot_id, source.dropped)
        with reading(manifest.path, "manifest"):
            return taken(encoded_entries(carried, owner), rows)
