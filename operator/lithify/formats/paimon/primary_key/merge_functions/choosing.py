"""Chooses a table's merge function from its schema and options.

Called by `opening`, which refuses tables with invalid options, and by `tasks` and `postponed` for every task.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.engine.rewrite.functions import Deduplicate, MergeFunction
from lithify.errors import InvalidOption
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.primary_key.merge_functions.aggregation import aggregation
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.formats.paimon.primary_key.merge_functions.partial_update_options import (
    group_options,
    partial_update_of,
)
from lithify.formats.paimon.schema.schema import Schema


def merge_function(schema: Schema, *, ignore_deletes: bool) -> MergeFunction:
    """The merge function of a table.

    Raises:
        InvalidOption: Paimon or this release refuses an option.
    """
    match merge_engine(schema.options):
        case MergeEngine.PARTIAL_UPDATE:
            return partial_update_of(schema, ignore_deletes=ignore_deletes)
        case MergeEngine.AGGREGATION:
            return aggregation(schema)
        case MergeEngine.FIRST_ROW:
            if schema.options.get("sequence.field", "").strip():
                raise InvalidOption("sequence.field", "Paimon refuses it for the merge engine first-row")
            return FirstRow(ignore_deletes)
    return Deduplicate(ignore_retractions=ignore_deletes)


def has_order_of_its_own(options: Mapping[str, str]) -> bool:
    """Whether columns of the table decide which record of a key is the newest, and not only the writers."""
    return bool(options.get("sequence.field", "").strip()) or bool(sequence_fields_of_groups(options))


def sequence_fields_of_groups(options: Mapping[str, str]) -> set[str]:
    """The sequence fields of all sequence groups; empty for merge engines without groups."""
    if merge_engine(options) is not MergeEngine.PARTIAL_UPDATE:
        return set()
    return {name for group in group_options(options) for name in group.fields}
