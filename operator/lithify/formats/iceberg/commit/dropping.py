"""Which delete files a commit drops: those that no live file, the new ones included, can still need. Pure.

A position delete applies to older or equally old data, an equality delete to older data only, each within its
partition; one that names its data file applies to that file alone. A file with a vector needs no other
position deletes. So the least sequence number of what stays decides. New files count with theirs, which is
that of the planned snapshot: they may need deletes that others committed since.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, flags, integers, is_null, is_one_of, whole
from lithify.formats.iceberg.manifests.delete_index import has_vector, is_vector
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import Content

_NEVER = np.iinfo(np.int64).max


def dropped_deletes(
    view: View,
    stays: Flags,
    new_sequence: int | None,
    global_specs: Collection[int],
    new_vectors: Collection[str] = (),
) -> Flags:
    """Mask of the deletes that are dropped.

    Args:
        view: the live files before the commit.
        stays: mask of the data files that stay.
        new_sequence: data sequence number of new files; None if there are none.
        global_specs: specs whose equality deletes apply to all partitions.
        new_vectors: paths of the data files that get a vector.
    """
    deletes = view.deletes
    sequence, content = integers(deletes["sequence_number"]), integers(deletes["content"])
    takes_positions = stays & ~_has_vector(view, new_vectors)
    is_global = np.isin(integers(deletes["spec_id"]), list(global_specs))
    least = _least_by_partition(view, stays, new_sequence)
    outlived = np.where(
        content == Content.EQUALITY_DELETES,
        sequence <= np.where(is_global, least.min(initial=_NEVER), _of_partitions(least, view)),
        sequence < _of_partitions(_least_by_partition(view, takes_positions, new_sequence), view),
    )
    is_orphan = np.where(is_vector(deletes), _is_orphan(view, stays), _is_orphan(view, takes_positions))
    return np.where(is_null(deletes["referenced"]), outlived & (sequence > 0), is_orphan)


def covered_deletes(
    view: View,
    exposed: Flags,
    content: Content,
    until: int,
    new_sequence: int | None,
    global_specs: Collection[int],
    new_vectors: Collection[str] = (),
) -> Flags:
    """Mask of the deletes of partitions that are dropped because positions have taken their place.

    Args:
        view: the live files before the commit.
        exposed: mask of the data files that stay and are not covered.
        content: the kind of deletes that is covered; of position deletes those about several data files.
        until: the sequence number of the planned snapshot: newer deletes are not covered.
        new_sequence: data sequence number of new files; None if there are none.
        global_specs: specs whose equality deletes apply to all partitions.
        new_vectors: paths of the data files that get a vector.
    """
    deletes = view.deletes
    is_planned = integers(deletes["sequence_number"]) <= until
    is_kind = (integers(deletes["content"]) == content) & is_null(deletes["referenced"])
    dropped = dropped_deletes(view, exposed, new_sequence, global_specs, new_vectors)
    return np.asarray(dropped & is_planned & is_kind)


def _has_vector(view: View, new_vectors: Collection[str]) -> Flags:
    """Mask of the data files that have a vector, or get one."""
    return has_vector(view.data, view.deletes) | is_one_of(view.data["file_path"], new_vectors)


def _least_by_partition(view: View, stays: Flags, new_sequence: int | None) -> np.ndarray:
    """The least sequence number of the data that stays, by partition; new files count in every one."""
    first = _NEVER if new_sequence is None else new_sequence
    least = np.full(max(1, len(view.partitions)), first, dtype=np.int64)
    partitions = integers(view.data["partition"])[stays]
    np.minimum.at(least, partitions, integers(view.data["sequence_number"])[stays])
    return least


def _of_partitions(least: np.ndarray, view: View) -> np.ndarray:
    """The number of each delete's partition."""
    return np.asarray(least[integers(view.deletes["partition"])])


def _is_orphan(view: View, stays: Flags) -> Flags:
    """Mask of the deletes that name a data file which does not stay."""
    staying = whole(view.data["file_path"]).filter(stays)
    return ~flags(pc.is_in(whole(view.deletes["referenced"]), value_set=staying))
