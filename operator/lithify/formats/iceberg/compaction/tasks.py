"""Makes the tasks of a plan: each rewrites some of a unit's files.

Called by the adapter. Options of writers are read once per plan, so a value that cannot be honoured is an
error before any work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.minor_units import MinorUnit
from lithify.formats.iceberg.compaction.plan import IcebergPlan, IcebergUnit
from lithify.formats.iceberg.data_files.schema import LINEAGE, Schema, parse_schema
from lithify.formats.iceberg.data_files.stored import parse_name_mapping
from lithify.formats.iceberg.deletes.merged import MergedDeletes
from lithify.formats.iceberg.model import DataFile, Partition
from lithify.formats.iceberg.planning.options import planning_options
from lithify.formats.iceberg.rewriting.destinations import Destination, KeptFile
from lithify.formats.iceberg.rewriting.options import WriteOptions, parse_write_options
from lithify.formats.iceberg.rewriting.ordering import key_of
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.data_locations import data_locations
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import spec_of
from lithify.formats.iceberg.table.row_orders import RowOrder
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.tasks import Sizing

_FILES_A_TASK = 4
"""Files of the target size that a task writes by default."""
_SORTED_FILES_A_TASK = 16
"""The same where rows are sorted; those beyond a task's memory go through its local disk."""
NAME_MAPPING = "schema.name-mapping.default"
_LINEAGE_SINCE = 3
_DELETES_SINCE = 2
VECTORS_SINCE = 3


def tasks_of(
    table: IcebergTable, plan: IcebergPlan, sizing: Sizing
) -> Mapping[IcebergGroup, Sequence[RewriteTask]]:
    """The tasks of each group.

    Raises:
        InvalidOption, UnsupportedTable: new files cannot be written as the table's properties say.
    """
    metadata = plan.pinned.metadata
    options = write_options(table)
    specs = tuple(spec_of(metadata, number) for number in metadata.specs)
    mapping = parse_name_mapping(table.properties.get(NAME_MAPPING))
    schema, order = schema_of(metadata), plan.pinned.order

    def task_of(unit: IcebergUnit, files: tuple[DataFile, ...]) -> RewriteTask:
        task = RewriteTask(
            files=files,
            target=_target(metadata, schema, _encodings(options, files), unit, order),
            storage=table.storage,
            budget=sizing.budget,
            specs=specs,
            mapping=mapping,
            order=None if _is_in(order, files) else key_of(order, schema),
            maps=metadata.metadata_folder if metadata.format_version >= _DELETES_SINCE else None,
        )
        return _keeping(task, unit, metadata.format_version) if isinstance(unit, MinorUnit) else task

    return {
        unit.group: [task_of(unit, files) for files in divided(unit, options, order, sizing)]
        for unit in plan.units
    }


def _keeping(task: RewriteTask, unit: MinorUnit, format_version: int) -> RewriteTask:
    """A task that keeps the files of another, reads nothing of them but keys, and writes positions."""
    has_vectors = format_version >= VECTORS_SINCE
    place = task.target.destination or Destination(Partition(task.target.spec.id))
    return replace(
        task,
        files=(),
        deletes=MergedDeletes(has_vectors, unit.moved),
        kept=tuple(KeptFile(file, place, file.own_positions) for file in task.files),
        has_vectors=has_vectors,
    )


def count_tasks(table: IcebergTable, plan: IcebergPlan, sizing: Sizing) -> int:
    """The number of tasks, without making any."""
    options, order = write_options(table), plan.pinned.order
    return sum(sum(1 for _ in divided(unit, options, order, sizing)) for unit in plan.units)


def write_options(table: IcebergTable) -> WriteOptions:
    """How new files are written: of the size that plans reckon with, so none is large or small to them."""
    target_size = planning_options(table.overrides, table.properties).target_size
    return parse_write_options(table.properties, target_size=target_size)


def schema_of(metadata: TableMetadata) -> Schema:
    """The current schema, with the columns of earlier ones that equality deletes may name."""
    current = metadata.schemas[metadata.schema_id]
    return parse_schema(current, [each for number, each in metadata.schemas.items() if each is not current])


def divided(
    unit: IcebergUnit, options: WriteOptions, order: RowOrder, sizing: Sizing
) -> Iterator[tuple[DataFile, ...]]:
    """Divides a unit's files among tasks; of minor units, the files that they keep.

    Each task gets adjacent files of about equal bytes, enough for whole new files. Rows are sorted within a
    task, so tasks that sort are larger. Outputs of several sorting tasks overlap until the next run, which
    finds them by their bounds and joins neighbours.
    """
    files = _SORTED_FILES_A_TASK if order.fields else _FILES_A_TASK
    usual = int(options.files.target_size * files * sizing.share)
    most = max(sizing.task_bytes or usual, unit.split_size)
    chosen = unit.files or unit.kept
    total = sum(unit.weight_of(file) for file in chosen)
    count = max(1, round(total / most))
    share, size = total / count, 0
    taken: list[DataFile] = []
    for file in chosen:
        weight = unit.weight_of(file)
        if taken and size + weight / 2 > share and count > 1:
            yield tuple(taken)
            taken, size, count = [], 0, count - 1
        taken.append(file)
        size += weight
    if taken:
        yield tuple(taken)


def _encodings(options: WriteOptions, files: Sequence[DataFile]) -> WriteOptions:
    """Row ids are stored as differences if none is null, other integers are not.

    Spark decodes differences in vectors since Iceberg 1.10, which is the first that reads row ids; but until
    1.12 it fails at pages in which all values are null. Data columns have readers of earlier versions.
    """
    has_ids = all(file.first_row_id is not None for file in files)
    return options.with_packed([field.name for field in LINEAGE]) if has_ids else options


def _is_in(order: RowOrder, files: Sequence[DataFile]) -> bool:
    """Whether rows are in an order already: those of one file that says so."""
    return order.id is not None and [file.sort_order_id for file in files] == [order.id]


def _target(
    metadata: TableMetadata, schema: Schema, options: WriteOptions, unit: IcebergUnit, order: RowOrder
) -> WriteTarget:
    return WriteTarget(
        locations=data_locations(metadata),
        schema=schema,
        spec=spec_of(metadata, metadata.spec_id),
        options=options,
        destination=None if unit.partition is None else Destination(unit.partition),
        has_lineage=metadata.format_version >= _LINEAGE_SINCE,
        sort_order_id=order.id,
    )
