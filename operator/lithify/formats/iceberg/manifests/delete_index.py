"""Which deletes apply to which data file, for all data files of a view at once.

Called by planning and the commit. The rules are those of Iceberg's specification ("Scan planning"). Deletes
are sorted by what they are matched by and by sequence number, so that those of a data file are adjacent: each
data file has a range of them, found by binary search. Ranges are expanded to pairs only for the files that
somebody asks for, so that many deletes for many files in one partition do not multiply. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, integers, is_null, whole
from lithify.formats.iceberg.manifests.bounds import bound_values, is_comparable, ranks
from lithify.formats.iceberg.manifests.view import PUFFIN
from lithify.formats.iceberg.model import Content

_WITH_NAN = ("float", "double")


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """A column that equality deletes may compare, to tell by statistics where they cannot apply.

    Attributes:
        type: Iceberg's name of its type.
        is_required: whether it has no nulls.
    """

    type: str
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Ranges:
    """Deletes of one kind, and for each data file those that apply to it.

    Attributes:
        order: rows of delete files, sorted.
        starts: for each data file, the first of its deletes in `order`.
        ends: the end of its deletes.
    """

    order: Numbers
    starts: Numbers
    ends: Numbers

    @property
    def counts(self) -> Numbers:
        """The number of deletes of each data file."""
        return self.ends - self.starts

    def without(self, files: Flags) -> Ranges:
        """The same, with no deletes for some data files."""
        return Ranges(self.order, self.starts, np.where(files, self.starts, self.ends))

    def sums(self, values: Numbers) -> Numbers:
        """For each data file, the sum of a value over its deletes."""
        totals = np.concatenate([[0], np.cumsum(values[self.order])])
        return cast(Numbers, totals[self.ends] - totals[self.starts])


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
    global_equality: Ranges
    equality: Ranges
    vectors: Ranges
    partition_positions: Ranges
    path_positions: Ranges

    @property
    def kinds(self) -> tuple[Ranges, ...]:
        """All deletes, in the order in which Java lists them."""
        positions = (self.vectors, self.partition_positions, self.path_positions)
        return (self.global_equality, self.equality, *positions)

    @property
    def counts(self) -> Numbers:
        """The number of deletes of each data file, before any are left out by statistics."""
        return cast(Numbers, np.sum([kind.counts for kind in self.kinds], axis=0))

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
        counts = np.stack([kind.counts[files] for kind in self.kinds], axis=1)
        bases = np.cumsum([0, *(len(kind.order) for kind in self.kinds)])[:-1]
        starts = np.stack([kind.starts[files] for kind in self.kinds], axis=1) + bases
        lengths = counts.ravel()
        places = np.arange(int(lengths.sum())) + np.repeat(starts.ravel() - _before(lengths), lengths)
        deletes = np.concatenate([kind.order for kind in self.kinds])[places]
        per_file = counts.sum(axis=1)
        if self.columns:
            owners = np.repeat(np.arange(len(files)), per_file)
            kept = self._may_apply(files[owners], deletes)
            deletes, per_file = deletes[kept], np.bincount(owners[kept], minlength=len(files))
        return Applied(np.concatenate([[0], np.cumsum(per_file)]).astype(np.int64), deletes)

    def _may_apply(self, files: Numbers, deletes: Numbers) -> Flags:
        """Which pairs of a data file and a delete the statistics do not rule out."""
        kept = np.ones(len(files), dtype=bool)
        is_equality = integers(self.deletes["content"])[deletes] == Content.EQUALITY_DELETES
        pairs = np.flatnonzero(is_equality)
        if not len(pairs):
            return kept
        ids = whole(self.deletes["equality_ids"]).take(pa.array(deletes[pairs]))
        owners, numbers = whole(pc.list_parent_indices(ids)).to_numpy(), ids.flatten().to_numpy()
        for number, column in self.columns.items():
            compared = pairs[owners[numbers == number]]
            if len(compared) and _has_statistics(self.data, number) and is_comparable(column.type):
                ruled_out = _ruled_out(
                    _Side(self.data, files[compared], number, column),
                    _Side(self.deletes, deletes[compared], number, column),
                    column,
                )
                kept[compared[ruled_out]] = False
        return kept


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
    formats = whole(deletes["file_format"])
    is_vector = has_path & pc.equal(formats, PUFFIN).to_numpy(zero_copy_only=False)
    is_position = content == Content.POSITION_DELETES
    is_equality = content == Content.EQUALITY_DELETES
    is_global = is_equality & np.isin(integers(deletes["spec_id"]), list(unpartitioned))
    matching = _Matching(data, deletes)
    vectors = matching.by_path(is_vector)
    has_vector = vectors.counts > 0
    return DeleteIndex(
        data,
        deletes,
        columns or {},
        matching.anywhere(is_global),
        matching.by_partition(is_equality & ~is_global, "right"),
        vectors,
        matching.by_partition(is_position & ~has_path, "left").without(has_vector),
        matching.by_path(is_position & has_path & ~is_vector).without(has_vector),
    )


class _Matching:
    """Matches chosen deletes with data files by a key and the sequence number.

    A delete applies if its sequence number is at least that of the data file (side `left`), or greater
    (side `right`).
    """

    def __init__(self, data: pa.Table, deletes: pa.Table) -> None:
        self._data = data
        self._deletes = deletes
        self._sequences = integers(data["sequence_number"])

    def anywhere(self, chosen: Flags) -> Ranges:
        rows = np.flatnonzero(chosen)
        return self._ranges(rows, np.zeros_like(rows), np.zeros(len(self._data), dtype=np.int64), "right")

    def by_partition(self, chosen: Flags, side: Literal["left", "right"]) -> Ranges:
        rows = np.flatnonzero(chosen)
        return self._ranges(
            rows, integers(self._deletes["partition"])[rows], integers(self._data["partition"]), side
        )

    def by_path(self, chosen: Flags) -> Ranges:
        rows = np.flatnonzero(chosen)
        if not len(rows):
            return self._ranges(rows, rows, np.full(len(self._data), -1), "left")
        paths = whole(self._deletes["referenced"]).take(pa.array(rows)).dictionary_encode()
        found = pc.index_in(self._data["file_path"], value_set=paths.dictionary)
        keys = whole(found).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return self._ranges(rows, paths.indices.to_numpy().astype(np.int64), keys, "left")

    def _ranges(
        self, rows: Numbers, keys: Numbers, data_keys: Numbers, side: Literal["left", "right"]
    ) -> Ranges:
        """Ranges of deletes with a data file's key; data files with the key -1 have none."""
        none = np.zeros(len(data_keys), dtype=np.int64)
        if not len(rows):
            return Ranges(rows, none, none)
        sequences = integers(self._deletes["sequence_number"])[rows]
        distinct = np.unique(sequences)
        step = len(distinct) + 1
        codes = keys * step + np.searchsorted(distinct, sequences)
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        since = data_keys * step + np.searchsorted(distinct, self._sequences, side=side)
        starts = np.searchsorted(codes, since)
        ends = np.searchsorted(codes, (data_keys + 1) * step)
        is_keyed = data_keys >= 0
        return Ranges(rows[order], np.where(is_keyed, starts, 0), np.where(is_keyed, ends, 0))


