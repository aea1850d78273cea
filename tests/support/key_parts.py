"""What tests ask of the parts of keys that the product has no use for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lithify.columns.order import Part


def part_kinds(parts: Sequence[Part]) -> tuple[type[int] | type[bytes], ...]:
    """Whether each part holds ints or bytes, for `decode_key`."""
    return tuple(int if isinstance(part, np.ndarray) else bytes for part in parts)
