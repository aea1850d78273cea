"""Planted faults of the product: how many random histories it takes to find each says what clean ones prove.

Called by `test_planted_faults` alone. A fault is a patch of one function, as a mistake in it would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lithify.engine.rewrite.deleted_keys import KeyIndex
from lithify.formats.iceberg.commit import committer, rules, snapshot_files
from lithify.formats.iceberg.compaction import carrying
from lithify.formats.iceberg.data_files import projection, reader
from lithify.formats.iceberg.deletes import applied, late, positions
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.manifests import delete_index
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile
from lithify.formats.iceberg.rewriting import live_rows, packing, writer
from lithify.formats.iceberg.rewriting.partitioning import Partitioner

Plant = Callable[[pytest.MonkeyPatch], None]


def _rule_left_out(name: str) -> Plant:
    """A rule of conflict that refuses no group."""
    return lambda patch: patch.setattr(rules, name, lambda *_: {})


def _drop_early(patch: pytest.MonkeyPatch) -> None:
    """Deletes are dropped as if the new files could not need them."""
    real = committer.dropped_deletes
    patch.setattr(
        committer, "dropped_deletes", lambda view, stays, _, *further: real(view, stays, None, *further)
    )


def _number_newly(patch: pytest.MonkeyPatch) -> None:
    """New files have the new snapshot's sequence number, not the planned one's."""
    real = snapshot_files.SnapshotFiles._added
    patch.setattr(
        snapshot_files.SnapshotFiles, "_added", lambda self, files, added, _: real(self, files, added, None)
    )


def _delete_equally_old(patch: pytest.MonkeyPatch) -> None:
    """Equality deletes apply to rows of their own commit, too, in plans and in tasks."""
    matching, by_equality = delete_index._Matching, positions.deleted_by_equality
    by_partition, anywhere = matching.by_partition, matching.anywhere

    def anywhere_in_older(self: Any, chosen: Any) -> Any:
        self._sequences = self._sequences - 1
        try:
            return anywhere(self, chosen)
        finally:
            self._sequences = self._sequences + 1

    def deleted_by_equality(files: Sequence[DataFile], *more: Any) -> Any:
        return by_equality([replace(file, sequence=file.sequence - 1) for file in files], *more)

    patch.setattr(matching, "by_partition", lambda self, chosen, _: by_partition(self, chosen, "left"))
    patch.setattr(matching, "anywhere", anywhere_in_older)
    patch.setattr(positions, "deleted_by_equality", deleted_by_equality)


def _shift_vectors(patch: pytest.MonkeyPatch) -> None:
    """Positions of vectors are one too high."""
    real = positions.read_vector_of

    def shifted(source: Any, delete: DeleteFile, path: str, rows: int) -> Any:
        return bitmap_of([each + 1 for each in real(source, delete, path, rows) if each + 1 < rows])

    patch.setattr(positions, "read_vector_of", shifted)


def _forget_late_deletes(patch: pytest.MonkeyPatch) -> None:
    """Deletes that land while files are rewritten are not carried over."""
    patch.setattr(late.LateDeletes, "read", lambda *_: late.LateRows())


def _forget_earlier_late_deletes(patch: pytest.MonkeyPatch) -> None:
    """Only late deletes are carried over that the try before did not have."""
    real = late.LateDeletes.read

    def read(self: Any, view: Any) -> Any:
        known = {*self._decoded}
        found = real(self, view)
        new = [rows.positions for key, rows in self._decoded.items() if key not in known]
        return late.LateRows(
            {path: positions for each in new for path, positions in each.items()}
            if known
            else found.positions
        )

    patch.setattr(late.LateDeletes, "read", read)


def _misplace_late_deletes(patch: pytest.MonkeyPatch) -> None:
    """Late deletes delete the neighbours of the rows that they are about."""
    real = carrying.MapCarrier._translate

    def translate(self: Any, path: str, rows: Any) -> Any:
        return {of: bitmap_of([each ^ 1 for each in found]) for of, found in real(self, path, rows).items()}

    patch.setattr(carrying.MapCarrier, "_translate", translate)


def _shift_copied_ids(patch: pytest.MonkeyPatch) -> None:
    """Row ids beside copied and joined rows are one too high."""
    real = packing.whole_lineage
    patch.setattr(packing, "whole_lineage", lambda file, first, rows: real(file, first + 1, rows))


def _copy_deleted(patch: pytest.MonkeyPatch) -> None:
    """Files with deleted rows are copied as they are."""
    real = packing._input
    patch.setattr(packing, "_input", lambda file, **_: real(file, is_copyable=True))


def _lose_lineage(patch: pytest.MonkeyPatch) -> None:
    """The rows of some files get no lineage of their own."""
    real = live_rows.inherited

    def inherited(rows: pa.RecordBatch, file: DataFile, at: Any) -> pa.RecordBatch:
        return rows if file.rows % 3 == 0 else real(rows, file, at)

    patch.setattr(live_rows, "inherited", inherited)


def _renew_lineage(patch: pytest.MonkeyPatch) -> None:
    """Rows count as updated by the last sequence number of their task's files."""
    real = live_rows.inherited

    def inherited(rows: pa.RecordBatch, file: DataFile, at: Any) -> pa.RecordBatch:
        return real(rows, replace(file, sequence=file.sequence + 1), at)

    patch.setattr(live_rows, "inherited", inherited)


