"""The field ids that Paimon gives to the elements, keys and values of nested columns.

Used for the schemas of data files and for shredded variants. Follows Paimon's `SpecialFields`.
"""

from __future__ import annotations

from lithify.files.types import Field

_BASE, _DEPTHS = 536870911, 1024


def part_id(part: Field, number: int, depth: int) -> int:
    """The id of a part, computed from the id of its column and its depth there."""
    offset = number * _DEPTHS + depth
    return _BASE - offset if part.name == "key" else _BASE + offset
