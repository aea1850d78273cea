"""Column statistics of a finished data file, as manifests store them.

Called by `writer` with the statistics of the file's format. Follows Paimon's collectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lithify.files.statistics import ColumnStats, reduced
from lithify.files.types import ColumnType
from lithify.formats.paimon.manifests.entries import Stats
from lithify.formats.paimon.rows.binary_row import encode_row


def key_stats(stats: Sequence[ColumnStats], types: Sequence[ColumnType], modes: Sequence[str]) -> Stats:
    """Statistics of the key columns; all of them are stored."""
    kept = [reduced(*each) for each in zip(stats, types, modes, strict=True)]
    return _encode(kept, types)


def value_stats(
    stats: Sequence[ColumnStats], types: Mapping[str, ColumnType], modes: Sequence[str], *, dense: bool
) -> tuple[Stats, tuple[str, ...] | None]:
    """Statistics of the value columns and, if some columns have none, the names of those that do."""
    kept = [reduced(*each) for each in zip(stats, types.values(), modes, strict=True)]
    if not dense:
        return _encode(kept, list(types.values())), None
    stored = [(name, column) for (name, column) in zip(types, kept, strict=True) if not column.is_none]
    encoded = _encode([column for _, column in stored], [types[name] for name, _ in stored])
    names = tuple(name for name, _ in stored)
    return encoded, None if len(names) == len(types) else names


def _encode(stats: Sequence[ColumnStats], types: Sequence[ColumnType]) -> Stats:
    return Stats(
        min_values=encode_row([column.minimum for column in stats], types),
        max_values=encode_row([column.maximum for column in stats], types),
        null_counts=tuple(column.nulls for column in stats),
    )
