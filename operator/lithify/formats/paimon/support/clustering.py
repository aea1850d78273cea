"""Why the rows of a table cannot be clustered as its options say.

Called by `reasons` for tables without a primary key. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.columns.orders import SortStrategy
from lithify.formats.paimon.options.clustering_options import COLUMNS, INCREMENTAL, STRATEGY
from lithify.formats.paimon.options.picking_options import VECTORS
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.schema.schema import Schema

_ORDERED = "bucket-append-ordered"


def clustering_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """The reasons, none if the table is not clustered or can be."""
    settings = options.clustering
    if settings is None:
        return
    together, columns = f"option {INCREMENTAL} = true with", settings.planning.columns
    if not columns:
        yield f"option {INCREMENTAL} = true without {COLUMNS}: by which columns rows are sorted is not said"
    types = {column.name: column.type for column in schema.columns}
    for name in columns:
        if name not in types:
            yield f"option {COLUMNS} = {','.join(columns)}: the table has no column {name}"
        elif types[name].is_nested:
            yield f"option {COLUMNS} = {','.join(columns)}: values of {name} have no order"
    if settings.strategy is None:
        yield f"option {STRATEGY}: no way to sort rows that this release knows ({', '.join(SortStrategy)})"
    if settings.strategy is SortStrategy.HILBERT and len(columns) == 1:
        yield f"option {STRATEGY} = hilbert with one column: Paimon needs at least two for such a curve"
    if options.vectors is not None:
        yield f"{together} {VECTORS} = true: this release does not drop deleted rows while it sorts"
    if settings.planning.grows and schema.options.get(_ORDERED, "true").strip().lower() != "false":
        yield (
            f"{together} buckets and {_ORDERED} = true: sorting would change the order of rows, on which "
            "readers rely"
        )
