"""Columns of floating-point numbers whose values are compared by their bits."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def with_one_nan(column: Any) -> Any:
    """A column in which all NaN have the same bits; columns of other types as they are."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(math.nan, column.type), column)
