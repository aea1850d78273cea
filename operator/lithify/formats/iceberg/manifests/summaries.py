"""Summaries of the partitions in a manifest, by which readers skip it.

Called by `manifest_writer`. Pure.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.octets import fixed_octets, ordered
from lithify.formats.iceberg.manifests.manifest_lists import FieldSummary
from lithify.formats.iceberg.manifests.partition_types import PartitionField, PartitionType, single_value

_DECIMAL = re.compile(r"decimal\(.*\)")


def partition_summaries(partitions: pa.StructArray, fields: PartitionType) -> tuple[FieldSummary, ...]:
    """The summary of each partition field.

    Args:
        partitions: the physical partitions of all entries.
        fields: their fields.
    """
    return tuple(_summary(column, field) for column, field in zip(partitions.flatten(), fields, strict=True))


def _summary(column: pa.Array, field: PartitionField) -> FieldSummary:
    known = pc.unique(column.drop_null())
    has_nan = False
    if pa.types.is_floating(known.type):
        is_nan = pc.is_nan(known)
        has_nan = bool(pc.any(is_nan).as_py())
        known = known.filter(pc.invert(is_nan))
    least, greatest = _extremes(known, field)
    return FieldSummary(
        contains_null=column.null_count > 0,
        contains_nan=has_nan,
        lower=None if least is None else single_value(least, field.type),
        upper=None if greatest is None else single_value(greatest, field.type),
    )


def _extremes(known: pa.Array, field: PartitionField) -> tuple[object, object]:
    """The least and the greatest physical value; None if there are no values."""
    if not len(known):
        return None, None
    if _DECIMAL.fullmatch(field.type):
        order = np.lexsort(ordered(fixed_octets(known)).T[::-1])
        return known[int(order[0])].as_py(), known[int(order[-1])].as_py()
    comparable = known.cast(pa.binary()) if pa.types.is_fixed_size_binary(known.type) else known
    found = pc.min_max(comparable).as_py()
    if pa.types.is_floating(known.type):  # readers tell both zeros apart, so the bounds have to include both
        return found["min"] or -0.0, found["max"] or 0.0
    return found["min"], found["max"]
