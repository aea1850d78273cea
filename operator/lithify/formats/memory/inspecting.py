"""Figures of a reference table for `lithify inspect`."""

from __future__ import annotations

from lithify.formats.memory.planning import select, small_files, work_in
from lithify.formats.memory.snapshot import DataFile, Group
from lithify.formats.memory.table import MemoryTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.inspection import GroupInspection, TableInspection
from lithify.formats.protocol.strategy import Strategy


def inspect(table: MemoryTable, selection: Selection) -> TableInspection:
    """Describes the selected groups of the newest snapshot."""
    newest = table.latest()
    groups = {} if newest is None else select(newest, selection).snapshot.files
    return TableInspection(
        table=table.name,
        snapshot=None if newest is None else newest.id,
        primary_key=(),
        partition_keys=("group",),
        unsupported=table.refusals,
        groups=tuple(_group(table, group, files) for group, files in groups.items()),
    )


def _group(table: MemoryTable, group: Group, files: tuple[DataFile, ...]) -> GroupInspection:
    unit = work_in(table, group, files, Strategy.MINOR)
    return GroupInspection(
        group=group.path,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        rows=sum(file.rows for file in files),
        small_files=table.small(files),
        delete_ratio=0.0,
        triggers=(small_files(table, files),),
        due=None if unit is None else unit.trigger,
    )
