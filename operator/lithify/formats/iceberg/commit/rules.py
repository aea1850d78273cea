"""The rules of conflict: which groups the newest snapshot admits, and why not the others. Pure.

Checked on the first try and on each further one, always from the snapshot that was planned on: deletes that
others commit while a group is rewritten must not get lost. Rules of the whole table give one reason; rules of
groups give a reason for each group that they refuse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flags, integers, is_null, whole
from lithify.formats.iceberg.commit.changes import GroupChange, Start
from lithify.formats.iceberg.manifests.delete_index import is_late
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import Content
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import NO_SNAPSHOT, is_whole

Reasons = dict[Any, str]

_NONE = -1
"""Stands for a missing number."""

ROLLED_BACK = "snapshots have expired since the run was planned, when there were none"
NO_BRANCH = "the branch is gone, or has no snapshot any more"
REPLACED_INPUT = "others have removed a file of it"
REPLACED_KEPT = "others have removed a file that it keeps, and of which it deletes rows"
NEW_DELETE = "others have deleted rows of a file of it, which the new files would bring back"
OTHER_PARTITION = (
    "others have deleted rows by equality, in a partition that the rewritten rows would enter or leave"
)


def conflicts_of(
    changes: Mapping[Any, GroupChange],
    start: Start,
    metadata: TableMetadata,
    branch: str,
    view: View,
    *,
    carries_deletes: bool,
) -> Reasons:
    """The groups that the newest snapshot refuses, by all rules.

    Args:
        changes: the changes by group.
        start: the state that they were planned on.
        metadata: the newest metadata.
        branch: the branch that is committed to.
        view: the live files of its newest snapshot.
        carries_deletes: whether newer position deletes and vectors are carried over to new files, and hence
            are no conflicts.
    """
    reason = validate_definition(start, metadata) or validate_start(start, metadata, branch)
    if reason is not None:
        return dict.fromkeys(changes, reason)
    return {
        **validate_equality_deletes(changes, start, view, metadata.unpartitioned_specs),
        **({} if carries_deletes else validate_no_new_deletes(changes, start, view)),
        **validate_kept_live(changes, view),
        **validate_inputs_live(changes, view),
    }


def validate_start(start: Start, metadata: TableMetadata, branch: str) -> str | None:
    """The snapshot that was planned on must be a part of the branch's history, without gaps."""
    if start.snapshot == NO_SNAPSHOT:
        return None if is_whole([*metadata.ancestry(branch)]) else ROLLED_BACK
    if metadata.head(branch) is None:
        return NO_BRANCH
    if any(snapshot.id == start.snapshot for snapshot in metadata.ancestry(branch)):
        return None
    if start.snapshot in metadata.snapshots:
        return f"the branch was rolled back behind snapshot {start.snapshot}, on which the run was planned"
    return f"snapshot {start.snapshot}, on which the run was planned, has expired meanwhile"


def validate_definition(start: Start, metadata: TableMetadata) -> str | None:
    """New files must fit the table's present format version, schema and partition spec."""
    checks = (
        ("format version", start.format_version, metadata.format_version),
        ("schema", start.schema_id, metadata.schema_id),
        ("partition spec", start.spec_id, metadata.spec_id),
    )
    for what, planned, now in checks:
        if planned != now:
            return f"the table's {what} changed from {planned} to {now} while the run was under way"
    return None


def validate_inputs_live(changes: Mapping[Any, GroupChange], view: View) -> Reasons:
    """Every file that is replaced must still be live, once, and as it was planned.

    A file that was removed and added again has lost its deletes; one that got row ids since (the first commit
    after an upgrade gives them) has rows by ids that the new files would change.
    """
    inputs = _inputs(changes.values())
    rows, places = _rows_of(inputs, view.data["file_path"])
    files = [file for change in changes.values() for file in change.inputs]
    changed = np.zeros(len(rows), dtype=bool)
    for name, planned in (
        ("sequence_number", [file.sequence for file in files]),
        ("first_row_id", [file.first_row_id for file in files]),
    ):
        now = integers(whole(view.data[name]).fill_null(_NONE))[rows]
        changed |= now != np.array([_NONE if each is None else each for each in planned], np.int64)[places]
    refused = np.bincount(places, minlength=len(inputs)) != 1
    refused |= np.bincount(places[changed], minlength=len(inputs)) > 0
    return _refused(changes, inputs, refused, REPLACED_INPUT)


