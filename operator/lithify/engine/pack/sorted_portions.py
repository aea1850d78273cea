"""Sorts the rows of many sources in portions that fit into memory. Pure.

Called by merges of manifests, which hold a number for each entry, but not the entries. A portion names the
rows that it takes from each source; whoever asked reads these sources again, so nothing is spilled to disk.
Sources that are sorted already are read about once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lithify.columns.column_groups import Numbers


@dataclass(frozen=True, slots=True)
class Portion:
    """Consecutive rows in the order of their keys.

    Attributes:
        rows: the rows of each source that has any, ascending, by the number of the source.
        order: the order of these rows, once they are joined in the order of their sources.
    """

    rows: tuple[tuple[int, Numbers], ...]
    order: Numbers


def sorted_portions(keys: Sequence[Numbers], sizes: Sequence[int], budget: int) -> Iterator[Portion]:
    """Portions of rows in ascending order of their keys; equal ones keep the order of sources and rows.

    Args:
        keys: the key of each row, for each source.
        sizes: bytes of all rows of each source.
        budget: bytes of a portion, by the average row of each source; a single row may be larger.
    """
    counts = np.array([len(each) for each in keys], dtype=np.int64)
    if not counts.sum():
        return
    starts = np.cumsum(counts) - counts
    order = np.argsort(np.concatenate(list(keys)), kind="stable")
    widths = np.array(sizes, dtype=np.float64) / np.maximum(counts, 1)
    sources = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(widths[sources[order]])
    numbers = ((ends - widths[sources[order]]) // max(1, budget)).astype(np.int64)
    bounds = np.flatnonzero(np.diff(numbers, prepend=-1))
    for first, last in zip(bounds, [*bounds[1:], len(order)], strict=True):
        yield _portion(order[first:last], starts, sources)


def _portion(places: Numbers, starts: Numbers, sources: Numbers) -> Portion:
    """The portion of rows that are named by their places in all sources together."""
    ascending = np.sort(places)
    named, firsts = np.unique(sources[ascending], return_index=True)
    parts = np.split(ascending, firsts[1:])
    rows = tuple(
        (int(source), part - starts[source]) for source, part in zip(named.tolist(), parts, strict=True)
    )
    return Portion(rows, np.searchsorted(ascending, places))
