"""The line in commits of keyed tables: moved with the files, in the same snapshot; a `CommitExtension`.

Called by the commit in every try, and while tasks run. The line says of a partition which changes its base
has. If it has moved since the plan, somebody else has merged some of the same changes; if a change file is
gone, it was taken back or expired. Such a partition alone is in conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lithify.clock import Clock, epoch_millis
from lithify.columns.column_groups import listed, whole
from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.commit.rules import Reasons
from lithify.formats.iceberg.commit.snapshot_files import SnapshotFiles
from lithify.formats.iceberg.manifests.view import ManifestReader, View
from lithify.formats.iceberg.table.evolving import TableChanges
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import PartitionSpec, spec_of
from lithify.formats.iceberg.table.snapshots import OVERWRITE
from lithify.formats.mixed.hive_locations import BASE, BASE_AND_CHANGE, HiveLocation
from lithify.formats.mixed.hive_planning import strange_in_hive
from lithify.formats.mixed.late_files import overtaken_by_base_files, overtaken_by_changes
from lithify.formats.mixed.line_files import FOLDER, statistics_entry, summary_flags, write_line
from lithify.formats.mixed.line_properties import PROPERTY, moved_property, with_facts
from lithify.formats.mixed.optimized_line import NOTHING_MERGED
from lithify.formats.mixed.stored_line import is_in_files
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.units import MixedUnit

LINE_MOVED = "others have merged changes of its partition since it was planned"
CHANGES_GONE = "others have removed changes of its partition since it was planned"
OVERTAKEN = "others have committed files of its partition with an older transaction than what was merged"
_PRODUCER = {"snapshot.producer": "OPTIMIZE"}
"""By this readers of increments know that a snapshot has no new rows."""


@dataclass(frozen=True, slots=True)
class LineCommit:
    """What commits of a step change besides files.

    Attributes:
        table: the table.
        units: units of one plan by group.
        clock: source of the time at which partitions were merged.
    """

    table: MixedTable
    units: Mapping[Any, MixedUnit]
    clock: Clock
    operation: str = OVERWRITE
    carries_deletes: bool = False
    changes_metadata: bool = True

    def conflicts(self, changes: Mapping[Any, GroupChange], metadata: TableMetadata, view: View) -> Reasons:
        """The groups whose line or changes are others than when they were planned, or were overtaken."""
        line, units = self.table.read_line(metadata), {group: self.units[group] for group in changes}
        moved = {g: LINE_MOVED for g, unit in units.items() if line.sequence_of(unit.folder) != unit.line}
        overtaken = overtaken_by_base_files(units, view, _spec_of(metadata))
        return {
            **strange_in_hive(self.table, units),
            **self._by_changes(units),
            **dict.fromkeys(overtaken, OVERTAKEN),
            **moved,
        }

    def _by_changes(self, units: Mapping[Any, MixedUnit]) -> Reasons:
        """Conflicts in the change store. Reads nothing if nothing was committed to it."""
        if self.table.change is None:
            return {}
        metadata = self.table.change.refresh()
        head = self.table.change_head
        if all(head.id == unit.change.id for unit in units.values()):
            return {}
        reader = ManifestReader(self.table.change.storage)
        view = reader.view(reader.manifests(head.manifest_list))
        overtaken = overtaken_by_changes(units, view, _spec_of(metadata))
        merged = {group: [each.file.path for each in unit.changes] for group, unit in units.items()}
        wanted = pa.array([path for each in merged.values() for path in each], pa.string())
        live = set(listed(wanted.filter(pc.is_in(wanted, value_set=whole(view.data["file_path"])))))
        gone = [group for group, each in merged.items() if not live.issuperset(each)]
        return {**dict.fromkeys(overtaken, OVERTAKEN), **dict.fromkeys(gone, CHANGES_GONE)}

    def changes(self, groups: Collection[Any], base: TableMetadata, files: SnapshotFiles) -> TableChanges:
        """The line with the partitions of some groups moved, in the form in which the table has it."""
        units, millis = [self.units[group] for group in groups], epoch_millis(self.clock.now())
        keys = self.table.keys
        hive = {unit.folder: _hive_location(unit, millis).facts for unit in units if unit.hive}
        sequences = {unit.folder: max(unit.line, unit.to_sequence) for unit in units}
        moved = {folder: line for folder, line in sequences.items() if line != NOTHING_MERGED}
        if not is_in_files(base, self.table.base.branch):
            text = moved_property(base.properties, keys, moved, millis)
            text = with_facts({PROPERTY: text}, keys, hive) if hive else text
            return TableChanges({PROPERTY: text} if moved or hive else {}, _PRODUCER)
        written = write_line(
            self.table.read_line(base).moved(moved, millis), files.snapshot_id, base.last_sequence + 1
        )
        path = f"{base.data_folder}/{FOLDER}/{files.snapshot_id}-{files.writer}.puffin"
        files.store(path, written.data)
        statistics = statistics_entry(written, path, files.snapshot_id)
        properties = {PROPERTY: with_facts(base.properties, keys, hive)} if hive else {}
        return TableChanges(properties, {**_PRODUCER, **summary_flags()}, statistics)


def _hive_location(unit: MixedUnit, millis: int) -> HiveLocation:
    return HiveLocation(unit.hive, millis // 1000, BASE_AND_CHANGE if any(unit.changes) else BASE)


def _spec_of(metadata: TableMetadata) -> PartitionSpec:
    return spec_of(metadata, metadata.spec_id)
