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


@dataclass(frozen=True, slots=True)
class Holder:
    """The file of a snapshot, tag or changelog.

    Attributes:
        home: the folder of its branch's own files.
        kind: what it is.
        name: its file name.
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
    folder = f"{root}/branch"
    branches = [branch.name for branch in storage.list(folder)]
    for branch in branches:
        _check_name(folder, branch)
    homes = (home, root, *(f"{folder}/{branch}" for branch in branches))
    for each in dict.fromkeys(homes):
        yield from holders_in(storage, each)


def holders_in(storage: Storage, home: str) -> Iterator[Holder]:
    """The existing holders of one branch: snapshots, then tags, then long-lived changelogs.

    Raises:
        CorruptTable: a listed name is no name of a file.
    """
    for kind, name in _NAMES.items():
        for file in storage.list(f"{home}/{kind}"):
            if name.fullmatch(file.name) and not file.is_folder:
                _check_name(f"{home}/{kind}", file.name)
                yield Holder(home, kind, file.name, file.modified_seconds)


def _check_name(path: str, name: str) -> None:
    """Checks that a listed name is a valid file name: on S3 it may be anything."""
    if not is_file_name(name):
        raise CorruptTable(path, f"{shown(name)} in it is no name of a file; delete it")
