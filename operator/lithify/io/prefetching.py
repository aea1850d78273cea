"""Reads files ahead of their use, to hide latency. Called by the readers of manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_AHEAD = 4
"""Files that are prefetched at a time: manifests have about 8 MiB each."""

Item = TypeVar("Item")
Content = TypeVar("Content")


def prefetched(items: Sequence[Item], read: Callable[[Item], Content]) -> Iterator[tuple[Item, Content]]:
    """What is read for each of some items, in their order; a few at a time."""
    with ThreadPoolExecutor(_AHEAD) as readers:
        for start in range(0, len(items), _AHEAD):
            part = items[start : start + _AHEAD]
            yield from zip(part, readers.map(read, part), strict=True)
