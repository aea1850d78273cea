"""The metadata files that snapshots name: manifest lists, manifests, index files and statistics.

Called by `expiry`, for the snapshots that go and for those that stay. Data files are the concern of
`live_names`: there are far more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TypeVar

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import MissingFile
from lithify.files.avro.metadata_files import reading
from lithify.formats.paimon.manifests.index_manifests import records_of
from lithify.formats.paimon.table import PaimonTable

_AT_ONCE = 8

Found = TypeVar("Found")


class Part(Enum):
    """What of a snapshot is wanted.

    Attributes:
        WHOLE: all of it.
        STATE: the table as it was, without the changelog. Tags have no more: Java deletes the changelog of a
            tagged snapshot with the snapshot, and would never delete it with the tag.
        CHANGELOG: what a changelog has that outlives its snapshot.
        INDEXES: the index files and statistics only.
    """

    WHOLE = auto()
    STATE = auto()
    CHANGELOG = auto()
    INDEXES = auto()


@dataclass(frozen=True, slots=True)
class Reference:
    """A snapshot whose files are wanted.

    Attributes:
        snapshot: the snapshot.
        part: what of it.
        may_be_broken: whether files that it names may be missing.
    """

    snapshot: Snapshot
    part: Part = Part.WHOLE
    may_be_broken: bool = False

    @property
    def lists(self) -> list[str]:
        """Its manifest lists of data files, in the order of their entries."""
        return self._state if self.part in (Part.WHOLE, Part.STATE) else []

    @property
    def changelog_lists(self) -> list[str]:
        """Its manifest list of changelog files, if any."""
        name = self.snapshot.changelog_manifest_list
        return [name] if name and self.part in (Part.WHOLE, Part.CHANGELOG) else []

    @property
    def appended_lists(self) -> list[str]:
        """The manifest list whose appended data files are its changelog; see `kept_lists`."""
        return [self.snapshot.delta_manifest_list] if self._is_of_data else []

    @property
    def kept_lists(self) -> list[str]:
        """The manifest lists that a changelog without files of its own keeps: Java deletes both with it."""
        return self._state if self._is_of_data else []

    @property
    def index_manifest(self) -> str | None:
        """Its index manifest, if any."""
        name: str | None = self.snapshot.index_manifest
        return None if self.part is Part.CHANGELOG else name

    @property
    def statistics(self) -> str | None:
        """Its file of column statistics, if any."""
        name: str | None = self.snapshot.statistics
        return None if self.part is Part.CHANGELOG else name

    @property
    def all_lists(self) -> list[str]:
        """All manifest lists that it keeps."""
        return [*self.lists, *self.changelog_lists, *self.kept_lists]

    @property
    def _state(self) -> list[str]:
        return [self.snapshot.base_manifest_list, self.snapshot.delta_manifest_list]

    @property
    def _is_of_data(self) -> bool:
        return self.part is Part.CHANGELOG and not self.snapshot.changelog_manifest_list


@dataclass(frozen=True, slots=True)
class IndexFile:
    """An index file and where it lies, as its manifest says."""

    kind: str
    partition: bytes
    bucket: int
    external_path: str | None


@dataclass(frozen=True)
class NamedFiles:
    """What some snapshots name, of that what exists.

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
        """The manifests of some lists, in their order; a list that is missing has none."""
        return [name for each in lists for name in self.by_list.get(each, ())]

    def of(self, references: Sequence[Reference]) -> NamedFiles:
        """What some of the snapshots name."""
        lists = {name for each in references for name in each.all_lists}
        indexes = {each.index_manifest for each in references}
        return NamedFiles(
            by_list={name: found for name, found in self.by_list.items() if name in lists},
            by_index={name: found for name, found in self.by_index.items() if name in indexes},
            statistics=frozenset(each.statistics for each in references if each.statistics),
        )


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
        _note(lists, each.all_lists, each)
        _note(indexes, [each.index_manifest] if each.index_manifest else [], each)
        statistics.update([each.statistics] if each.statistics else [])
    by_list = _read_all(lists, lambda name: tuple(table.manifests.names_in_list(name)))
    by_index = _read_all(indexes, lambda name: _index_files(table, name))
    return NamedFiles(
        by_list={name: found for name, found in by_list.items() if found is not None},
        by_index={name: found for name, found in by_index.items() if found is not None},
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
