"""Sizes as policies write them (`512Mi`, `1.5Gi`, `2G`, `1e9`), in bytes: Quantities of Kubernetes.

`Quantity` is the type of the fields. It keeps the original text, so that messages show what the user wrote.
`size_text` formats sizes for the columns of `kubectl get`.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from lithify.resources.modelling import Rule, rules
from lithify.resources.structural import INT_OR_STRING

LARGEST = 2**63 - 1
"""Kubernetes stores no larger amount; larger ones count as this."""

_SUFFIXES = {
    "": Decimal(1),
    **{unit: Decimal(10) ** power for unit, power in (("n", -9), ("u", -6), ("m", -3))},
    **{unit: Decimal(1000**power) for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Decimal(1024**power) for power, unit in enumerate("KMGTPE", start=1)},
}
_LENGTH = 32
_ABOVE_ZERO = "([0-9]*[1-9][0-9]*[.]?[0-9]*|[0-9]*[.][0-9]*[1-9][0-9]*)"
_PATTERN = f"^[+]?{_ABOVE_ZERO}([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{{1,2}})?$"
_PARTS = re.compile(r"[+]?([0-9.]+)(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))")
_FORM = Rule(
    f"type(self) == int ? self > 0 : self.matches('{_PATTERN}')",
    "a size is a number of bytes above 0, with or without a unit, such as 512Mi, 1.5Gi or 2G",
)


def _text(value: object) -> object:
    """YAML parses numbers without quotes as integers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Quantity = Annotated[
    str,
    Field(max_length=_LENGTH, pattern=_PATTERN),
    BeforeValidator(_text),
    WithJsonSchema(
        {
            INT_OR_STRING: True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": _LENGTH,
            **rules(_FORM),
        }
    ),
]
"""Bytes, in Kubernetes' notation."""


def quantity_bytes(text: str) -> int:
    """The bytes of a `Quantity`; fractions are rounded up, as in Kubernetes.

    Raises:
        ValueError: the text is no quantity; the API server would have refused it.
    """
    if len(text) > _LENGTH or not re.fullmatch(_PATTERN, text):
        raise ValueError(f"'{text[:_LENGTH]}' is no quantity above 0")
    match = _PARTS.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is no quantity")
    number, exponent, suffix = match.groups()
    scale = Decimal(10) ** int(exponent) if exponent else _SUFFIXES[suffix]
    return min(int((Decimal(number) * scale).to_integral_value(ROUND_CEILING)), LARGEST)