def validate_kept_live(changes: Mapping[Any, GroupChange], view: View) -> Reasons:
    """Every file that stays, and of which rows are deleted, must still be live, once, and as it was planned.

    Otherwise its rows are in another file, to which the new deletes would not apply. Newer deletes of it do
    not matter: deletes add up.
    """
    kept = {group: replace(change, inputs=change.kept) for group, change in changes.items() if change.kept}
    return dict.fromkeys(validate_inputs_live(kept, view), REPLACED_KEPT) if kept else {}


def validate_no_new_deletes(changes: Mapping[Any, GroupChange], start: Start, view: View) -> Reasons:
    """No position delete or vector that is newer than the plan may apply to a file that is replaced.

    One that may delete from several files counts for all files of its partition.
    """
    inputs = _inputs(changes.values())
    rows, places = _rows_of(inputs, view.data["file_path"])
    fresh = _newer(view.deletes, start, Content.POSITION_DELETES)
    referenced = fresh["referenced"]
    refused = flags(pc.is_in(inputs, value_set=whole(referenced.drop_null())))
    partial = integers(fresh["partition"])[is_null(referenced)]
    in_partition = np.isin(integers(view.data["partition"])[rows], partial)
    refused = refused | (np.bincount(places[in_partition], minlength=len(inputs)) > 0)
    return _refused(changes, inputs, refused, NEW_DELETE)


def validate_equality_deletes(
    changes: Mapping[Any, GroupChange], start: Start, view: View, global_specs: Collection[int]
) -> Reasons:
    """Newer equality deletes must apply to new files exactly as they apply to the replaced ones.

    They do by their sequence number, unless rows change their partition: then a delete of the old partition
    would no longer apply, and one of the new partition would apply to rows that it never meant.
    """
    inputs = _inputs(changes.values())
    rows, places = _rows_of(inputs, view.data["file_path"])
    fresh = _newer(view.deletes, start, Content.EQUALITY_DELETES)
    specs, partitions = integers(fresh["spec_id"]), integers(fresh["partition"])
    local = ~np.isin(specs, list(global_specs))
    moved = integers(view.data["spec_id"])[rows] != start.spec_id
    leaves = np.isin(integers(view.data["partition"])[rows], partitions[local])
    enters = bool((specs[local] == start.spec_id).any())
    refused = np.bincount(places[moved & (leaves | enters)], minlength=len(inputs)) > 0
    return _refused(changes, inputs, refused, OTHER_PARTITION)


def _newer(deletes: pa.Table, start: Start, content: Content) -> pa.Table:
    """The deletes of one kind that are newer than the plan."""
    return deletes.filter(pa.array(is_late(deletes, start.sequence, content)))


def _inputs(changes: Collection[GroupChange]) -> pa.Array:
    """The paths of all replaced files, in the order of the groups."""
    return pa.array([path for change in changes for path in _paths(change)], pa.string())


def _paths(change: GroupChange) -> Iterator[str]:
    return (file.path for file in change.inputs)


def _rows_of(inputs: pa.Array, paths: Any) -> tuple[Numbers, Numbers]:
    """The rows with the paths of inputs, and for each the number of its input."""
    numbers = pc.index_in(whole(paths), value_set=inputs)
    there = flags(pc.is_valid(numbers))
    return np.flatnonzero(there), integers(numbers)[there].astype(np.int64)


def _refused(changes: Mapping[Any, GroupChange], inputs: pa.Array, refused: Flags, reason: str) -> Reasons:
    """The groups of which an input is refused."""
    sizes: Sequence[int] = [len(change.inputs) for change in changes.values()]
    owners = np.repeat(np.arange(len(sizes)), sizes)
    hit = np.bincount(owners[refused[: len(inputs)]], minlength=len(sizes)) > 0
    return {group: reason for group, is_hit in zip(changes, hit, strict=True) if is_hit}
