"""Finds references to files of an attempt: in snapshots, tags, changelogs, of all branches.

Called by `file_deletion` before it deletes. Thorough rather than fast: before it reports a file as
unreferenced it has read every reachable manifest, each once, and it raises rather than missing one. Manifests
may be gone where a snapshot expired concurrently, or where Paimon's own clean-up broke a branch: no reader
can get through those, so they reference nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.columns.column_groups import is_one_of, listed, whole
from lithify.columns.json_texts import parse_object
from lithify.errors import CorruptTable, MissingFile
from lithify.formats.paimon.snapshots.holders import Holder, Holding, holders_of
from lithify.formats.paimon.table import PaimonTable
from lithify.io.file_names import is_file_name, shown

_LOOKS = 4
_LISTS = ("baseManifestList", "deltaManifestList", "changelogManifestList")
_INDEXES = "indexManifest"


def unreferenced(table: PaimonTable, names: Iterable[str]) -> set[str]:
    """The unreferenced ones of some data files, index files, manifests and manifest lists, by name.

    Begins with the newest snapshot and ends as soon as each file is known to be referenced.

    Raises:
        CorruptTable: metadata that should be readable is not, so references are unknown.
    """
    left = set(names)
    seen: set[str] = set()
    for named in _named_files(table):
        for name in (named.lists | named.indexes) - seen:
            seen.add(name)
            left -= _indexed(table, name) if name in named.indexes else _reachable(table, name, seen, left)
            left -= seen
            if not left:
                return left
    _check_newest(table)
    return left


def is_held_elsewhere(table: PaimonTable, snapshot: Snapshot) -> bool:
    """Whether a tag, a changelog or another branch has a snapshot of this branch.

    Raises:
        CorruptTable: metadata that should be readable is not, so the answer is unknown.
    """
    own, name = table.snapshots.path(snapshot.id), f"snapshot-{snapshot.id}"
    for holder in _holders(table):
        is_of_another_number = holder.kind is Holding.SNAPSHOT and holder.name != name
        if holder.path != own and not is_of_another_number:
            text = table.storage.read_text(holder.path)
            if text is not None and snapshot.delta_manifest_list in _named_in(holder.path, text).lists:
                return True
    return False


def _check_newest(table: PaimonTable) -> None:
    """Checks that no metadata of the newest snapshot is missing; a damaged table must not be cleaned up."""
    table.on_newest(table.manifests.live_columns)


@dataclass(frozen=True, slots=True)
class _Named:
    """The files that a snapshot, tag or changelog names: manifest lists and index manifests."""

    lists: frozenset[str]
    indexes: frozenset[str]


def _named_files(table: PaimonTable) -> Iterator[_Named]:
    """The manifest lists and index manifest of each snapshot, tag and changelog of all branches.

    First the newest snapshot as its catalog knows it: a server may be slow to write the file. Snapshots may
    be copied from one place to another and then deleted (tag, branch, fast-forward, drop branch), perhaps
    from a place not read yet to one already read. So new ones are read until a pass over all places finds
    none, or so often that new ones only indicate busy writers.
    """
    if newest := table.snapshots.latest():
        yield _named_by(newest)
    read: set[Holder] = set()
    for _ in range(_LOOKS):
        unread = [holder for holder in _holders(table) if holder not in read]
        if not unread:
            return
        read.update(unread)
        for holder in unread:
            text = table.storage.read_text(holder.path)
            if text is not None:
                yield _named_in(holder.path, text)


def _holders(table: PaimonTable) -> Iterator[Holder]:
    """The existing files: first of this branch, then of the main one, last of all others."""
    return holders_of(table.storage, table.root, table.home)


def _named_in(path: str, text: str) -> _Named:
    try:
        holder = parse_object(text)
    except ValueError as error:
        raise CorruptTable(path, f"it cannot be read as JSON ({error})") from error
    lists = [holder[key] for key in _LISTS if holder.get(key)]
    indexes = [holder[_INDEXES]] if holder.get(_INDEXES) else []
    for name in (*lists, *indexes):
        if not is_file_name(name):
            raise CorruptTable(path, f"{shown(name)} is no name of a manifest list")
    return _Named(frozenset(lists), frozenset(indexes))


def _named_by(snapshot: Snapshot) -> _Named:
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list)
    return _Named(
        frozenset(name for name in lists if name),
        frozenset([snapshot.index_manifest] if snapshot.index_manifest else ()),
    )


def _indexed(table: PaimonTable, index_manifest: str) -> set[str]:
    """The index files that an index manifest names."""
    names: set[str] = set()
    with suppress(MissingFile):
        names = table.manifests.index_names(index_manifest)
    return names


def _reachable(table: PaimonTable, list_name: str, seen: set[str], wanted: Collection[str]) -> set[str]:
    """The given data files, and files beside them, that manifests of a list name for the first time."""
    names: set[str] = set()
    with suppress(MissingFile):
        for manifest in table.manifests.names_in_list(list_name):
            if manifest not in seen:
                seen.add(manifest)
                with suppress(MissingFile):
                    entries = table.manifests.columns_of(manifest)
                    for files in (whole(entries["name"]), whole(entries["extra_files"]).flatten()):
                        names.update(listed(files.filter(pa.array(is_one_of(files, wanted)))))
    return names
