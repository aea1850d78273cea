"""Parses sizes as people and table options write them: `128 mb`, `20GiB`. Pure.

Called by the command line and by adapters. Units are binary, as in Paimon, Flink and Java: `k` is 1024 bytes.
Quantities of Kubernetes, where `M` is a million, are in `resources.quantities`.
"""

from __future__ import annotations

import re

_LARGEST_LONG = (1 << 63) - 1
_UNITS = ("", "k", "m", "g", "t")
_NAMES = {
    name: 1 << 10 * power
    for power, (unit, word) in enumerate(
        zip(_UNITS, ("bytes", "kibibytes", "mebibytes", "gibibytes", "tebibytes"), strict=True)
    )
    for name in (unit, f"{unit}b", word)
}
_PARTS = re.compile(r"([0-9]+)\s*([A-Za-z]*)")


def parse_size(text: str) -> int:
    """The number of bytes in a text: a whole number and an optional unit, bytes by default.

    Raises:
        ValueError: the text is no size, or it exceeds 64 bits.
    """
    match = _PARTS.fullmatch(text.strip())
    if match is None:
        raise ValueError("it must be a whole number and a unit, for example 128 mb")
    number, unit = match.groups()
    if unit.lower() not in _NAMES:
        raise ValueError(f"{unit} is no unit; those are b, kb, mb, gb and tb")
    size = int(number) * _NAMES[unit.lower()]
    if size > _LARGEST_LONG:
        raise ValueError(f"it must be at most {_LARGEST_LONG} bytes")
    return size
