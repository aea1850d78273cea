"""Sizes as policies write them (`512Mi`), in bytes."""

from __future__ import annotations

_UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_UNIT_LENGTH = 2


def quantity_bytes(text: str) -> int:
    """The bytes of a `Quantity`, which is a whole number with or without a binary unit.

    Raises:
        ValueError: it is something else; the API server would have refused it.
    """
    unit = _UNITS.get(text[-_UNIT_LENGTH:])
    return int(text) if unit is None else int(text[:-_UNIT_LENGTH]) * unit
