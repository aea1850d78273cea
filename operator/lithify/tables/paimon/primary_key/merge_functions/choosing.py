"""Chooses the merge function of a primary-key table: what its `merge-engine` makes of the records of a key.

Called by `planning` for the tasks of a run, and by `opening` to name what a table has that cannot be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lithify.errors import UnsupportedTable
from lithify.rewriting.functions import Deduplicate, MergeFunction
from lithify.tables.paimon.options.table_options import TableOptions
from lithify.tables.paimon.primary_key.merge_functions.aggregation import aggregation
from lithify.tables.paimon.schema.schema import Schema

_ENGINES: Mapping[str, Callable[[Schema, TableOptions], MergeFunction]] = {
    "deduplicate": lambda _, options: Deduplicate(ignore_retractions=options.ignore_deletes),
    "aggregation": lambda schema, _: aggregation(schema),
}


def merge_function_of(schema: Schema, options: TableOptions) -> MergeFunction:
    """The merge function of a table whose engine `support` lets through.

    Raises:
        UnsupportedTable: the engine cannot merge the table as it is declared; every reason is named.
        InvalidOption: a value cannot be parsed.
    """
    return _ENGINES[schema.options.get("merge-engine", "deduplicate").strip().lower()](schema, options)


def merge_refusals(schema: Schema, options: TableOptions) -> tuple[str, ...]:
    """Why the records of a table cannot be merged; an engine that nobody knows is left to `support`.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    if schema.options.get("merge-engine", "deduplicate").strip().lower() not in _ENGINES:
        return ()
    try:
        merge_function_of(schema, options)
    except UnsupportedTable as error:
        return error.reasons
    return ()
