"""Why a table has no canary: no branch can be made of it, or pypaimon reads other rows after a compaction.

Called by `table_copies`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypaimon.read.merge_engine_support import (
    check_sequence_field_supported,
    partial_update_unsupported_options,
)
from pypaimon.schema.data_types import PyarrowFieldParser

from lithify.columns.row_digests import columns_without_digests
from lithify.files.types import ColumnType
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.options.record_expiry import EXPIRE_TIME
from lithify.formats.paimon.table import PaimonTable

_NO_ENGINES = {
    MergeEngine.FIRST_ROW: "readers do not see rows of level 0 before they are compacted",
    MergeEngine.AGGREGATION: "pypaimon does not add up in the order of compactions, so sums of floats differ",
}
_FORMAT = "file.format"
_FLOATS = frozenset({"FLOAT", "DOUBLE"})


def canary_refusals(table: PaimonTable) -> Iterator[str]:
    """Every reason, none if the table can have a canary."""
    if table.snapshots.has_server:
        yield "a catalog whose server commits: branches cannot be made by files alone"
    yield from _column_refusals(table)
    yield from _changed_columns(table)
    if table.schema.primary_key:
        yield from _merge_refusals(table)


def _column_refusals(table: PaimonTable) -> Iterator[str]:
    has_orc = any("orc" in value.lower() for name, value in table.schema.options.items() if _FORMAT in name)
    for column, native in zip(table.schema.columns, table.native.fields, strict=True):
        kinds = [*_types_in(column.type)]
        problem = next(filter(None, map(_type_problem, kinds)), "")
        if problem:
            yield f"column {column.name}: {problem}"
        elif has_orc and not all(kind.nullable for kind in kinds[1:]):
            yield f"column {column.name}: pypaimon does not read parts that must not be null from ORC files"
        elif columns_without_digests(PyarrowFieldParser.from_paimon_schema([native])):
            yield f"column {column.name}: values of its type are not compared"


def _types_in(kind: ColumnType) -> Iterator[ColumnType]:
    yield kind
    for part in kind.fields:
        yield from _types_in(part.type)


def _type_problem(kind: ColumnType) -> str:
    if kind.root == "VARIANT":
        return "equal VARIANTs may have different bytes"
    if kind.root == "MULTISET":
        return "pypaimon does not read MULTISETs"
    return "pypaimon cuts timestamps to microseconds" if kind.is_nanos else ""


def _changed_columns(table: PaimonTable) -> Iterator[str]:
    """Why pypaimon reads older files otherwise: it does not follow all changes of types as Java does."""
    keys = {*table.schema.primary_key}
    former = [table.schema_of(number) for number in range(table.schema.id)]
    for column in table.schema.columns:
        kinds = {each.type for schema in former for each in schema.columns if each.id == column.id}
        if kinds - {column.type} and (column.name in keys or column.type.is_nested):
            yield f"column {column.name}: its type was changed, and pypaimon does not read older files of it"


def _merge_refusals(table: PaimonTable) -> Iterator[str]:
    options, engine = table.options, merge_engine(table.schema.options)
    if engine in _NO_ENGINES:
        yield f"option merge-engine = {engine}: {_NO_ENGINES[engine]}"
    elif engine is MergeEngine.PARTIAL_UPDATE:
        for name in sorted(partial_update_unsupported_options(table.native)):
            yield f"option {name}: pypaimon does not merge by it"
    if options.ignore_deletes:
        yield "option ignore-delete = true: pypaimon does not merge by it"
    if options.snapshot_ordering:
        yield "option sequence.snapshot-ordering = true: pypaimon does not merge by it"
    if options.vectors is not None:
        yield (
            "option deletion-vectors.enabled = true with a primary key: readers do not see rows of level 0 "
            "before they are compacted"
        )
    if options.expiry is not None:
        yield f"option {EXPIRE_TIME}: a compaction drops rows that are old"
    if options.postponed is not None:
        yield "option bucket = -2: postponed rows are not read before a compaction moves them"
    yield from _order_refusals(table)


def _order_refusals(table: PaimonTable) -> Iterator[str]:
    """Why pypaimon cannot order the records of a key, mostly by its own words."""
    kinds = {column.name: column.type.root for column in table.schema.columns}
    for field in table.options.sequence_fields:
        if kinds.get(field.name) in _FLOATS:
            yield f"option sequence.field = {field.name}: pypaimon orders floats otherwise"
    try:
        check_sequence_field_supported(table.native)
    except (NotImplementedError, ValueError) as error:
        yield f"option sequence.field: pypaimon cannot order by it ({error})"