def _before(lengths: Numbers) -> Numbers:
    return np.cumsum(lengths) - lengths


def _has_statistics(table: pa.Table, number: int) -> bool:
    return (
        f"lower_bounds.{number}" in table.column_names and f"null_value_counts.{number}" in table.column_names
    )


class _Side:
    """The statistics of one column in the data files, or the deletes, of some pairs."""

    def __init__(self, table: pa.Table, rows: Numbers, number: int, column: ComparedColumn) -> None:
        places = pa.array(rows)
        nulls, values, self._lower, self._upper = (
            whole(table[f"{name}.{number}"]).take(places)
            for name in ("null_value_counts", "value_counts", "lower_bounds", "upper_bounds")
        )
        is_known = ~is_null(nulls)
        if column.is_required:
            nulls = pa.array(np.zeros(len(rows), dtype=np.int64))
            is_known = np.ones(len(rows), dtype=bool)
        counted = integers(nulls)
        both = is_known & ~is_null(values) & (not column.is_required)
        self.may_have_nulls: Flags = ~is_known | (counted > 0)
        self.has_no_nulls: Flags = is_known & (counted <= 0)
        self.has_only_nulls: Flags = both & (counted == integers(values))

    def bounds(self, kind: str) -> Sequence[pa.Array]:
        return [bound_values(column, kind) for column in (self._lower, self._upper)]


def _ruled_out(data: _Side, deletes: _Side, column: ComparedColumn) -> Flags:
    """The pairs of which no row can be deleted, as Java's `canContainEqDeletesForFile` tells.

    Bounds of floats tell nothing, unlike there: they leave out NaN, and a NaN equals a NaN.
    """
    both_null = data.may_have_nulls & deletes.may_have_nulls
    no_common_null = (data.has_only_nulls & deletes.has_no_nulls) | (
        deletes.has_only_nulls & data.has_no_nulls
    )
    if column.type in _WITH_NAN:
        return ~both_null & no_common_null
    low, high, delete_low, delete_high = ranks([*data.bounds(column.type), *deletes.bounds(column.type)])
    all_known = (low >= 0) & (high >= 0) & (delete_low >= 0) & (delete_high >= 0)
    apart = all_known & ((low > delete_high) | (delete_low > high))
    return ~both_null & (no_common_null | apart)
