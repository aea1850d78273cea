"""The rules of conflict: each returns why a change cannot be applied to a snapshot, or None if it can.

Called by `conflict_check` in every try of a commit. Pure. The rules are Paimon's (`ConflictDetection`) for
compactions; pypaimon's own commit omits `validate_no_key_overlap`. `live` are the live entries of the
change's bucket in the newest snapshot, `others` those that are no inputs of the change. Moves of postponed
rows have rules of their own, over the live entries of their partition by bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from lithify.columns.order_key import OrderKey
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.paimon.commit.changes import BucketChange, DroppedPartition
from lithify.formats.paimon.commit.moves import Live, MovedRows
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.manifests.entries import ADD, FileMeta, ManifestEntry


def validate_inputs_live(change: BucketChange, live: Iterable[ManifestEntry]) -> str | None:
    """Every replaced or upgraded file must still be in its level."""
    there = {entry.identity for entry in live}
    for entry in change.inputs:
        if entry.identity not in there:
            return f"{entry.file.name} is no longer in level {entry.file.level}"
    return None


def validate_no_new_deletes(change: BucketChange, vectors: Iterable[VectorIndex]) -> str | None:
    """Deletion vectors of replaced files must be those that were read.

    Otherwise rows that others have deleted since then would come back.
    """
    if change.vectors.is_outdated(vectors, {entry.file.name for entry in change.removed}):
        return "another commit has changed the deletion vectors"
    return None


def validate_marked_files_live(change: BucketChange, others: Iterable[ManifestEntry]) -> str | None:
    """Each deletion vector that is written needs its file.

    If another compaction has replaced the file, the rows that ours deletes in it would live on in its place.
    """
    stay = {entry.file.name for entry in (*others, *change.upgraded)}
    gone = sorted({name for index in change.vectors.written for name in index.ranges} - stay)
    return f"{gone[0]} is no longer there, of which rows are to be deleted" if gone else None


def validate_bucket_count(change: BucketChange, others: Iterable[ManifestEntry]) -> str | None:
    """The partition must have the same number of buckets.

    As in Paimon, entries without a number of buckets say nothing about it.
    """
    count = change.inputs[0].total_buckets
    if any(0 < entry.total_buckets != count > 0 for entry in others):
        return f"the partition no longer has {count} buckets"
    return None


def validate_no_key_overlap(
    change: BucketChange, others: Iterable[ManifestEntry], key: Callable[[bytes], OrderKey]
) -> str | None:
    """Files of a level above 0 must not overlap; `key` converts a key bound to an order key."""
    incoming = [entry.file for entry in change.entries() if entry.kind == ADD]
    try:
        return _overlap([*(entry.file for entry in others), *incoming], key)
    except (CorruptTable, UnsupportedTable) as error:
        return f"a file was added that cannot be compared with others ({error})"


def validate_inputs_postponed(move: MovedRows, live: Live) -> str | None:
    """Every file of postponed rows that was read must still be in the postponed bucket."""
    postponed = {entry.identity for entry in live.get(move.bucket.bucket, ())}
    for entry in move.removed:
        if entry.identity not in postponed:
            return f"{entry.file.name} is no longer postponed"
    return None


def validate_target_count(move: MovedRows, live: Live) -> str | None:
    """The partition must have the number of buckets for which the rows were distributed."""
    real = (entries for number, entries in live.items() if number != move.bucket.bucket)
    if any(entry.total_buckets != move.count for entries in real for entry in entries):
        return f"the partition no longer has {move.count} buckets"
    return None


def validate_no_newer_rows(move: MovedRows, live: Live) -> str | None:
    """No bucket that gets rows may have newer ones than when the unit was planned.

    They would have the same sequence numbers as the moved ones, so neither were clearly the newer; Paimon
    accepts that.
    """
    for number in sorted({bucket.bucket for bucket, _ in move.moved}):
        newest = max((entry.file.max_sequence for entry in live.get(number, ())), default=-1)
        if newest > move.highest.get(number, -1):
            return f"others have written to bucket {number} of the partition"
    return None


def _overlap(files: Sequence[FileMeta], key: Callable[[bytes], OrderKey]) -> str | None:
    levels: dict[int, list[tuple[OrderKey, OrderKey, str]]] = {}
    for file in files:
        if file.level > 0:
            bounds = file.as_data_file(key)
            # Without a primary key there are no bounds: clustered files of a level may overlap, as in Java.
            if bounds.min_key:
                levels.setdefault(file.level, []).append((bounds.min_key, bounds.max_key, file.name))
    for level, bounds_of_level in levels.items():
        for before, behind in pairwise(sorted(bounds_of_level)):
            if behind[0] <= before[1]:
                return f"{before[2]} and {behind[2]} would overlap in level {level}"
    return None


def validate_no_new_files(change: DroppedPartition) -> str | None:
    """Why a partition cannot be dropped, with the files that it has: none, or a newer one than expected."""
    if not change.removed:
        return "it has no files any more"
    newest = max(entry.file.created_millis for entry in change.removed)
    if change.before_millis is not None and newest >= change.before_millis:
        return "it has got a new file"
    return None
