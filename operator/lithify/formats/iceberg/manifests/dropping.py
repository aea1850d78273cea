"""Which delete files a commit drops: those that no live file, the new ones included, can still need. Pure.

A position delete applies to older or equally old data, an equality delete to older data only, each within its
partition; one that names its data file applies to that file alone. A file with a vector needs no other
position deletes. So the least sequence number of what stays decides. New files count with theirs, which is
that of the planned snapshot: they may need deletes that others committed since.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flags, integers, is_null, is_one_of, whole
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
    return _unneeded(view.data, view.deletes, stays, new_sequence, global_specs, new_vectors)


def dangling_deletes(data: pa.Table, deletes: pa.Table, global_specs: Collection[int]) -> Flags:
    """Mask of the deletes that no data file needs, as `dropped_deletes` finds them."""
    return _unneeded(data, deletes, np.ones(len(data), dtype=bool), None, global_specs, ())


def _unneeded(
    data: pa.Table,
    deletes: pa.Table,
    stays: Flags,
    new_sequence: int | None,
    global_specs: Collection[int],
    new_vectors: Collection[str],
) -> Flags:
    takes_positions = stays & ~has_vector(data, deletes) & ~is_one_of(data["file_path"], new_vectors)
    sequence = integers(deletes["sequence_number"])
    least = _Least(data, deletes, new_sequence)
    is_global = np.isin(integers(deletes["spec_id"]), list(global_specs))
    outlived = np.where(
        integers(deletes["content"]) == Content.EQUALITY_DELETES,
        sequence <= np.where(is_global, least.everywhere(stays), least.in_partitions(stays)),
        sequence < least.in_partitions(takes_positions),
    )
    is_orphan = np.where(
        is_vector(deletes),
        _is_orphan(data, deletes, stays),
        _is_orphan(data, deletes, takes_positions),
    )
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


@dataclass(frozen=True, slots=True)
class _Least:
    """The least sequence numbers of data; new files count in every partition.

    Attributes:
        data: the data files.
        deletes: the delete files, whose partitions are numbered alike.
        new_sequence: data sequence number of new files; None if there are none.
    """

    data: pa.Table
    deletes: pa.Table
    new_sequence: int | None

    def everywhere(self, stays: Flags) -> int:
        """That of all data files that stay."""
        return int(integers(self.data["sequence_number"])[stays].min(initial=self._first))

    def in_partitions(self, stays: Flags) -> Numbers:
        """For each delete, that of the data files of its partition that stay."""
        of_data, of_deletes = (integers(each["partition"]) for each in (self.data, self.deletes))
        count = max(of_data.max(initial=0), of_deletes.max(initial=0)) + 1
        least = np.full(count, self._first, dtype=np.int64)
        np.minimum.at(least, of_data[stays], integers(self.data["sequence_number"])[stays])
        return np.asarray(least[of_deletes])

    @property
    def _first(self) -> int:
        return int(_NEVER) if self.new_sequence is None else self.new_sequence


def _is_orphan(data: pa.Table, deletes: pa.Table, stays: Flags) -> Flags:
    """Mask of the deletes that name a data file which does not stay."""
    staying = whole(data["file_path"]).filter(stays)
    return ~flags(pc.is_in(whole(deletes["referenced"]), value_set=staying))
