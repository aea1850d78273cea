"""By what the rows of a clustered table are sorted, now and when its files were written.

Called by planning, inspections and the observer. Reads older schemas on demand.
"""

from __future__ import annotations

from lithify.engine.rewrite.sort_keys import SortKey
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.clustering_options import ClusteringSettings, clustering_columns
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.planning.clustering.plan import SameColumns
from lithify.formats.paimon.table import PaimonTable


def clustering_of(table: PaimonTable) -> ClusteringSettings:
    """How the rows of a table are clustered.

    Raises:
        UnsupportedTable: they are not.
    """
    if table.options.clustering is None:
        raise UnsupportedTable(table.name, ("its rows are not clustered",))
    return table.options.clustering


def same_columns(table: PaimonTable) -> SameColumns:
    """Tells whether a schema of the table has the clustering columns of the newest one."""
    newest, known = clustering_of(table).planning.columns, {table.schema.id: True}

    def has_same_columns(schema_id: int) -> bool:
        if schema_id not in known:
            reader = OptionReader(table.schema_of(schema_id).options)
            known[schema_id] = clustering_columns(reader) == newest
        return known[schema_id]

    return has_same_columns


def sort_key(table: PaimonTable) -> SortKey:
    """By what the rows of a table are sorted."""
    settings = clustering_of(table)
    columns = settings.planning.columns
    assert settings.strategy is not None  # noqa: S101  # otherwise the table is refused
    return SortKey(
        columns=columns,
        nullable=frozenset(name for name in columns if table.schema.column(name).type.nullable),
        strategy=settings.strategy,
        text_bytes=settings.text_bytes,
    )
