"""What snapshots, tags and changelogs name directly, and which of it must exist.

Called by `names_in_use`. Strict where a missing file would hide names: only what Java's expiry deletes
earlier than the holder may be missing, which are the changelogs of tagged snapshots and of those of branches,
and all but the changelog of changelogs that have outlived their snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import CorruptTable, MissingFile
from lithify.formats.paimon.snapshots.holders import Holder, Holding
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.table import PaimonTable
from lithify.io.small_files import MOST_SNAPSHOT

_AT_ONCE = 8

Found = TypeVar("Found")
Item = TypeVar("Item")


@dataclass(slots=True)
class HolderNeeds:
    """Files that holders name, by name, each with whether it must exist.

    Attributes:
        lists: manifest lists.
        indexes: index manifests.
        statistics: files of column statistics.
        oldest: the oldest snapshot of the table's own branch among the holders; None without any.
    """

    lists: dict[str, bool] = field(default_factory=dict)
    indexes: dict[str, bool] = field(default_factory=dict)
    statistics: set[str] = field(default_factory=set)
    oldest: int | None = None


@dataclass(frozen=True, slots=True)
class NamedMetadata:
    """The files that manifest lists and index manifests name.

    Attributes:
        manifests: the manifests, each with whether it must exist.
        index_files: the index files.
    """

    manifests: Mapping[str, bool]
    index_files: frozenset[str]


def read_needs(table: PaimonTable, holders: Iterable[Holder]) -> HolderNeeds:
    """What some holders name; those that are gone by now need nothing.

    Raises:
        CorruptTable: one cannot be read.
    """
    found = HolderNeeds()
    for holder, snapshot in _all_of(holders, lambda holder: (holder, _read(table, holder))):
        if snapshot is not None:
            _note(found, holder, snapshot, is_own=holder.home == table.home)
    return found


def read_metadata(table: PaimonTable, needs: HolderNeeds) -> NamedMetadata:
    """What manifest lists and index manifests name, each read once.

    Raises:
        MissingFile: one that must exist is missing.
        CorruptTable: one cannot be read.
    """
    manifests: dict[str, bool] = {}
    for is_needed, names in _contents(needs.lists, table.manifests.names_in_list):
        for name in names:
            manifests[name] = manifests.get(name, False) or is_needed
    indexes = [names for _, names in _contents(needs.indexes, table.manifests.index_names)]
    return NamedMetadata(manifests, frozenset().union(*indexes))


def _note(needs: HolderNeeds, holder: Holder, snapshot: Snapshot, *, is_own: bool) -> None:
    is_snapshot, has_outlived = holder.kind is Holding.SNAPSHOT, holder.kind is Holding.CHANGELOG
    changelog = snapshot.changelog_manifest_list
    for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
        _demand(needs.lists, name, is_needed=not has_outlived)
    _demand(needs.lists, changelog, is_needed=has_outlived or (is_snapshot and is_own))
    _demand(needs.indexes, snapshot.index_manifest, is_needed=not has_outlived)
    if snapshot.statistics:
        needs.statistics.add(snapshot.statistics)
    if is_snapshot and is_own:
        needs.oldest = snapshot.id if needs.oldest is None else min(needs.oldest, snapshot.id)


def _demand(files: dict[str, bool], name: str | None, *, is_needed: bool) -> None:
    if name:
        files[name] = files.get(name, False) or is_needed


def _read(table: PaimonTable, holder: Holder) -> Snapshot | None:
    text = table.storage.read_text(holder.path, MOST_SNAPSHOT)
    try:
        return None if text is None else parse_snapshot(text)
    except ValueError as error:
        raise CorruptTable(holder.path, f"the {holder.kind} cannot be read ({error})") from error


def _contents(
    files: Mapping[str, bool], read: Callable[[str], Iterable[str]]
) -> Iterator[tuple[bool, Iterable[str]]]:
    """What each file names, and whether it must exist; nothing if it is missing and may be."""

    def content(item: tuple[str, bool]) -> tuple[bool, Iterable[str]]:
        name, is_needed = item
        try:
            return is_needed, read(name)
        except MissingFile:
            if is_needed:
                raise
            return False, ()

    return _all_of(files.items(), content)


def _all_of(items: Iterable[Item], read: Callable[[Item], Found]) -> Iterator[Found]:
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        yield from readers.map(read, items)
