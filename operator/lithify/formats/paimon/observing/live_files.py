"""The live files and due work of a table: by a full read, or by updating an earlier result.

Called by `observer`. A full read goes through every manifest of a snapshot, a few manifests and some buckets
at a time; an update reads only what newer snapshots have added and removed, and judges the buckets that they
touched. Both give the same result. If an update does not fit the cache (a rollback, an expired snapshot, a
missing delta), a full read follows. Reads metadata only and writes nothing except the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import epoch_millis
from lithify.columns.column_groups import (
    PLACE,
    ColumnGroups,
    flagged,
    integers,
    is_among,
    is_null,
    places_in,
    taken,
    with_columns,
)
from lithify.errors import MissingFile
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.manifests.entry_selection import EVERYTHING, Place
from lithify.formats.paimon.manifests.index_manifests import Indexes
from lithify.formats.paimon.manifests.live_entries import live_of
from lithify.formats.paimon.manifests.vector_columns import NOTHING_MARKED, marked_files, with_vectors
from lithify.formats.paimon.observing.appended import read_appended, update_appended
from lithify.formats.paimon.observing.due_work import Judge
from lithify.formats.paimon.observing.history import read_history, removed_bytes, update_history
from lithify.formats.paimon.observing.observation_cache import (
    FILES,
    Damaged,
    ObservationCache,
    SnapshotMark,
    TableState,
)
from lithify.formats.paimon.observing.spilling import Spill
from lithify.formats.paimon.table import PaimonTable

_MOST_DELTAS = 256
"""Number of new snapshots above which a full read is cheaper."""
_PORTION = 1 << 16
"""Approximate number of files in memory at a time; at some 500 bytes each, 32 MiB."""
_MOST_PARTS = 1 << 12
"""Maximum number of parts of a table, whatever size its manifest lists state."""
_FILE = (*PLACE, "name", "level")
"""Columns that identify a file; an upgraded file is another one at its new level."""


class Misfit(Exception):
    """The cache does not fit the new snapshots."""


def read(
    table: PaimonTable, uuid: str, earlier: TableState | None, target: ObservationCache, judge: Judge
) -> None:
    """Fills and saves a table's cache by a full read.

    Args:
        table: the table, just opened.
        uuid: the table's identity.
        earlier: earlier cached state; only the removals of its snapshots are reused.
        target: the cache to fill.
        judge: judge with the table's options and the time of this observation.

    Raises:
        CorruptTable: a snapshot or manifest is missing or unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
        UnsupportedTable: Java's spelling of a partition is unknown.
        Damaged: the cache cannot be written.
    """
    is_of_table = earlier is not None and (earlier.root, earlier.uuid) == (table.home, uuid)
    known = earlier if is_of_table else None
    empty = TableState(table.home, uuid, table.schema.id, None)

    def look(snapshot: Snapshot) -> tuple[TableState, pa.Table]:
        removed, read_to = _known_removals(table, known, snapshot)
        indexes = _indexes(table, snapshot)
        figures = _judged_parts(table, snapshot, indexes, target, judge)
        state = replace(
            empty,
            newest=mark_of(snapshot),
            index_types=indexes.types,
            history=read_history(table, snapshot, removed, read_to),
            appended=read_appended(table, figures),
            vector_files=_vector_files(indexes),
        )
        return state, figures

    state, figures = table.on_newest(look) or (empty, judge.figures(FILES.empty_table()))
    target.save(_judged(state, judge), figures)


def update(table: PaimonTable, uuid: str, cache: ObservationCache, judge: Judge) -> bool:
    """Updates the cache by what newer snapshots have added and removed.

    Returns False, without changing anything, if they do not fit: another table or schema, a rollback, an
    expired or missing delta, or a damaged cache.

    Raises:
        CorruptTable: a snapshot or manifest is unreadable.
        StorageError: the file system refuses, or the catalog does not answer.
        UnsupportedTable: Java's spelling of a partition is unknown.
    """
    if (cache.state.root, cache.state.uuid, cache.state.schema_id) != (table.home, uuid, table.schema.id):
        return False
    return table.on_newest(lambda snapshot: _updated(table, cache, snapshot, judge)) or False


def judge_again(cache: ObservationCache, judge: Judge) -> None:
    """Judges the buckets again whose cached result may differ at another time or with other options.

    Raises:
        Damaged: the cache cannot be read or written.
    """
    figures = _up_to_date(cache, cache.figures, judge)
    if figures is not cache.figures:
        cache.save(_judged(cache.state, judge), figures)


def applied(files: pa.Table, changes: pa.Table) -> pa.Table:
    """The files of some buckets after the changes of some snapshots.

    Args:
        files: the files before.
        changes: entries in the order of snapshots, additions before removals within a snapshot.

    Raises:
        Misfit: an added file exists already, or a removed one does not exist.
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
    """The cached identification of a snapshot."""
    return SnapshotMark(snapshot.id, snapshot.delta_manifest_list, snapshot.time_millis)


def is_still_there(table: PaimonTable, mark: SnapshotMark) -> bool:
    """Whether a known snapshot is neither expired nor replaced by another one; one request."""
    found = table.snapshots.get(mark.id)
    return found is not None and mark_of(found) == mark


def _indexes(table: PaimonTable, snapshot: Snapshot) -> Indexes:
    """The index files of a snapshot, with deletion vectors only if the table's planning depends on them."""
    packing = table.options.packing
    depends = packing is not None and packing.delete_ratio is not None
    return table.manifests.indexes(snapshot, EVERYTHING if depends else None)


