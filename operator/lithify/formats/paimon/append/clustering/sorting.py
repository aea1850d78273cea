"""The sort key of the rows of a clustered table. Called by planning and inspections."""

from __future__ import annotations

from lithify.engine.rewrite.sort_keys import SortKey
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.clustering_options import ClusteringSettings
from lithify.formats.paimon.table import PaimonTable


def clustering_of(table: PaimonTable) -> ClusteringSettings:
    """How the rows of a table are clustered.

    Raises:
        UnsupportedTable: they are not.
    """
    if table.options.clustering is None:
        raise UnsupportedTable(table.name, ("its rows are not clustered",))
    return table.options.clustering


def sort_key(table: PaimonTable) -> SortKey:
    """The sort key of a table's rows."""
    settings = clustering_of(table)
    columns = settings.planning.columns
    assert settings.strategy is not None  # noqa: S101  # otherwise the table is refused
    return SortKey(
        columns=columns,
        nullable=frozenset(name for name in columns if table.schema.column(name).type.nullable),
        strategy=settings.strategy,
        text_bytes=settings.text_bytes,
    )
