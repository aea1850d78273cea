"""The adaptive radix tree of Java's 64-bit Roaring bitmaps: reads, extends and writes it.

Used by `long_bitmaps`. Keys have six bytes. A node is of one of four kinds by the number of its children;
it grows to the next one when it is full, and only removals, which there are none of here, shrink it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from lithify.formats.paimon.primary_key.merge_functions.aggregates.roaring import Cursor

KEY_BYTES: Final = 6
_FOUR, _SIXTEEN, _FORTY_EIGHT, _ALL, _LEAF = range(5)
_ROOM = {_FOUR: 4, _SIXTEEN: 16, _FORTY_EIGHT: 48, _ALL: 256}
_TABLE_BYTES = {_FOUR: 4, _SIXTEEN: 16, _FORTY_EIGHT: 256, _ALL: 32}
_WORD_BYTES = {_FOUR: 4, _SIXTEEN: 8, _FORTY_EIGHT: 8, _ALL: 1}
"""Java packs tables into integers, first byte highest, and writes these with the lowest byte first."""
_NO_SLOT = 0xFF
_LIMIT = {_FOUR: 256, _SIXTEEN: 256, _FORTY_EIGHT: 48, _ALL: 256}


@dataclass(slots=True)
class _Leaf:
    key: bytes
    place: int
    prefix: bytes = b""


@dataclass(slots=True)
class _Inner:
    """A node with children.

    Attributes:
        kind: its kind.
        prefix: bytes that all keys below have in common, after those that lead here.
        table: for the kinds of 4 and 16, the bytes of the children; for 48, the slot of each byte; for 256,
            a bit for each byte.
        children: the children by their byte.
    """

    kind: int
    prefix: bytes
    table: bytearray
    children: dict[int, _Node] = field(default_factory=dict)

    @staticmethod
    def of(kind: int, prefix: bytes) -> _Inner:
        filled = _NO_SLOT if kind == _FORTY_EIGHT else 0
        return _Inner(kind, prefix, bytearray([filled]) * _TABLE_BYTES[kind])

    @property
    def used(self) -> list[int]:
        """The bytes that have children; in nodes of 4 and 16, unused entries of the table, too."""
        if self.kind == _FORTY_EIGHT:
            return [byte for byte, slot in enumerate(self.table) if slot != _NO_SLOT]
        if self.kind == _ALL:
            return [byte for byte in range(256) if self.table[byte >> 3] >> (byte & 7) & 1]
        return list(self.table)

    def insert(self, byte: int, child: _Node) -> _Inner:
        """This node with another child, or the larger node that takes its place."""
        count = len(self.children)
        if count == _ROOM[self.kind]:
            return self._grown().insert(byte, child)
        self.children[byte] = child
        if self.kind == _FORTY_EIGHT:
            taken = {*self.table}
            self.table[byte] = next(
                slot for slot in (count, *range(_ROOM[_FORTY_EIGHT])) if slot not in taken
            )
        elif self.kind == _ALL:
            self.table[byte >> 3] |= 1 << (byte & 7)
        else:
            self.table[: count + 1] = bytes(sorted(self.children))
        return self

    def _grown(self) -> _Inner:
        grown = _Inner.of(self.kind + 1, self.prefix)
        for slot, byte in enumerate(sorted(self.children)):
            if grown.kind == _FORTY_EIGHT:
                grown.table[byte] = slot
                grown.children[byte] = self.children[byte]
            else:
                grown.insert(byte, self.children[byte])
        return grown


_Node: TypeAlias = _Leaf | _Inner


@dataclass(slots=True)
class Tree:
    """The tree.

    Attributes:
        leaves: the place of each key.
    """

    leaves: dict[bytes, int] = field(default_factory=dict)
    _root: _Node | None = None

    @staticmethod
    def read(cursor: Cursor) -> Tree:
        """Reads a tree that is not empty.

        Raises:
            ValueError: it is none.
        """
        leaves: dict[bytes, int] = {}
        size = cursor.integer(8)
        root = _read(cursor, leaves, b"")
        if len(leaves) != size:
            raise ValueError(f"it has {len(leaves)} keys, and says that there are {size}")
        return Tree(leaves, root)

    def insert(self, key: bytes, place: int) -> None:
        """Inserts a key that the tree does not have."""
        leaf = _Leaf(key, place)
        self._root = leaf if self._root is None else _inserted(self._root, leaf, 0)
        self.leaves[key] = place

    def serialize(self) -> bytes:
        """The tree as Java writes it; it must not be empty."""
        parts = [len(self.leaves).to_bytes(8, "little")]
        if self._root is not None:
            _write(self._root, parts)
        return b"".join(parts)


def _read(cursor: Cursor, leaves: dict[bytes, int], above: bytes) -> _Node:
    """Reads a node and all below it.

    Args:
        cursor: where it begins.
        leaves: takes the keys.
        above: the bytes that lead to it.
    """
    kind, count, length = cursor.integer(1), cursor.integer(2), cursor.integer(1)
    prefix = cursor.take(length)
    if kind == _LEAF:
        leaf = _Leaf(cursor.take(KEY_BYTES), cursor.integer(8), prefix)
        if count or not leaf.key.startswith(above) or leaf.key in leaves:
            raise ValueError("a key is not where it should be")
        leaves[leaf.key] = leaf.place
        return leaf
    above += prefix
    if kind > _ALL or not 0 < count <= _ROOM[kind] or len(above) >= KEY_BYTES:
        raise ValueError("a node of its tree is of an unknown kind or size")
    node = _Inner(kind, prefix, _reversed(cursor.take(_TABLE_BYTES[kind]), kind))
    used = node.used[:count] if kind in (_FOUR, _SIXTEEN) else node.used
    slots = {node.table[byte] for byte in used} if kind == _FORTY_EIGHT else {*used}
    if used != sorted(used) or len(used) != count or len(slots) != count or max(slots) >= _LIMIT[kind]:
        raise ValueError("a node of its tree does not say what its children are")
    for byte in used:
        node.children[byte] = _read(cursor, leaves, above + bytes((byte,)))
    return node


def _write(node: _Node, parts: list[bytes]) -> None:
    prefix = bytes((len(node.prefix),)) + node.prefix
    if isinstance(node, _Leaf):
        parts += [bytes((_LEAF, 0, 0)), prefix, node.key, node.place.to_bytes(8, "little")]
        return
    parts += [bytes((node.kind,)), len(node.children).to_bytes(2, "little"), prefix]
    parts.append(bytes(_reversed(node.table, node.kind)))
    for byte in sorted(node.children):
        _write(node.children[byte], parts)


def _inserted(node: _Node, leaf: _Leaf, depth: int) -> _Node:
    """The node that takes the place of another one after a leaf is inserted below it.

    Args:
        node: the other one.
        leaf: the leaf.
        depth: how many bytes lead to the node.
    """
    if isinstance(node, _Leaf):
        common = _common(node.key[depth:], leaf.key[depth:])
        node.prefix = b""
        return _split(node, node.key[depth + common], leaf, depth, common)
    common = _common(node.prefix, leaf.key[depth:])
    if common < len(node.prefix):
        byte, node.prefix = node.prefix[common], node.prefix[common + 1 :]
        return _split(node, byte, leaf, depth, common)
    depth += common
    byte = leaf.key[depth]
    child = node.children.get(byte)
    if child is None:
        return node.insert(byte, leaf)
    node.children[byte] = _inserted(child, leaf, depth + 1)
    return node


def _split(node: _Node, byte: int, leaf: _Leaf, depth: int, common: int) -> _Inner:
    """A new node above a node and a leaf, which have some bytes in common."""
    parent = _Inner.of(_FOUR, leaf.key[depth : depth + common])
    return parent.insert(byte, node).insert(leaf.key[depth + common], leaf)


def _common(one: bytes, other: bytes) -> int:
    """The number of bytes that both begin with."""
    pairs = zip(one, other, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _reversed(table: bytes | bytearray, kind: int) -> bytearray:
    """The table with the bytes of each of its words in reverse order."""
    width = _WORD_BYTES[kind]
    words = (table[start : start + width][::-1] for start in range(0, len(table), width))
    return bytearray(b"".join(words))
