"""Makes the tasks of a plan: each merges the files of one subtree of a partition.

Called by the adapter. A task reads base files, position deletes and changes as Iceberg's tasks read files
with equality deletes, and names its files by node and transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.tasks import NAME_MAPPING, write_options
from lithify.formats.iceberg.data_files.stored import parse_name_mapping
from lithify.formats.iceberg.model import Partition
from lithify.formats.iceberg.rewriting.destinations import Destination, KeptFile
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.data_locations import data_locations
from lithify.formats.iceberg.table.partition_paths import spec_of
from lithify.formats.mixed.dividing import NodeDivider, destination
from lithify.formats.mixed.file_names import FileKind, name_start
from lithify.formats.mixed.hive_files import hidden, in_hive
from lithify.formats.mixed.merge_on_read import change_deletes
from lithify.formats.mixed.nodes import written_nodes
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.units import KeyedFile, MixedPlan, MixedUnit, Subtree
from lithify.formats.protocol.tasks import Sizing


def tasks_of(
    table: MixedTable, plan: MixedPlan, sizing: Sizing
) -> Mapping[IcebergGroup, Sequence[RewriteTask]]:
    """The tasks of each group.

    Raises:
        InvalidOption, UnsupportedTable: new files cannot be written as the table's properties say.
    """
    metadata = plan.pinned.metadata
    target = WriteTarget(
        locations=data_locations(metadata),
        schema=table.schema,
        spec=spec_of(metadata, metadata.spec_id),
        options=write_options(table.base),
    )
    nodes = table.options.nodes
    return {
        unit.group: [_task(table, in_hive(target, unit), unit, part, nodes, sizing) for part in unit.subtrees]
        for unit in plan.units
    }


def _task(
    table: MixedTable, target: WriteTarget, unit: MixedUnit, part: Subtree, nodes: int, sizing: Sizing
) -> RewriteTask:
    partition = unit.partition or Partition(target.spec.id)
    place = _place(part, partition, nodes)
    is_hidden = table.change is None and not table.storage.is_object_store
    return RewriteTask(
        files=tuple(each.file for each in part.rows),
        target=target if place is None else target.at(hidden(place) if is_hidden else place),
        storage=table.storage,
        budget=sizing.budget,
        specs=(target.spec,),
        mapping=parse_name_mapping(table.properties.get(NAME_MAPPING)),
        divider=_divider(table, part, partition, nodes) if place is None else None,
        deletes=change_deletes(part, table.key_ids),
        kept=tuple(_kept(each, partition, part.last_delete) for each in part.kept),
    )


def _kept(each: KeyedFile, partition: Partition, transaction: int) -> KeptFile:
    """A base file that stays: readers of version 0.4 only apply position deletes of exactly its node."""
    start = name_start(each.node, FileKind.POSITION_DELETE, transaction)
    older = tuple(delete for delete in each.file.deletes if delete.referenced == each.file.path)
    return KeptFile(each.file, Destination(partition, start), older)


def _place(part: Subtree, partition: Partition, nodes: int) -> Destination | None:
    """Where all rows of a task go; None if they belong to several nodes."""
    written = written_nodes(part.root, nodes)
    return destination(int(written[0]), partition, part.transaction) if len(written) == 1 else None


def _divider(table: MixedTable, part: Subtree, partition: Partition, nodes: int) -> NodeDivider:
    columns = {column.name: column for column in table.schema.columns}
    key = tuple(columns[name] for name in table.key)
    return NodeDivider(key, nodes, partition, part.transaction)
