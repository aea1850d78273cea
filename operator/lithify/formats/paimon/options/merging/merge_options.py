"""Reads how the records of a key are merged, from a table's schema and options.

Called by `choosing`, which makes the merge function, and by `support`, which refuses tables with invalid
options. Observers ask here what orders records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.options.merging.aggregation import AggregationOptions, read_aggregation
from lithify.formats.paimon.options.merging.partial_update import PartialUpdateOptions, read_partial_update
from lithify.formats.paimon.options.merging.sequence_groups import written_groups
from lithify.formats.paimon.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class DeduplicateOptions:
    """The newest record of a key is kept."""

    ignore_deletes: bool


@dataclass(frozen=True, slots=True)
class FirstRowOptions:
    """The oldest record of a key is kept."""

    ignore_deletes: bool


MergeOptions: TypeAlias = AggregationOptions | DeduplicateOptions | FirstRowOptions | PartialUpdateOptions


def read_merge_options(schema: Schema, *, ignore_deletes: bool) -> MergeOptions:
    """Reads how the records of a key are merged.

    Raises:
        InvalidOption: Paimon or this release refuses an option.
    """
    match merge_engine(schema.options):
        case MergeEngine.PARTIAL_UPDATE:
            return read_partial_update(schema, ignore_deletes=ignore_deletes)
        case MergeEngine.AGGREGATION:
            return read_aggregation(schema)
        case MergeEngine.FIRST_ROW:
            if schema.options.get("sequence.field", "").strip():
                raise InvalidOption("sequence.field", "Paimon refuses it for the merge engine first-row")
            return FirstRowOptions(ignore_deletes)
    return DeduplicateOptions(ignore_deletes)


def has_order_of_its_own(options: Mapping[str, str]) -> bool:
    """Whether columns of the table decide which record of a key is the newest, and not only the writers."""
    return bool(options.get("sequence.field", "").strip()) or bool(sequence_fields_of_groups(options))


def sequence_fields_of_groups(options: Mapping[str, str]) -> set[str]:
    """The sequence fields of all sequence groups; empty for merge engines without groups."""
    if merge_engine(options) is not MergeEngine.PARTIAL_UPDATE:
        return set()
    return {name for group in written_groups(options) for name in group.fields}
