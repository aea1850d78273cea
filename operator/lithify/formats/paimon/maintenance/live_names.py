"""Which of some data files are still needed: live in a snapshot that stays, or part of its changelog.

Called by `expiry`. Every manifest of every reference is read, each once, as columns; only rows of candidates
are kept of it, so that memory depends on the files that may go and not on the table. Files are compared by
name, which is unique in practice; were it not, a file would stay that could go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import flagged, flags, integers, whole
from lithify.errors import MissingFile
from lithify.formats.paimon.maintenance.named_files import NamedFiles, Reference
from lithify.formats.paimon.maintenance.removed_files import appended_of, names_of
from lithify.formats.paimon.manifests.live_entries import live_of
from lithify.formats.paimon.table import PaimonTable

_AHEAD = 4
"""Manifests that are read at a time; each is a few MiB, decoded some ten times as much."""


def live_names(
    table: PaimonTable, references: Sequence[Reference], named: NamedFiles, candidates: pa.Array
) -> pa.Array:
    """The names among `candidates` that a reference needs, also as files beside data files.

    Args:
        table: the table.
        references: the snapshots that stay.
        named: what they name.
        candidates: names of data and changelog files, and of files beside them.

    Raises:
        MissingFile: a manifest is missing that a reference names which must not be broken.
    """
    if not len(candidates):
        return candidates
    frames = _frames(table, references, named, candidates)
    found = [names_of(entries) for entries in _needed(references, named, frames)]
    return pc.unique(pa.concat_arrays([pa.array([], pa.string()), *found]))


def _needed(
    references: Iterable[Reference], named: NamedFiles, frames: Mapping[str, pa.Table]
) -> Iterator[pa.Table]:
    """The entries of candidates that references need.

    Consecutive snapshots mostly have candidates in the same manifests: each such set is computed once.
    """
    found = {
        tuple(name for name in named.manifests_in(each.lists) if name in frames): None for each in references
    }
    for names in found:
        if names:
            yield live_of(frames[name] for name in names)
    changelogs = {name for each in references for name in named.manifests_in(each.changelog_lists)}
    yield from (frames[name] for name in changelogs if name in frames)
    appended = {name for each in references for name in named.manifests_in(each.appended_lists)}
    yield from (appended_of(frames[name]) for name in appended if name in frames)


def _frames(
    table: PaimonTable, references: Sequence[Reference], named: NamedFiles, candidates: pa.Array
) -> dict[str, pa.Table]:
    """The entries of candidates in each manifest that has any."""
    needed = {
        name for each in references if not each.may_be_broken for name in named.manifests_in(_lists(each))
    }
    wanted = {name for each in references for name in named.manifests_in(_lists(each))}
    read = read_manifests(table, sorted(wanted), needed)
    chosen = ((name, entries_of_candidates(entries, candidates)) for name, entries in read)
    return {name: entries for name, entries in chosen if len(entries)}


def _lists(reference: Reference) -> list[str]:
    """The lists of a reference whose entries say which data and changelog files it needs."""
    return [*reference.lists, *reference.changelog_lists, *reference.appended_lists]


def entries_of_candidates(entries: pa.Table, candidates: pa.Array) -> pa.Table:
    """The entries of files that are candidates, or have a candidate beside them."""
    extra = whole(entries["extra_files"])
    is_candidate = flags(pc.is_in(whole(entries["name"]), value_set=candidates)).copy()
    beside = flags(pc.is_in(extra.flatten(), value_set=candidates))
    is_candidate[integers(pc.list_parent_indices(extra))[beside]] = True
    return flagged(entries, is_candidate)


def read_manifests(
    table: PaimonTable, names: Sequence[str], needed: Set[str] = frozenset()
) -> Iterator[tuple[str, pa.Table]]:
    """The entries of some manifests, in their order; those that are missing and not needed are left out.

    Raises:
        MissingFile: one that is needed is missing.
    """

    def read(name: str) -> pa.Table | None:
        try:
            return table.manifests.columns_of(name)
        except MissingFile:
            if name in needed:
                raise
            return None

    with ThreadPoolExecutor(_AHEAD) as readers:
        for start in range(0, len(names), _AHEAD):
            part = names[start : start + _AHEAD]
            for name, entries in zip(part, readers.map(read, part), strict=True):
                if entries is not None:
                    yield name, entries
