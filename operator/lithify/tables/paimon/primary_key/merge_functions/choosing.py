"""From a table's schema and options to its merge function.

Called by `opening`, which refuses tables whose options make no function, and by `planning` for every task.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.errors import InvalidOption
from lithify.rewriting.functions import Deduplicate, MergeFunction
from lithify.tables.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.tables.paimon.primary_key.merge_functions.aggregation import aggregation
from lithify.tables.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.tables.paimon.primary_key.merge_functions.partial_update_options import (
    group_options,
    partial_update_of,
)
from lithify.tables.paimon.schema.schema import Schema


def merge_function(schema: Schema, *, ignore_deletes: bool) -> MergeFunction:
    """What becomes of the records of a key.

    Raises:
        InvalidOption: Paimon refuses an option, or this release does.
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


def sequence_fields_of_groups(options: Mapping[str, str]) -> set[str]:
    """The columns that give sequence groups their order; none where the merge engine has no groups."""
    if merge_engine(options) is not MergeEngine.PARTIAL_UPDATE:
        return set()
    return {name for group in group_options(options) for name in group.fields}
