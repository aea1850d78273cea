"""Decides which changes of a run a snapshot admits, and completes these with what it has of their inputs.

Called by `committer` in every try. Pure. The rules of conflict are in `conflict_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from lithify.columns.order_key import OrderKey
from lithify.engine.commit.loop import Validation
from lithify.formats.paimon.commit.changes import BucketChange, DroppedPartition
from lithify.formats.paimon.commit.conflict_rules import (
    validate_bucket_count,
    validate_inputs_live,
    validate_inputs_postponed,
    validate_marked_files_live,
    validate_no_key_overlap,
    validate_no_new_deletes,
    validate_no_new_files,
    validate_no_newer_rows,
    validate_target_count,
)
from lithify.formats.paimon.commit.moves import Live, MovedRows
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.manifests.entries import ManifestEntry
from lithify.formats.paimon.manifests.entry_selection import Place
from lithify.formats.paimon.model import BucketId

Change = BucketChange | MovedRows | DroppedPartition


def admitted(
    changes: Sequence[Change],
    live: Mapping[Place, Sequence[ManifestEntry]],
    key: Callable[[bytes], OrderKey],
    vectors: Mapping[Place, Sequence[VectorIndex]],
) -> Validation[Change]:
    """The changes that can be applied, and the groups of the others with the reason.

    Args:
        changes: one per group.
        live: live entries of the changes' buckets in the snapshot; with a postponed bucket or a dropped
            partition, those of all buckets of its partition.
        key: converts a key bound to an order key.
        vectors: the deletion vectors of the changes' buckets in the snapshot.
    """
    moving = {change.bucket.partition for change in changes if not isinstance(change, BucketChange)}
    partitions: dict[bytes, dict[int, Sequence[ManifestEntry]]] = {partition: {} for partition in moving}
    for (partition, bucket), entries in live.items():
        if partition in moving:
            partitions[partition][bucket] = entries
    ready: dict[BucketId, Change] = {}
    conflicts: dict[BucketId, str] = {}
    for change in changes:
        place = (change.bucket.partition, change.bucket.bucket)
        found: Change | str
        if isinstance(change, BucketChange):
            found = _changed(change, live.get(place, ()), key, vectors.get(place, ()))
        elif isinstance(change, MovedRows):
            found = _moved(change, partitions[change.bucket.partition])
        else:
            found = _dropped(change, partitions[change.bucket.partition])
        if isinstance(found, str):
            conflicts[change.bucket] = found
        else:
            ready[change.bucket] = found
    return Validation(ready, conflicts)


def conflict_of(
    change: BucketChange,
    live: Sequence[ManifestEntry],
    key: Callable[[bytes], OrderKey],
    vectors: Sequence[VectorIndex] = (),
) -> str | None:
    """Why a change cannot be applied to a bucket with these live files and vectors; None if it can."""
    inputs = {entry.identity for entry in change.inputs}
    others = [entry for entry in live if entry.identity not in inputs]
    return (
        validate_inputs_live(change, live)
        or validate_no_new_deletes(change, vectors)
        or validate_marked_files_live(change, others)
        or validate_bucket_count(change, others)
        or validate_no_key_overlap(change, others, key)
    )


def conflict_of_move(move: MovedRows, live: Live) -> str | None:
    """Why a move cannot be applied to a partition with these live files; None if it can."""
    return (
        validate_inputs_postponed(move, live)
        or validate_target_count(move, live)
        or validate_no_newer_rows(move, live)
    )


def _moved(move: MovedRows, live: Live) -> MovedRows | str:
    return conflict_of_move(move, live) or move.found_in(live)


def _dropped(change: DroppedPartition, live: Live) -> DroppedPartition | str:
    found = change.found_in(chain.from_iterable(live.values()))
    return validate_no_new_files(found) or found


def _changed(
    change: BucketChange,
    live: Sequence[ManifestEntry],
    key: Callable[[bytes], OrderKey],
    vectors: Sequence[VectorIndex],
) -> BucketChange | str:
    return conflict_of(change, live, key, vectors) or change.found_in(live)
