"""The metadata files that snapshots name: manifest lists, manifests, index files and statistics.

Called by `expiry`, for the snapshots that go and for those that stay. Data files are the concern of
`live_names`: there are far more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import MissingFile
from lithify.files.avro.metadata_files import reading
from lithify.formats.paimon.manifests.index_manifests import records_of
from lithify.formats.paimon.table import PaimonTable

_AT_ONCE = 8

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Reference:
    """A snapshot whose files are wanted.

    Attributes:
        snapshot: the snapshot.
        has_changelog: whether its changelog counts. A tag has none: Java deletes the changelog of a tagged
            snapshot with the snapshot, and would never delete it with the tag.
        may_be_broken: whether files that it names may be missing.
    """

    snapshot: Snapshot
    has_changelog: bool = True
    may_be_broken: bool = False

    @property
    def lists(self) -> list[str]:
        """Its manifest lists of data files, in the order of their entries."""
        return [self.snapshot.base_manifest_list, self.snapshot.delta_manifest_list]

    @property
    def changelog_lists(self) -> list[str]:
        """Its manifest list of changelog files, if any."""
        name = self.snapshot.changelog_manifest_list
        return [name] if name and self.has_changelog else []


@dataclass(frozen=True, slots=True)
class IndexFile:
    """An index file and where it lies, as its manifest says."""

    kind: str
    partition: bytes
    bucket: int
    external_path: str | None


@dataclass(frozen=True)
class NamedFiles:
    """What some snapshots name.

    Attributes:
        by_list: the manifests of each manifest list.
        by_index: the index files of each index manifest, by name.
        statistics: the files of column statistics.
    """

    by_list: Mapping[str, tuple[str, ...]]
    by_index: Mapping[str, Mapping[str, IndexFile]]
    statistics: frozenset[str]

    @cached_property
    def manifests(self) -> frozenset[str]:
        """All manifests."""
        return frozenset(name for names in self.by_list.values() for name in names)

    @cached_property
    def index_files(self) -> dict[str, IndexFile]:
        """All index files by name."""
        return {name: file for files in self.by_index.values() for name, file in files.items()}

    def manifests_in(self, lists: Iterable[str]) -> list[str]:
        """The manifests of some lists, in their order."""
        return [name for each in lists for name in self.by_list[each]]


def both(one: NamedFiles, other: NamedFiles) -> NamedFiles:
    """What either names; where they differ on a file, what the other one says."""
    return NamedFiles(
        by_list={**one.by_list, **other.by_list},
        by_index={**one.by_index, **other.by_index},
        statistics=one.statistics | other.statistics,
    )


def read_named(table: PaimonTable, references: Iterable[Reference]) -> NamedFiles:
    """Reads the manifest lists and index manifests of some snapshots, each once.

    Raises:
        MissingFile: a file is missing that a reference names which must not be broken.
        CorruptTable: a file cannot be read.
    """
    lists: dict[str, bool] = {}
    indexes: dict[str, bool] = {}
    statistics = set()
    for each in references:
        _note(lists, (*each.lists, *each.changelog_lists), each)
        _note(indexes, [each.snapshot.index_manifest] if each.snapshot.index_manifest else [], each)
        statistics.update([each.snapshot.statistics] if each.snapshot.statistics else [])
    by_list = _read_all(lists, lambda name: tuple(table.manifests.names_in_list(name)))
    by_index = _read_all(indexes, lambda name: _index_files(table, name))
    return NamedFiles(
        by_list={name: found or () for name, found in by_list.items()},
        by_index={name: found or {} for name, found in by_index.items()},
        statistics=frozenset(statistics),
    )


def _note(needed: dict[str, bool], names: Iterable[str], reference: Reference) -> None:
    """Notes names, and whether their files must exist for any reference."""
    for name in names:
        needed[name] = needed.get(name, False) or not reference.may_be_broken


def _read_all(needed: Mapping[str, bool], read: Callable[[str], Found]) -> dict[str, Found | None]:
    """What each file says; None if it is missing and may be."""

    def found(item: tuple[str, bool]) -> Found | None:
        name, is_needed = item
        try:
            return read(name)
        except MissingFile:
            if is_needed:
                raise
            return None

    with ThreadPoolExecutor(_AT_ONCE) as readers:
        return dict(zip(needed, readers.map(found, needed.items()), strict=True))


def _index_files(table: PaimonTable, name: str) -> dict[str, IndexFile]:
    content = table.manifests.content(name)
    with reading(table.manifests.path(name), "index manifest"):
        return {
            each["_FILE_NAME"]: IndexFile(
                each["_INDEX_TYPE"], each["_PARTITION"], each["_BUCKET"], each.get("_EXTERNAL_PATH")
            )
            for each in records_of(content)
        }