def _mix_partitions(patch: pytest.MonkeyPatch) -> None:
    """Rows of other specs all come to the partition of the first one."""
    real = Partitioner.split

    def split(self: Partitioner, rows: pa.RecordBatch) -> Any:
        (partition, _), *_ = real(self, rows)
        yield partition, rows

    patch.setattr(Partitioner, "split", split)


def _forget_defaults(patch: pytest.MonkeyPatch) -> None:
    """Columns that files lack are null."""

    def filled(rows: int, field: Any) -> pa.Array:
        return projection.nulls(rows, projection.arrow_type(field.type))

    patch.setattr(reader, "filled", filled)
    patch.setattr(projection, "filled", filled)


def _unite_nothing(patch: pytest.MonkeyPatch) -> None:
    """Of a file's deletes by position and by equality, only the latter count."""
    real = applied.deleted_positions

    def of(files: Sequence[DataFile], is_equality: bool, *more: Any) -> Mapping[str, Any]:
        chosen = [
            replace(
                file,
                deletes=tuple(
                    each for each in file.deletes if (each.content is Content.EQUALITY_DELETES) is is_equality
                ),
            )
            for file in files
        ]
        return real(chosen, *more)

    def deleted_positions(files: Sequence[DataFile], *more: Any) -> Mapping[str, Any]:
        return {**of(files, False, *more), **of(files, True, *more)}

    patch.setattr(applied, "deleted_positions", deleted_positions)


def _forget_equal_nulls(patch: pytest.MonkeyPatch) -> None:
    """Equality deletes do not delete nulls."""
    real = KeyIndex.deleted

    def deleted(self: KeyIndex, keys: pa.Table, *more: Any) -> Any:
        found = real(self, keys, *more)
        for column in keys.columns:
            found &= pc.is_valid(column).to_numpy()
        return found

    patch.setattr(KeyIndex, "deleted", deleted)


def _narrow_bounds(patch: pytest.MonkeyPatch) -> None:
    """Upper bounds in manifests are the lower ones."""
    real = writer.OpenDataFile.close

    def close(self: Any) -> Any:
        made = real(self)
        return replace(made, metrics=replace(made.metrics, upper_bounds=made.metrics.lower_bounds))

    patch.setattr(writer.OpenDataFile, "close", close)


PLANTED: Final[Mapping[str, Plant]] = {
    "late-deletes-forgotten": _forget_late_deletes,
    "late-deletes-of-one-try": _forget_earlier_late_deletes,
    "late-deletes-misplaced": _misplace_late_deletes,
    "inputs-not-validated": _rule_left_out("validate_inputs_live"),
    "moved-rows-not-validated": _rule_left_out("validate_equality_deletes"),
    "deletes-dropped-early": _drop_early,
    "new-sequence-number": _number_newly,
    "equality-deletes-of-own-commit": _delete_equally_old,
    "equal-nulls-stay": _forget_equal_nulls,
    "vectors-shifted": _shift_vectors,
    "files-with-deletes-copied": _copy_deleted,
    "deletes-not-united": _unite_nothing,
    "copied-row-ids-shifted": _shift_copied_ids,
    "lineage-lost": _lose_lineage,
    "lineage-renewed": _renew_lineage,
    "partitions-mixed": _mix_partitions,
    "defaults-forgotten": _forget_defaults,
    "bounds-narrowed": _narrow_bounds,
}
"""The faults by name."""
