"""Which delete files a commit drops: those that no live file, the new ones included, can still need. Pure.

A position delete applies to older or equally old data, an equality delete to older data only, each within its
partition; one that names its data file applies to that file alone. So the least sequence number of what stays
decides. New files count with theirs, which is that of the planned snapshot: they may need deletes that others
committed since.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, flags, integers, is_null, whole
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import Content

_NEVER = np.iinfo(np.int64).max


def dropped_deletes(
    view: View, stays: Flags, new_sequence: int | None, global_specs: Collection[int]
) -> Flags:
    """Mask of the deletes that are dropped.

    Args:
        view: the live files before the commit.
        stays: mask of the data files that stay.
        new_sequence: data sequence number of new files; None if there are none.
        global_specs: specs whose equality deletes apply to all partitions.
    """
    deletes = view.deletes
    sequence, content = integers(deletes["sequence_number"]), integers(deletes["content"])
    least = _least_by_partition(view, stays, new_sequence)
    in_partition = least[integers(deletes["partition"])] if len(deletes) else sequence
    everywhere = least.min(initial=_NEVER)
    is_global = np.isin(integers(deletes["spec_id"]), list(global_specs))
    is_equality = content == Content.EQUALITY_DELETES
    outlived = np.where(
        is_equality,
        sequence <= np.where(is_global, everywhere, in_partition),
        sequence < in_partition,
    )
    return np.where(is_null(deletes["referenced"]), outlived & (sequence > 0), _is_orphan(view, stays))


def covered_deletes(
    view: View, exposed: Flags, new_sequence: int | None, until: int, global_specs: Collection[int]
) -> Flags:
    """Mask of the equality deletes that are dropped because positions have taken their place.

    Args:
        view: the live files before the commit.
        exposed: mask of the data files that stay and are not covered.
        new_sequence: data sequence number of new files; None if there are none.
        until: the sequence number of the planned snapshot: newer deletes have become no positions.
        global_specs: specs whose equality deletes apply to all partitions.
    """
    deletes = view.deletes
    is_planned = integers(deletes["sequence_number"]) <= until
    is_equality = integers(deletes["content"]) == Content.EQUALITY_DELETES
    dropped = dropped_deletes(view, exposed, new_sequence, global_specs)
    return np.asarray(dropped & is_planned & is_equality)


def _least_by_partition(view: View, stays: Flags, new_sequence: int | None) -> np.ndarray:
    """The least sequence number of the data that stays, by partition; new files count in every one."""
    first = _NEVER if new_sequence is None else new_sequence
    least = np.full(max(1, len(view.partitions)), first, dtype=np.int64)
    partitions = integers(view.data["partition"])[stays]
    np.minimum.at(least, partitions, integers(view.data["sequence_number"])[stays])
    return least


def _is_orphan(view: View, stays: Flags) -> Flags:
    """Mask of the deletes that name a data file which does not stay."""
    staying = whole(view.data["file_path"]).filter(stays)
    return ~flags(pc.is_in(whole(view.deletes["referenced"]), value_set=staying))
