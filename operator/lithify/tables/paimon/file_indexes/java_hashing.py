"""The order in which a Java HashMap iterates over texts.

Used by `container`: Java writes the indexes of a file in this order. With it, our files are the same bytes.
Where keys have the same place in a map, the order in which they were added decides.
"""

from __future__ import annotations

from collections.abc import Sequence

_WORD = 0xFFFF_FFFF
_SMALLEST = 16
_LOAD = 0.75


def hash_map_order(keys: Sequence[str]) -> list[str]:
    """Different keys, given in the order in which they are added, in the order of iteration."""
    capacity = _SMALLEST
    while len(keys) > capacity * _LOAD:
        capacity *= 2
    return sorted(keys, key=lambda key: _spread(text_hash(key)) & (capacity - 1))


def text_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(units), 2):
        code = (code * 31 + int.from_bytes(units[at : at + 2])) & _WORD
    return code


def _spread(code: int) -> int:
    return code ^ code >> 16
