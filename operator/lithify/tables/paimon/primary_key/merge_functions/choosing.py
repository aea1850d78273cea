"""From a table's schema and options to its merge function.

Called by `opening`, which refuses tables whose options make no function, and by `planning` for every task.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.rewriting.functions import Deduplicate, MergeFunction
from lithify.tables.paimon.primary_key.merge_functions.aggregation import aggregation
from lithify.tables.paimon.schema.schema import Schema


def merge_function(schema: Schema, *, ignore_deletes: bool) -> MergeFunction:
    """What becomes of the records of a key.

    Raises:
        InvalidOption: Paimon refuses an option, or this release does.
    """
    if is_aggregating(schema.options):
        return aggregation(schema)
    return Deduplicate(ignore_retractions=ignore_deletes)


def is_aggregating(options: Mapping[str, str]) -> bool:
    """Whether the merge engine is aggregation."""
    return options.get("merge-engine", "").strip().lower() == "aggregation"
