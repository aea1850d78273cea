"""The files and due work of a table's groups: by a full read, or by updating an earlier result.

Called by `observer`. A full read goes through all entries of a snapshot, some of them and some groups at a
time; an update reads only what newer snapshots have added and removed, and judges the groups that they
touched. Both give the same result. If an update does not fit the cache (a rollback, an expired snapshot, a
missing delta), a full read follows. Writes nothing except the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lithify.clock import epoch_millis
from lithify.columns.column_groups import (
    ColumnGroups,
    flagged,
    flags,
    integers,
    is_among,
    is_null,
    places_in,
    taken,
    with_columns,
)
from lithify.engine.observe.cache import Damaged, ObservationCache
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.source import (
    Changes,
    Judge,
    Listing,
    Misfit,
    ObservedTable,
    PinnedSnapshot,
)
from lithify.engine.observe.spill import Spill
from lithify.engine.observe.state import Details, SnapshotMark, TableState
from lithify.errors import MissingFile

_MOST_PARTS = 1 << 12
"""Maximum number of parts of a table, whatever number of entries its metadata states."""


def read(
    table: ObservedTable[Details],
    earlier: TableState[Details] | None,
    target: ObservationCache[Details],
    judge: Judge,
) -> None:
    """Fills and saves a table's cache by a full read.

    Args:
        table: the table, just opened.
        earlier: earlier cached state, possibly of another table.
        target: the cache to fill.
        judge: judge with the table's options and the time of this observation.

    Raises:
        LithifyError: see `PinnedSnapshot.listing`.
        Damaged: the cache cannot be written.
    """
    layout = target.layout

    def look(snapshot: PinnedSnapshot[Details]) -> tuple[SnapshotMark | None, Details, pa.Table]:
        listing = snapshot.listing(earlier)
        figures = _judged_parts(listing, target, judge)
        return snapshot.mark, listing.details(figures), figures

    nothing = None, layout.nothing, judge.figures(layout.no_files)
    newest, details, figures = table.on_newest(look) or nothing
    target.save(TableState(table.key, newest, details, judge.terms, epoch_millis(judge.now)), figures)


def update(table: ObservedTable[Details], cache: ObservationCache[Details], judge: Judge) -> bool:
    """Updates the cache by what newer snapshots have added and removed.

    Returns False, without changing anything, if they do not fit: another table or schema, a rollback, an
    expired or missing delta, or a damaged cache.

    Raises:
        LithifyError: see `PinnedSnapshot.changes_since`.
    """
    if cache.state.table != table.key or cache.state.newest is None:
        return False
    return table.on_newest(lambda snapshot: _updated(snapshot, cache, judge)) or False


def judge_again(cache: ObservationCache[Details], judge: Judge) -> None:
    """Judges the groups again whose cached result may differ at another time or with other options.

    Raises:
        Damaged: the cache cannot be read or written.
    """
    figures = _up_to_date(cache, cache.figures, judge)
    if figures is not cache.figures:
        state = cache.state
        _save(cache, state.newest, state.details, figures, judge)


def applied(files: pa.Table, changes: pa.Table, identity: Sequence[str]) -> pa.Table:
    """The files of some groups after the changes of some snapshots.

    Args:
        files: the files before.
        changes: files and whether each `is_added`, in the order of snapshots, and within a snapshot additions
            before removals.
        identity: the columns that identify a file.

    Raises:
        Misfit: an added file exists already, or a removed one does not exist.
    """
    groups = ColumnGroups(changes, identity)
    is_added = flags(changes["is_added"])
    lasts = groups.order[groups.starts + groups.sizes - 1]
    is_new, stays = is_added[groups.firsts], is_added[lasts]
    there = places_in(taken(changes.select(identity), groups.firsts), files, identity)
    in_order = is_added[groups.order]
    is_repeated = in_order[1:] == in_order[:-1]
    is_repeated[groups.starts[1:] - 1] = False
    if (is_new == (there >= 0)).any() or is_repeated.any():
        raise Misfit
    added = taken(changes.select(files.column_names), np.sort(lasts[stays]))
    return pa.concat_tables([flagged(files, ~is_among(files, changes, identity)), added])


def _judged_parts(listing: Listing[Details], target: ObservationCache[Details], judge: Judge) -> pa.Table:
    """Puts all live files into the cache; returns the figures of their groups."""
    target.clear()
    figures = [judge.figures(target.layout.no_files)]
    for live in _live_parts(listing, target):
        files = live.select(target.layout.files.names)
        target.put(files)
        figures.append(judge.figures(files))
    return pa.concat_tables(figures)


def _live_parts(listing: Listing[Details], target: ObservationCache[Details]) -> Iterator[pa.Table]:
    """The live files of a snapshot in portions of whole groups."""
    layout = target.layout
    parts = min(max(1, -(-listing.entries // layout.portion)), _MOST_PARTS)
    with closing(Spill(target.path and target.path.parent, layout.group, parts)) as spill:
        for frame in listing.frames:
            spill.add(frame)
        for number in range(parts):
            frames = spill.part(number)
            if frames:
                yield listing.live(frames)


def _updated(snapshot: PinnedSnapshot[Details], cache: ObservationCache[Details], judge: Judge) -> bool:
    """Applies the changes of newer snapshots; returns whether they fit."""
    try:
        changes = snapshot.changes_since(cache.state)
        figures = _applied_to(cache, changes, judge)
        _save(cache, snapshot.mark, changes.details(figures), figures, judge)
    except (Misfit, MissingFile, Damaged):
        return False
    return True


def _applied_to(cache: ObservationCache[Details], changes: Changes[Details], judge: Judge) -> pa.Table:
    """Caches the files of touched groups after the changes; returns the figures of all groups.

    Raises:
        Misfit: they do not fit the cache.
        Damaged: the cache cannot be read or written.
    """
    figures, layout = cache.figures, cache.layout
    if not changes.commits:
        return _up_to_date(cache, figures, judge)
    entries = pa.concat_tables(map(_added_first, changes.commits))
    touched = _touched(entries, changes.touched, figures, layout)
    others = flagged(figures, ~is_among(figures, touched, layout.group))
    fresh = [_up_to_date(cache, others, judge)]
    for groups in _portions(touched, layout):
        of_groups = flagged(entries, is_among(entries, groups, layout.group))
        files = changes.complete(applied(cache.files_in(groups), of_groups, layout.file))
        cache.put(files, emptied=flagged(groups, ~is_among(groups, files, layout.group)))
        fresh.append(judge.figures(files))
    return pa.concat_tables(fresh)


def _touched(entries: pa.Table, others: pa.Table, figures: pa.Table, layout: Layout[Details]) -> pa.Table:
    """The groups that have to be judged again, with the number of `files` that each had before."""
    others = flagged(others, is_among(others, figures, layout.group))  # the rest has no files, or new ones
    touched = pa.concat_tables([entries.select(layout.group), others.select(layout.group)])
    touched = taken(touched, ColumnGroups(touched, layout.group).firsts)
    files_of = np.append(integers(figures["files"]), 0)  # index -1: groups that did not exist before
    return with_columns(touched, files=files_of[places_in(touched, figures, layout.group)])


def _added_first(commit: pa.Table) -> pa.Table:
    return taken(commit, np.argsort(~flags(commit["is_added"]), kind="stable"))


def _up_to_date(cache: ObservationCache[Details], figures: pa.Table, judge: Judge) -> pa.Table:
    """Figures that hold now and for this table's options; the same object if all still hold.

    Args:
        cache: the cache.
        figures: those of groups that have not been changed since it was saved.
        judge: the judge of this observation.

    Raises:
        Damaged: the cache cannot be read.
    """
    now, state, layout = epoch_millis(judge.now), cache.state, cache.layout
    if state.terms == judge.terms and now >= state.judged_millis:
        until = figures["valid_until"]
        stale = flagged(figures, ~is_null(until) & (integers(until) <= now))
    else:
        stale = figures
    if not len(stale):
        return figures
    fresh = [judge.figures(cache.files_in(groups)) for groups in _portions(stale, layout)]
    return pa.concat_tables([flagged(figures, ~is_among(figures, stale, layout.group)), *fresh])


def _portions(groups: pa.Table, layout: Layout[Details]) -> list[pa.Table]:
    """Divides groups so that the files of each portion fit into memory."""
    if not len(groups):
        return []
    portion = np.cumsum(integers(groups["files"])) // layout.portion
    bounds = [0, *(np.flatnonzero(np.diff(portion)) + 1).tolist(), len(groups)]
    groups = groups.select(layout.group)
    return [groups.slice(start, end - start) for start, end in pairwise(bounds)]


def _save(
    cache: ObservationCache[Details],
    newest: SnapshotMark | None,
    details: Details,
    figures: pa.Table,
    judge: Judge,
) -> None:
    state = TableState(cache.state.table, newest, details, judge.terms, epoch_millis(judge.now))
    cache.save(state, figures)
