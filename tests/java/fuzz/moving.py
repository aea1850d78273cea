"""Rows that move between partitions, as Paimon's assigner hands them to writers; called by `playing`.

It keeps the partition of every key. Here the dice say where a key was before, because a bucket is compacted
for itself: it matters which rows lie in it, and not whether others do elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from zlib import crc32

from infrastructure.oracle.model import Row
from java.fuzz.history import History

_BUCKETS = 2


def with_moves(random: Random, rows: Sequence[Row], history: History, names: Sequence[str]) -> Iterator[Row]:
    """Half of the rows come from another partition, and are deleted there before."""
    for row in rows:
        if random.random() < 0.5:
            before = dict(zip(names, row[1:], strict=True))
            before.update({name: random.choice(history.partition[name][1]) for name in history.moving})
            yield ["-D", *before.values()]
        yield row


def bucket_of(row: Row, history: History, names: Sequence[str]) -> int:
    """The bucket of a key, the same whenever it comes to a partition."""
    values = dict(zip(names, row[1:], strict=True))
    place = [values[name] for name in (*history.key, *history.partition)]
    return crc32(repr(place).encode()) % _BUCKETS
