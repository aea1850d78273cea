"""Data files that snapshots removed and changelog files that they added, as columns, and where they lie.

Called by `expiry` and `rollback_planning`. The rules are those of Java's `FileDeletionBase`: a file that a
snapshot removes and adds again was only moved to another level; files beside a data file go with it. Pure but
for the look at directories of floating-point partitions (`layout.file_locations`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import (
    ColumnGroups,
    Flags,
    flagged,
    flags,
    integers,
    listed,
    taken,
    whole,
    with_columns,
)
from lithify.errors import CorruptTable
from lithify.formats.paimon.manifests.entries import ADD, COMPACT_SOURCE
from lithify.formats.paimon.manifests.entry_columns import NARROW
from lithify.formats.paimon.model import PLACE
from lithify.formats.paimon.table import PaimonTable
from lithify.io.file_names import shown

_FILE = (*PLACE, "name", "external_path")
_COLUMNS = [*_FILE, "extra_files"]
FILES = pa.schema([NARROW.field(name) for name in _COLUMNS])
"""The columns of files that may be deleted."""


def removed_files(entries: pa.Table) -> pa.Table:
    """The files whose last entry among those of one snapshot removes them.

    Args:
        entries: all entries of its delta, in their order; see `entry_columns`.
    """
    if not len(entries):
        return FILES.empty_table()
    groups = ColumnGroups(entries, _FILE)
    lasts = groups.max(np.arange(len(entries)))
    is_removed = integers(entries["kind"])[lasts] != ADD
    return taken(entries.select(_COLUMNS), lasts[is_removed])


def files_from_before(entries: pa.Table) -> pa.Table:
    """The files that were there before some snapshots, and that one of them has removed.

    Args:
        entries: all entries of their deltas, in their order; see `entry_columns`.
    """
    if not len(entries):
        return FILES.empty_table()
    firsts = ColumnGroups(entries, _FILE).firsts
    return taken(entries.select(_COLUMNS), firsts[integers(entries["kind"])[firsts] != ADD])


def compacted_only(entries: pa.Table) -> pa.Table:
    """The entries of files that a compaction wrote; files of unknown origin count as appended, as in Java."""
    return flagged(entries, _is_compacted(entries))


def appended_of(entries: pa.Table) -> pa.Table:
    """The entries that add files which no compaction wrote."""
    return flagged(entries, (integers(entries["kind"]) == ADD) & ~_is_compacted(entries))


def _is_compacted(entries: pa.Table) -> Flags:
    return flags(pc.equal(whole(entries["source"]), COMPACT_SOURCE))


def added_files(entries: pa.Table) -> pa.Table:
    """The files that some entries add, without those beside them: changelog files have none."""
    files = flagged(entries.select(_COLUMNS), integers(entries["kind"]) == ADD)
    bounds = pa.array(np.zeros(len(files) + 1, dtype=np.int32))
    return with_columns(files, extra_files=pa.ListArray.from_arrays(bounds, pa.array([], pa.string())))


def names_of(files: pa.Table) -> pa.Array:
    """The distinct names of files and of the files beside them."""
    return pc.unique(pa.concat_arrays([whole(files["name"]), whole(files["extra_files"]).flatten()]))


def unless_named(files: pa.Table, kept: pa.Array) -> pa.Table:
    """The files of which neither the name nor that of a file beside them is among some names."""
    extra = whole(files["extra_files"])
    stays = ~flags(pc.is_in(whole(files["name"]), value_set=kept))
    is_kept = flags(pc.is_in(extra.flatten(), value_set=kept))
    stays[integers(pc.list_parent_indices(extra))[is_kept]] = False
    return flagged(files, stays)


def paths_of(table: PaimonTable, files: pa.Table) -> pa.Array:
    """The distinct paths of files and of the files beside them.

    Raises:
        CorruptTable: a file is said to lie where the table cannot have any.
        UnsupportedTable: a partition has two directories, or none that this release knows.
    """
    if not len(files):
        return pa.array([], pa.string())
    folders, extra = _folders(table, files), whole(files["extra_files"])
    own = pc.binary_join_element_wise(folders, whole(files["name"]), "/")
    _check_external(table, whole(files["external_path"]), own)
    of_extra = folders.take(pc.list_parent_indices(extra))
    beside = pc.binary_join_element_wise(of_extra, extra.flatten(), "/")
    return pc.unique(pa.concat_arrays([own, beside]))


def _folders(table: PaimonTable, files: pa.Table) -> pa.Array:
    """The folder of each file: that of its bucket, or of its external path."""
    groups = ColumnGroups(files, PLACE)
    places = zip(*map(listed, taken(files.select(PLACE), groups.firsts).columns), strict=True)
    of_buckets = pa.array([table.folder(table.bucket_id(*place)) for place in places], pa.string())
    return pc.coalesce(_parents(whole(files["external_path"])), of_buckets.take(pa.array(groups.numbers)))


def _check_external(table: PaimonTable, external: pa.Array, paths: pa.Array) -> None:
    """Checks that external paths are those of their files, and lie in folders of the table."""
    is_other = flags(pc.not_equal(external, paths))
    for path in external.filter(pa.array(is_other)).slice(0, 1).to_pylist():
        raise CorruptTable(shown(path), "this external path of a data file does not end with its name")
    for folder in listed(pc.unique(_parents(external.drop_null()))):
        table.storage.root_of(folder)


def _parents(paths: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(paths, "/[^/]*$", "")
