"""Unions of serialized 64-bit Roaring bitmaps, byte for byte as Java's Roaring64Bitmap 1.2 writes them.

Called by `unions`. Java's format is its own: an adaptive radix tree of the upper 48 bits, whose leaves have
places in a list of containers. Their order, and how nodes and the list have grown, follow from the order of
insertions, so both are read, extended as Java extends them, and written again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lithify.formats.paimon.primary_key.merge_functions.aggregates import roaring
from lithify.formats.paimon.primary_key.merge_functions.aggregates.radix_tree import Tree
from lithify.formats.paimon.primary_key.merge_functions.aggregates.roaring import Container, Cursor, Kind

_EMPTY: Final = b"\0"
_NOT_TRIMMED: Final = b"\xfe"


@dataclass(slots=True)
class LongBitmap:
    """A bitmap while others are added to it.

    Attributes:
        tree: the place of the container of each key.
        slots: the containers, and None where the list has room for more.
        last: place of the last container that was added, -1 before the first.
    """

    tree: Tree = field(default_factory=Tree)
    slots: list[Container | None] = field(default_factory=list)
    last: int = -1

    @staticmethod
    def read(data: bytes) -> LongBitmap:
        """Reads a serialized bitmap.

        Raises:
            ValueError: it is none.
        """
        cursor = Cursor(data)
        if cursor.take(1) == _EMPTY:
            return LongBitmap()
        tree = Tree.read(cursor)
        if cursor.integer(4) != 1:
            raise ValueError("its containers are in several lists")
        cursor.take(1)
        slots = [_slot(cursor) for _ in range(_count(cursor, len(data)))]
        places = [place for place, each in enumerate(slots) if each is not None]
        size, first, last = cursor.integer(8), cursor.integer(4), cursor.integer(4, signed=True)
        if size != len(places) or first != 0 or not max(places, default=0) <= last < len(slots):
            raise ValueError("the number or the last place of its containers is wrong")
        if sorted(tree.leaves.values()) != places:
            raise ValueError("its keys and its containers do not belong together")
        return LongBitmap(tree, slots, last)

    def add(self, other: LongBitmap) -> None:
        """Adds the members of another bitmap; containers that are shorter as runs become runs.

        Java leaves runs alone that no other container is added to.
        """
        theirs = {key: other.slots[place] for key, place in sorted(other.tree.leaves.items())}
        mine = {key: self.slots[place] for key, place in self.tree.leaves.items()}
        self._insert([key for key in theirs if key not in mine])
        for key, container in _merged(mine, theirs).items():
            self.slots[self.tree.leaves[key]] = container

    def serialize(self) -> bytes:
        """The bitmap as Java writes it."""
        if not self.tree.leaves:
            return _EMPTY
        parts = [b"\1", self.tree.serialize(), (1).to_bytes(4, "little"), _NOT_TRIMMED]
        parts.append(len(self.slots).to_bytes(4, "little"))
        for each in self.slots:
            if each is None:
                parts.append(b"\0")
            else:
                parts += [bytes((1, each.kind)), each.cardinality.to_bytes(4, "little"), each.content]
        count = sum(each is not None for each in self.slots)
        parts += [count.to_bytes(8, "little"), bytes(4), self.last.to_bytes(4, "little")]
        return b"".join(parts)

    def _insert(self, keys: list[bytes]) -> None:
        """Gives each new key a place behind all others; the list grows by half, as Java's."""
        for key in keys:
            self.last += 1
            if self.last >= len(self.slots):
                capacity = max(len(self.slots) + (len(self.slots) >> 1), self.last + 1)
                self.slots += [None] * (capacity - len(self.slots))
            self.tree.insert(key, self.last)


def union(accumulator: bytes, value: bytes) -> bytes:
    """The union of two bitmaps.

    Raises:
        ValueError: one of them is no bitmap.
    """
    bitmap = LongBitmap.read(accumulator)
    bitmap.add(LongBitmap.read(value))
    return bitmap.serialize()


def _count(cursor: Cursor, limit: int) -> int:
    count = cursor.integer(4)
    if count > limit:
        raise ValueError(f"it says that it has {count} containers")
    return count


def _slot(cursor: Cursor) -> Container | None:
    mark = cursor.integer(1)
    if mark == 0:
        return None
    kind = cursor.integer(1)
    if mark != 1 or kind > Kind.ARRAY:
        raise ValueError("a container has an unknown kind")
    return cursor.container(Kind(kind), cursor.integer(4))


_Containers = dict[bytes, Container | None]


def _merged(mine: _Containers, theirs: _Containers) -> dict[bytes, Container]:
    """The union of two sets of containers by key: each part of both is a bitmap of 32 bits."""
    merged: dict[bytes, Container] = {}
    for_union: tuple[dict[bytes, Container], dict[bytes, Container]] = ({}, {})
    for ours, others, part in ((mine, theirs, for_union[0]), (theirs, mine, for_union[1])):
        for key, container in ours.items():
            if container is None:
                raise ValueError("a key has no container")
            if container.kind is Kind.RUNS and key not in others:
                merged[key] = container
            else:
                part[key] = container
    keys = sorted({*for_union[0], *for_union[1]})
    for start in range(0, len(keys), roaring.MOST_CONTAINERS):
        some = keys[start : start + roaring.MOST_CONTAINERS]
        first, second = (_as_bitmap(some, part) for part in for_union)
        merged.update(zip(some, roaring.split(roaring.union(first, second))[1], strict=True))
    return merged


def _as_bitmap(keys: list[bytes], containers: dict[bytes, Container]) -> bytes:
    """The containers of these keys as a bitmap whose keys are their ranks."""
    ranks = [rank for rank, key in enumerate(keys) if key in containers]
    return roaring.join(ranks, [containers[keys[rank]] for rank in ranks])
