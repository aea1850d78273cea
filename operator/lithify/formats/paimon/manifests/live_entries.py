"""Selects the manifest entries that match a filter, and those whose files no other entry removes.

Called by `manifests`, by the commit and by observations. Entries are the rows of a frame that `entry_columns`
makes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import (
    ColumnGroups,
    flagged,
    flags,
    integers,
    is_among,
    listed,
    taken,
    whole,
    with_columns,
)
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.manifests.entry_selection import EntrySelection
from lithify.formats.paimon.model import PLACE

IDENTITY = ("partition", "bucket", "level", "name", "extra_files", "embedded_index", "external_path")
_COMPARED = [*(name for name in IDENTITY if name != "extra_files"), "extra_names"]


def chosen(frame: pa.Table, selection: EntrySelection) -> pa.Table:
    """The rows of a frame that are selected, in their order."""
    if selection.names is not None:
        frame = frame.filter(pc.is_in(frame["name"], value_set=selection.names))
    groups = ColumnGroups(frame, PLACE)
    places = taken(frame.select(PLACE), groups.firsts)
    wanted = [selection.holds(*place) for place in zip(*map(listed, places.columns), strict=True)]
    return frame if all(wanted) else flagged(frame, np.array(wanted)[groups.numbers])


def live_of(frames: Iterable[pa.Table]) -> pa.Table:
    """The files that the manifests of one snapshot add and do not remove, in the order of their entries.

    Args:
        frames: the entries of the manifests, at least one frame.
    """
    added, removed = [], []
    for frame in frames:
        is_added = integers(frame["kind"]) == ADD
        added.append(flagged(frame, is_added))
        removed.append(flagged(frame.select(IDENTITY), ~is_added))
    return without(pa.concat_tables(added), pa.concat_tables(removed))


def without(files: pa.Table, removed: pa.Table) -> pa.Table:
    """The rows of `files` without those that have the same identity as a row of `removed`, in their order.

    Identity is that of `ManifestEntry.identity`.
    """
    if not len(removed):
        return files
    rows = np.flatnonzero(flags(pc.is_in(files["name"], value_set=whole(removed["name"]))))
    alike = _comparable(taken(files.select(IDENTITY), rows))
    is_gone = is_among(alike, _comparable(removed.select(IDENTITY)), _COMPARED)
    stays = np.ones(len(files), dtype=bool)
    stays[rows[is_gone]] = False
    return flagged(files, stays)


def _comparable(files: pa.Table) -> pa.Table:
    """Joins the names of extra files into one text, because lists cannot be compared."""
    return with_columns(files, extra_names=pc.binary_join(whole(files["extra_files"]), "\0"))
