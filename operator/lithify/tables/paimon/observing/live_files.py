"""What is live in a table and what is due in it: all of it looked at, or an earlier look brought up to date.

Called by `observation`. A full look reads every manifest of a snapshot, a few at a time and some buckets at a
time; an update reads only what the snapshots since have added and removed, and judges the buckets that they
touched. Both come to the same. An update that does not fit what was kept (a rollback, an expired snapshot, a
missing delta) is given up for a full look. Reads metadata only and writes nothing but what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import epoch_millis
from lithify.errors import MissingFile
from lithify.tables.paimon.metadata.column_groups import (
    ColumnGroups,
    flagged,
    integers,
    is_among,
    is_null,
    places_in,
    taken,
    with_columns,
)
from lithify.tables.paimon.metadata.entries import ADD
from lithify.tables.paimon.metadata.entry_columns import live_of
from lithify.tables.paimon.observing.appended import read_appended, update_appended
from lithify.tables.paimon.observing.bucket_statistics import PLACE
from lithify.tables.paimon.observing.history import read_history, removed_bytes, update_history
from lithify.tables.paimon.observing.judging import Judge
from lithify.tables.paimon.observing.observation_cache import (
    FILES,
    Damaged,
    ObservationCache,
    SnapshotMark,
    TableState,
)
from lithify.tables.paimon.observing.spilling import Spill
from lithify.tables.paimon.table import PaimonTable

_MOST_DELTAS = 256
"""With more new snapshots than these a full look is cheaper."""
_PORTION = 1 << 16
"""About how many files are in memory at a time; at some 500 bytes each, 32 MiB."""
_MOST_PARTS = 1 << 12
"""Parts into which a table is divided at most, whatever its manifest lists say that it has."""
_FILE = (*PLACE, "name", "level")
"""What tells files apart: an upgraded file is another one at its new level."""


class Misfit(Exception):
    """What was kept is not what the new snapshots build on."""


def read(
    table: PaimonTable, uuid: str, earlier: TableState | None, target: ObservationCache, judge: Judge
) -> None:
    """Fills and saves what is to be kept of a table, as if nobody had looked at it before.

    Args:
        table: the table, just opened.
        uuid: what tells it from others of its name.
        earlier: what was kept of a table; only what its snapshots removed is taken from it.
        target: what to fill.
        judge: of the table, by the time of the look.

    Raises:
        CorruptTable: a snapshot or manifest is missing or unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
        UnsupportedTable: nobody knows how Java spells a partition.
        Damaged: what is to be kept cannot be written.
    """
    is_of_table = earlier is not None and (earlier.root, earlier.uuid) == (table.home, uuid)
    known = earlier if is_of_table else None
    empty = TableState(table.home, uuid, table.schema.id, None)

    def look(snapshot: Snapshot) -> tuple[TableState, pa.Table]:
        removed, read_to = _known_removals(table, known, snapshot)
        figures = _judged_parts(table, snapshot, target, judge)
        state = replace(
            empty,
            newest=mark_of(snapshot),
            index_types=table.manifests.index_types(snapshot),
            history=read_history(table, snapshot, removed, read_to),
            appended=read_appended(table, figures),
        )
        return state, figures

    state, figures = table.on_newest(look) or (empty, judge.figures(FILES.empty_table()))
    target.save(_judged(state, judge), figures)


def update(table: PaimonTable, uuid: str, cache: ObservationCache, judge: Judge) -> bool:
    """Brings what is kept up to date with what the snapshots since have added and removed.

    False if that does not fit together, and nothing is changed: another table or schema, a rollback, an
    expired or missing delta, or what was kept is damaged.

    Raises:
        CorruptTable: a snapshot or manifest is unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
        UnsupportedTable: nobody knows how Java spells a partition.
    """
    if (cache.state.root, cache.state.uuid, cache.state.schema_id) != (table.home, uuid, table.schema.id):
        return False
    return table.on_newest(lambda snapshot: _updated(table, cache, snapshot, judge)) or False


def judge_again(cache: ObservationCache, judge: Judge) -> None:
    """Judges the buckets of which time, or other options, may say something else than what is kept.

    Raises:
        Damaged: what is kept cannot be read or written.
    """
    figures = _up_to_date(cache, cache.figures, judge)
    if figures is not cache.figures:
        cache.save(_judged(cache.state, judge), figures)


def applied(files: pa.Table, changes: pa.Table) -> pa.Table:
    """The files of some buckets after what some snapshots did to them.

    Args:
        files: before.
        changes: their entries in the order of snapshots, in each what it adds before what it removes.

    Raises:
        Misfit: a file is added that is there, or removed that is not.
    """
    groups = ColumnGroups(changes, _FILE)
    is_added = integers(changes["kind"]) == ADD
    lasts = groups.order[groups.starts + groups.sizes - 1]
    is_new, stays = is_added[groups.firsts], is_added[lasts]
    there = places_in(taken(changes.select(_FILE), groups.firsts), files, _FILE)
    in_order = is_added[groups.order]
    is_repeated = in_order[1:] == in_order[:-1]
    is_repeated[groups.starts[1:] - 1] = False
    if (is_new == (there >= 0)).any() or is_repeated.any():
        raise Misfit
    added = taken(changes.select(FILES.names), np.sort(lasts[stays]))
    return pa.concat_tables([flagged(files, ~is_among(files, changes, _FILE)), added])


def mark_of(snapshot: Snapshot) -> SnapshotMark:
    """What is kept of a snapshot."""
    return SnapshotMark(snapshot.id, snapshot.delta_manifest_list, snapshot.time_millis)


def is_still_there(table: PaimonTable, mark: SnapshotMark) -> bool:
    """Whether a snapshot that was seen is neither expired nor replaced by another one; one request."""
    found = table.snapshots.get(mark.id)
    return found is not None and mark_of(found) == mark


def _judged_parts(table: PaimonTable, snapshot: Snapshot, target: ObservationCache, judge: Judge) -> pa.Table:
    """Puts all live files into what is to be kept; returns the figures of their buckets."""
    target.clear()
    figures = [judge.figures(FILES.empty_table())]
    for live in _live_parts(table, snapshot, target):
        files = live.select(FILES.names)
        target.put(files)
        figures.append(judge.figures(files))
    return pa.concat_tables(figures)


def _live_parts(table: PaimonTable, snapshot: Snapshot, target: ObservationCache) -> Iterator[pa.Table]:
    """The live files of a snapshot, those of some whole buckets at a time."""
    metas = table.manifests.list_files(snapshot)
    entries = sum(meta.num_added_files + meta.num_deleted_files for meta in metas)
    parts = min(max(1, -(-entries // _PORTION)), _MOST_PARTS)
    with closing(Spill(target.path and target.path.parent, parts)) as spill:
        for frame in table.manifests.frames(metas):
            spill.add(frame)
        for number in range(parts):
            frames = spill.part(number)
            if frames:
                yield live_of(frames)


def _known_removals(
    table: PaimonTable, earlier: TableState | None, snapshot: Snapshot
) -> tuple[Mapping[int, int], int]:
    """What snapshots removed as far as an earlier look read it, and the last one that it read.

    Whatever happened to the files: what was removed stays so if the snapshots only went on since.
    """
    if earlier is None or earlier.newest is None or earlier.history is None:
        return {}, 0
    continues = earlier.newest == mark_of(snapshot) or (
        earlier.newest.id < snapshot.id and is_still_there(table, earlier.newest)
    )
    return (earlier.history.removed, earlier.newest.id) if continues else ({}, 0)


def _updated(table: PaimonTable, cache: ObservationCache, snapshot: Snapshot, judge: Judge) -> bool:
    """Applies the deltas of the snapshots since; whether they fit."""
    state = cache.state
    if state.history is None or snapshot.schema_id > state.schema_id:
        return False
    try:
        steps = _steps(table, state, snapshot)
        deltas = {step.id: table.manifests.delta_columns(step) for step in steps}
        removed = {number: removed_bytes(delta) for number, delta in deltas.items()}
        after = replace(
            state,
            newest=mark_of(snapshot),
            index_types=table.manifests.index_types(snapshot),
            history=update_history(table, snapshot, {**state.history.removed, **removed}, state.history),
        )
        figures = _up_to_date(cache, _applied_to(cache, list(deltas.values()), judge), judge)
        after = replace(after, appended=update_appended(table, state.appended, steps, figures))
        cache.save(_judged(after, judge), figures)
    except (Misfit, MissingFile, Damaged):
        return False
    return True


def _applied_to(cache: ObservationCache, deltas: Sequence[pa.Table], judge: Judge) -> pa.Table:
    """Puts what deltas leave of the buckets that they touch; returns the figures of all buckets.

    Raises:
        Misfit: they do not fit what is kept.
        Damaged: what is kept cannot be read or written.
    """
    figures = cache.figures
    if not deltas:
        return figures
    changes = pa.concat_tables(_added_first(delta.select(["kind", *FILES.names])) for delta in deltas)
    touched = taken(changes.select(PLACE), ColumnGroups(changes, PLACE).firsts)
    known = places_in(touched, figures, PLACE)
    files_of = np.append(integers(figures["files"]), 0)  # the place -1, of buckets that were not there
    touched = with_columns(touched, files=files_of[known])
    fresh = [flagged(figures, ~is_among(figures, touched, PLACE))]
    for places in _portions(touched):
        of_places = flagged(changes, is_among(changes, places, PLACE))
        files = applied(cache.files_in(places), of_places)
        cache.put(files, emptied=flagged(places, ~is_among(places, files, PLACE)))
        fresh.append(judge.figures(files))
    return pa.concat_tables(fresh)


def _added_first(delta: pa.Table) -> pa.Table:
    return taken(delta, np.argsort(integers(delta["kind"]), kind="stable"))


def _up_to_date(cache: ObservationCache, figures: pa.Table, judge: Judge) -> pa.Table:
    """Figures that hold now and for this table's options; the same ones if they all do.

    Raises:
        Damaged: what is kept cannot be read.
    """
    now, state = epoch_millis(judge.now), cache.state
    if state.terms == judge.terms and now >= state.judged_millis:
        until = figures["valid_until"]
        stale = flagged(figures, ~is_null(until) & (integers(until) <= now))
    else:
        stale = figures
    if not len(stale):
        return figures
    fresh = [judge.figures(cache.files_in(places)) for places in _portions(stale)]
    return pa.concat_tables([flagged(figures, ~is_among(figures, stale, PLACE)), *fresh])


def _portions(places: pa.Table) -> list[pa.Table]:
    """Buckets divided so that the files of each portion fit into memory."""
    if not len(places):
        return []
    portion = np.cumsum(integers(places["files"])) // _PORTION
    bounds = [0, *(np.flatnonzero(np.diff(portion)) + 1).tolist(), len(places)]
    places = places.select(PLACE)
    return [places.slice(start, end - start) for start, end in pairwise(bounds)]


def _judged(state: TableState, judge: Judge) -> TableState:
    return replace(state, terms=judge.terms, judged_millis=epoch_millis(judge.now))


def _steps(table: PaimonTable, state: TableState, snapshot: Snapshot) -> Sequence[Snapshot]:
    """The snapshots after the one that was seen, up to the newest.

    Raises:
        Misfit: they do not follow it, or some are gone.
    """
    base = state.newest
    is_near = base is not None and 0 <= snapshot.id - base.id <= _MOST_DELTAS
    if base is None or not is_near:
        raise Misfit
    if base == mark_of(snapshot):
        return []
    if base.id == snapshot.id or not is_still_there(table, base):
        raise Misfit
    steps = [*(table.snapshots.get(number) for number in range(base.id + 1, snapshot.id)), snapshot]
    if any(step is None for step in steps):
        raise Misfit
    return steps
