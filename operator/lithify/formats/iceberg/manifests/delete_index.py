"""Which deletes apply to which data file, for all data files of a view at once.

Called by planning and the commit. The rules are those of Iceberg's specification ("Scan planning"). A data
file has ranges of deletes (`columns.sorted_ranges`), by what these are matched by and by sequence number.
Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flags, integers, is_null, whole
from lithify.columns.sorted_ranges import Numbered, Side, SortedRanges, expanded, sorted_ranges
from lithify.formats.iceberg.manifests.compared_bounds import ComparedColumn, may_apply
from lithify.formats.iceberg.manifests.view import PUFFIN
from lithify.formats.iceberg.model import Content


@dataclass(frozen=True, slots=True)
class Applied:
    """The deletes of some data files.

    Attributes:
        offsets: where the deletes of each data file begin in `deletes`; one more than there are files.
        deletes: rows of delete files.
    """

    offsets: Numbers
    deletes: Numbers


@dataclass(frozen=True, slots=True)
class DeleteIndex:
    """The deletes of all data files of a view.

    Attributes:
        data: the data files, with the statistics of compared columns if there are any.
        deletes: the delete files, likewise.
        columns: the columns by whose statistics equality deletes are left out, by field id.
        global_equality: equality deletes that apply to all partitions.
        equality: those of single partitions.
        vectors: deletion vectors; more than one for a data file is a fault of its writer.
        partition_positions: position deletes for any file of a partition.
        path_positions: position deletes for one file.
    """

    data: pa.Table
    deletes: pa.Table
    columns: Mapping[int, ComparedColumn]
    global_equality: SortedRanges
    equality: SortedRanges
    vectors: SortedRanges
    partition_positions: SortedRanges
    path_positions: SortedRanges

    @property
    def kinds(self) -> tuple[SortedRanges, ...]:
        """All deletes, in the order in which Java lists them."""
        positions = (self.vectors, self.partition_positions, self.path_positions)
        return (self.global_equality, self.equality, *positions)

    @property
    def counts(self) -> Numbers:
        """The number of deletes of each data file, before any are left out by statistics."""
        return cast(Numbers, np.sum([kind.counts for kind in self.kinds], axis=0))

    @property
    def position_files(self) -> Numbers:
        """The number of position delete files that are for each data file alone and have rows."""
        has_rows = integers(self.deletes["record_count"]) > 0
        return self.path_positions.sums(has_rows.astype(np.int64))

    @property
    def is_doubled(self) -> Flags:
        """The data files that have several vectors, whose union counts."""
        return self.vectors.counts > 1

    @property
    def known_deleted_rows(self) -> Numbers:
        """Deleted rows of each data file by vectors and position deletes for it alone."""
        rows = integers(self.deletes["record_count"])
        known = self.vectors.sums(rows) + self.path_positions.sums(rows)
        return cast(Numbers, np.minimum(known, integers(self.data["record_count"])))

    @property
    def has_uncounted(self) -> Flags:
        """The data files of which other rows may be deleted, too."""
        others = (self.global_equality, self.equality, self.partition_positions)
        return cast(Flags, np.sum([kind.counts for kind in others], axis=0) > 0)

    def applied(self, files: Numbers) -> Applied:
        """The deletes of some data files.

        Args:
            files: rows of data files.
        """
        per_file, deletes = expanded(self.kinds, files)
        if self.columns:
            owners = np.repeat(np.arange(len(files)), per_file)
            kept = may_apply(self.data, files[owners], self.deletes, deletes, self.columns)
            deletes, per_file = deletes[kept], np.bincount(owners[kept], minlength=len(files))
        return Applied(np.concatenate([[0], np.cumsum(per_file)]).astype(np.int64), deletes)


def delete_index(
    data: pa.Table,
    deletes: pa.Table,
    unpartitioned: Collection[int],
    columns: Mapping[int, ComparedColumn] | None = None,
) -> DeleteIndex:
    """Matches deletes with data files.

    Args:
        data: the data files of a view.
        deletes: its delete files.
        unpartitioned: ids of the specs without partition fields, or with void ones only; equality deletes of
            these apply to all partitions.
        columns: the compared columns by field id, of which both tables have statistics.
    """
    content = integers(deletes["content"])
    has_path = ~is_null(deletes["referenced"])
    is_position = content == Content.POSITION_DELETES
    is_equality = content == Content.EQUALITY_DELETES
    is_global = is_equality & np.isin(integers(deletes["spec_id"]), list(unpartitioned))
    matching = _Matching(data, deletes)
    vectors = matching.by_path(is_vector(deletes))
    is_vectored = vectors.counts > 0
    return DeleteIndex(
        data,
        deletes,
        columns or {},
        matching.anywhere(is_global),
        matching.by_partition(is_equality & ~is_global, "right"),
        vectors,
        matching.by_partition(is_shared(deletes), "left").without(is_vectored),
        matching.by_path(is_position & has_path & ~is_vector(deletes)).without(is_vectored),
    )


def is_late(deletes: pa.Table, after: int, content: Content) -> Flags:
    """Mask of the deletes of one kind with a sequence number greater than that of the planned snapshot.

    Misses none: only rewrites of delete files state a sequence number themselves, and Java's state the
    greatest number among the files that they merge.
    """
    is_newer = integers(deletes["sequence_number"]) > after
    return cast(Flags, is_newer & (integers(deletes["content"]) == content))


def is_vector(deletes: pa.Table) -> Flags:
    """Mask of the deletion vectors."""
    is_puffin = flags(pc.equal(whole(deletes["file_format"]), PUFFIN))
    return is_puffin & ~is_null(deletes["referenced"])


def has_vector(data: pa.Table, deletes: pa.Table) -> Flags:
    """Mask of the data files that have a vector: no position delete file applies to them."""
    return _Matching(data, deletes).by_path(is_vector(deletes)).counts > 0


def is_shared(deletes: pa.Table) -> Flags:
    """Mask of the position delete files that may delete from several data files of their partition."""
    is_position = integers(deletes["content"]) == Content.POSITION_DELETES
    return cast(Flags, is_position & is_null(deletes["referenced"]))


class _Matching:
    """Matches chosen deletes with data files by a key and the sequence number.

    A delete applies if its sequence number is at least that of the data file (side `left`), or greater
    (side `right`).
    """

    def __init__(self, data: pa.Table, deletes: pa.Table) -> None:
        self._data = data
        self._deletes = deletes
        self._sequences = integers(data["sequence_number"])

    def anywhere(self, chosen: Flags) -> SortedRanges:
        rows = np.flatnonzero(chosen)
        return self._ranges(rows, np.zeros_like(rows), np.zeros(len(self._data), dtype=np.int64), "right")

    def by_partition(self, chosen: Flags, side: Side) -> SortedRanges:
        rows = np.flatnonzero(chosen)
        return self._ranges(
            rows, integers(self._deletes["partition"])[rows], integers(self._data["partition"]), side
        )

    def by_path(self, chosen: Flags) -> SortedRanges:
        rows = np.flatnonzero(chosen)
        if not len(rows):
            return self._ranges(rows, rows, np.full(len(self._data), -1), "left")
        paths = whole(self._deletes["referenced"]).take(pa.array(rows)).dictionary_encode()
        found = pc.index_in(self._data["file_path"], value_set=paths.dictionary)
        keys = whole(found).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return self._ranges(rows, paths.indices.to_numpy().astype(np.int64), keys, "left")

    def _ranges(self, rows: Numbers, keys: Numbers, data_keys: Numbers, side: Side) -> SortedRanges:
        """SortedRanges of deletes with a data file's key; data files with the key -1 have none."""
        sequences = integers(self._deletes["sequence_number"])[rows]
        return sorted_ranges(rows, Numbered(keys, sequences), Numbered(data_keys, self._sequences), side)
