"""Makes a table's merge function from its schema and options.

Called by `tasks` and `postponed` for every task; tables with invalid options are refused before.
"""

from __future__ import annotations

from lithify.engine.rewrite.functions import Deduplicate, MergeFunction
from lithify.formats.paimon.options.merging.aggregation import AggregationOptions
from lithify.formats.paimon.options.merging.merge_options import FirstRowOptions, read_merge_options
from lithify.formats.paimon.options.merging.partial_update import PartialUpdateOptions
from lithify.formats.paimon.primary_key.merge_functions.aggregation import aggregation_of
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.formats.paimon.primary_key.merge_functions.partial_update import partial_update_of
from lithify.formats.paimon.schema.schema import Schema


def merge_function(schema: Schema, *, ignore_deletes: bool) -> MergeFunction:
    """The merge function of a table.

    Raises:
        InvalidOption: Paimon or this release refuses an option.
    """
    options = read_merge_options(schema, ignore_deletes=ignore_deletes)
    if isinstance(options, PartialUpdateOptions):
        return partial_update_of(options)
    if isinstance(options, AggregationOptions):
        return aggregation_of(options)
    if isinstance(options, FirstRowOptions):
        return FirstRow(options.ignore_deletes)
    return Deduplicate(ignore_retractions=options.ignore_deletes)
