"""The files that hold snapshots of a table: snapshots, tags and long-lived changelogs of all its branches.

Called by clean-up (`commit.references`) and by expiry (`maintenance`), which must know every reference to a
file before they delete it. All branches share data files, manifests, index files and statistics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from lithify.errors import CorruptTable
from lithify.io.file_names import is_file_name, shown
from lithify.io.storage import Storage


class Holding(StrEnum):
    """What a holder is; the value is its folder and the beginning of its name."""

    SNAPSHOT = "snapshot"
    TAG = "tag"
    CHANGELOG = "changelog"


_NAMES = {
    Holding.SNAPSHOT: re.compile(r"snapshot-\d+"),
    Holding.TAG: re.compile(r"tag-.+", re.DOTALL),
    Holding.CHANGELOG: re.compile(r"changelog-\d+"),
}


_SUCCESS_FILES = "tag-success-file"
"""The folder among tags in which files say that a tag was created."""
_KINDS = frozenset(map(str, Holding))
_OF_BRANCHES = _KINDS | {"schema", "lithify"}
"""The folders by one of which a branch is known; the last one has our journals."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The file of a snapshot, tag or changelog.

    Attributes:
        home: the folder of its branch's own files.
        kind: what it is.
        name: its file name; for a tag with a slash in its name, with the folders.
        modified_seconds: when it was written; a tag can be replaced.
    """

    home: str
    kind: Holding
    name: str
    modified_seconds: float

    @property
    def path(self) -> str:
        """Its path."""
        return f"{self.home}/{self.kind}/{self.name}"


def holders_of(storage: Storage, root: str, home: str) -> Iterator[Holder]:
    """The existing holders: first of the branch in `home`, then of the main one, last of all others.

    Raises:
        CorruptTable: a listed name is no name of a file.
    """
    for each in dict.fromkeys((home, root, *branch_homes(storage, root))):
        yield from holders_in(storage, each)


def branch_homes(storage: Storage, root: str) -> Iterator[str]:
    """The folders of all branches but the main one, also of those with a slash in their names.

    Paimon allows `feature/x`, and puts it into `branch/branch-feature/x`.

    Raises:
        CorruptTable: a listed name is no name of a file.
    """
    folders = [f"{root}/branch"]
    while folders:
        folder = folders.pop()
        names = [child.name for child in storage.list(folder) if child.is_folder]
        for name in names:
            _check_name(folder, name)
        if not _OF_BRANCHES.isdisjoint(names):
            yield folder
        folders += (f"{folder}/{name}" for name in names if name not in _KINDS)


def holders_in(storage: Storage, home: str) -> Iterator[Holder]:
    """The existing holders of one branch: snapshots, then tags, then long-lived changelogs.

    Raises:
        CorruptTable: a listed name is no name of a file, or there is a branch among them, as `b/tag` is
            among the tags of `b`.
    """
    for kind, name in _NAMES.items():
        for file in storage.list(f"{home}/{kind}"):
            if file.is_folder and file.name in _KINDS:
                problem = f"it has a folder '{file.name}', as if it were a branch: rename the branch"
                raise CorruptTable(f"{home}/{kind}", problem)
            if not name.fullmatch(file.name):
                continue
            _check_name(f"{home}/{kind}", file.name)
            if not file.is_folder:
                yield Holder(home, kind, file.name, file.modified_seconds)
            elif kind is Holding.TAG and file.name != _SUCCESS_FILES:
                yield from _tags_below(storage, home, file.name)


def _tags_below(storage: Storage, home: str, name: str) -> Iterator[Holder]:
    """The tags with a slash in their names: Paimon allows `v/1`, and puts it into `tag/tag-v/1`."""
    folders = [name]
    while folders:
        folder = folders.pop()
        for file in storage.list(f"{home}/{Holding.TAG}/{folder}"):
            _check_name(f"{home}/{Holding.TAG}/{folder}", file.name)
            if file.is_folder:
                folders.append(f"{folder}/{file.name}")
            else:
                yield Holder(home, Holding.TAG, f"{folder}/{file.name}", file.modified_seconds)


def _check_name(path: str, name: str) -> None:
    """Checks that a listed name is a valid file name: on S3 it may be anything."""
    if not is_file_name(name):
        raise CorruptTable(path, f"{shown(name)} in it is no name of a file; delete it")
