"""The order in which Java's hash maps iterate.

Used by `container` and `building`: Java writes the indexes of a file in this order. With it, our files are
the same bytes. Where keys have the same place in a map, the order in which they were added decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Key = TypeVar("Key")

_WORD = 0xFFFF_FFFF
_SMALLEST = 16
_LOAD = 0.75
_TRUE, _FALSE = 1231, 1237
"""Hash codes of booleans."""


def text_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number."""
    units = text.encode("utf-16-be", "surrogatepass")
    return _polynomial([int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)], 0)


def column_hash(column: tuple[str, str | None]) -> int:
    """`FileIndexOptions.Column.hashCode` of a column, or of a column and a key of its maps."""
    name, key = column
    parts = [text_hash(name), 0 if key is None else text_hash(key), _FALSE if key is None else _TRUE]
    return _polynomial(parts, 1)


def in_map_order(keys: Sequence[Key], code: Callable[[Key], int], *, computed: bool = True) -> list[Key]:
    """Different keys, given in the order in which they are added, in the order of iteration.

    Args:
        keys: the keys.
        code: their hash code, as an unsigned number.
        computed: whether they are added by `computeIfAbsent`. It lets a map grow one key later than `put`,
            and puts a key before those that have the same place, not behind them.
    """
    capacity = _SMALLEST
    while len(keys) - computed > capacity * _LOAD:
        capacity *= 2
    added = [*reversed(keys)] if computed else keys
    return sorted(added, key=lambda key: _spread(code(key)) & (capacity - 1))


def hash_map_order(keys: Sequence[str], *, computed: bool = True) -> list[str]:
    """The same for texts."""
    return in_map_order(keys, text_hash, computed=computed)


def _polynomial(numbers: Sequence[int], start: int) -> int:
    code = start
    for number in numbers:
        code = (code * 31 + number) & _WORD
    return code


def _spread(code: int) -> int:
    return code ^ code >> 16