def _vector_files(indexes: Indexes) -> frozenset[tuple[Place, str]]:
    return frozenset((place, index.name) for place, found in indexes.vectors.items() for index in found)


def _judged_parts(
    table: PaimonTable, snapshot: Snapshot, indexes: Indexes, target: ObservationCache, judge: Judge
) -> pa.Table:
    """Puts all live files into the cache; returns the figures of their buckets."""
    target.clear()
    marked = marked_files(indexes.vectors)
    figures = [judge.figures(FILES.empty_table())]
    for live in _live_parts(table, snapshot, target):
        files = with_vectors(live, marked).select(FILES.names)
        target.put(files)
        figures.append(judge.figures(files))
    return pa.concat_tables(figures)


def _live_parts(table: PaimonTable, snapshot: Snapshot, target: ObservationCache) -> Iterator[pa.Table]:
    """The live files of a snapshot in portions of whole buckets."""
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
    """Removals by snapshot from earlier cached state, and the last snapshot included.

    Valid whatever the state of files: past removals do not change if the earlier snapshot is part of the
    history.
    """
    if earlier is None or earlier.newest is None or earlier.history is None:
        return {}, 0
    continues = earlier.newest == mark_of(snapshot) or (
        earlier.newest.id < snapshot.id and is_still_there(table, earlier.newest)
    )
    return (earlier.history.removed, earlier.newest.id) if continues else ({}, 0)


def _updated(table: PaimonTable, cache: ObservationCache, snapshot: Snapshot, judge: Judge) -> bool:
    """Applies the deltas of newer snapshots; returns whether they fit."""
    state = cache.state
    if state.history is None or snapshot.schema_id > state.schema_id:
        return False
    try:
        steps = _steps(table, state, snapshot)
        deltas = {step.id: table.manifests.delta_columns(step) for step in steps}
        removed = {number: removed_bytes(delta) for number, delta in deltas.items()}
        indexes = _indexes(table, snapshot)
        after = replace(
            state,
            newest=mark_of(snapshot),
            index_types=indexes.types,
            vector_files=_vector_files(indexes),
            history=update_history(table, snapshot, {**state.history.removed, **removed}, state.history),
        )
        fresh = _applied_to(cache, list(deltas.values()), indexes, judge)
        figures = _up_to_date(cache, fresh, judge)
        after = replace(after, appended=update_appended(table, state.appended, steps, figures))
        cache.save(_judged(after, judge), figures)
    except (Misfit, MissingFile, Damaged):
        return False
    return True


def _applied_to(
    cache: ObservationCache, deltas: Sequence[pa.Table], indexes: Indexes, judge: Judge
) -> pa.Table:
    """Caches the files of touched buckets after the deltas; returns the figures of all buckets.

    Raises:
        Misfit: they do not fit the cache.
        Damaged: the cache cannot be read or written.
    """
    figures = cache.figures
    if not deltas:
        return figures
    columns = ["kind", *FILES.names]
    unmarked = (with_vectors(delta, NOTHING_MARKED).select(columns) for delta in deltas)
    changes = pa.concat_tables(map(_added_first, unmarked))
    remarked = _places(place for place, _ in _vector_files(indexes) ^ cache.state.vector_files)
    remarked = flagged(remarked, is_among(remarked, figures, PLACE))  # others have no files, or new ones
    touched = pa.concat_tables([changes.select(PLACE), remarked])
    touched = taken(touched, ColumnGroups(touched, PLACE).firsts)
    marked = marked_files(indexes.vectors)
    known = places_in(touched, figures, PLACE)
    files_of = np.append(integers(figures["files"]), 0)  # index -1: buckets that did not exist before
    touched = with_columns(touched, files=files_of[known])
    fresh = [flagged(figures, ~is_among(figures, touched, PLACE))]
    for places in _portions(touched):
        of_places = flagged(changes, is_among(changes, places, PLACE))
        files = with_vectors(applied(cache.files_in(places), of_places), marked)
        cache.put(files, emptied=flagged(places, ~is_among(places, files, PLACE)))
        fresh.append(judge.figures(files))
    return pa.concat_tables(fresh)


def _places(places: Iterable[Place]) -> pa.Table:
    """Buckets as rows of `PLACE`."""
    distinct = sorted(set(places))
    columns = ([place[number] for place in distinct] for number in range(len(PLACE)))
    schema = pa.schema([FILES.field(name) for name in PLACE])
    return pa.table([pa.array(*each) for each in zip(columns, schema.types, strict=True)], schema=schema)


def _added_first(delta: pa.Table) -> pa.Table:
    return taken(delta, np.argsort(integers(delta["kind"]), kind="stable"))


def _up_to_date(cache: ObservationCache, figures: pa.Table, judge: Judge) -> pa.Table:
    """Figures that hold now and for this table's options; the same object if all still hold.

    Raises:
        Damaged: the cache cannot be read.
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
    """Divides buckets so that the files of each portion fit into memory."""
    if not len(places):
        return []
    portion = np.cumsum(integers(places["files"])) // _PORTION
    bounds = [0, *(np.flatnonzero(np.diff(portion)) + 1).tolist(), len(places)]
    places = places.select(PLACE)
    return [places.slice(start, end - start) for start, end in pairwise(bounds)]


def _judged(state: TableState, judge: Judge) -> TableState:
    return replace(state, terms=judge.terms, judged_millis=epoch_millis(judge.now))


def _steps(table: PaimonTable, state: TableState, snapshot: Snapshot) -> Sequence[Snapshot]:
    """The snapshots after the known one, up to the newest.

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
