"""What a Paimon table needs, found out from the files in its folder: JSON, Avro, and nothing of Lithify.

`check` asserts that each file exists which a snapshot, tag, branch or long-lived changelog names. `mentioned`
has the names of all files that any of them knows, for the removal of orphans.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import fastavro

from java.fuzz.maintenance.drawing import files_below

_APPENDED = 0
_KIND = re.compile(r"^(?:branch/branch-[^/]+/)?(snapshot|tag|changelog)/.*$", re.DOTALL)
_LISTS = ("baseManifestList", "deltaManifestList", "changelogManifestList")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a holder needs.

    Attributes:
        paths: all files, relative to the table's folder.
        live: the paths of the data files among them that are the table's content, with their levels.
    """

    paths: frozenset[str]
    live: frozenset[tuple[str, int]] = frozenset()


@dataclass
class PaimonReach:
    """Reads what the holders in a table's folder need.

    Args:
        folder: the table's folder.
        index_in_buckets: whether index files lie beside data files.
        has_changelog_files: whether writers write changelogs; else data files that commits append are these.
    """

    folder: Path
    index_in_buckets: bool = False
    has_changelog_files: bool = False
    _records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _needs: dict[tuple[str, str], Needs] = field(default_factory=dict)

    def forget(self) -> None:
        """Reads everything again from here on: files of metadata are written once, and kept in memory."""
        self._records.clear()
        self._needs.clear()

    def check(self, broken: Collection[str] = ()) -> dict[str, Needs]:
        """Asserts that all files exist that holders need; returns what each needs, by its path.

        Args:
            broken: holders that an interrupted deletion may have broken.
        """
        found = files_below(self.folder)
        holders = {path: self.needs(path) for path in self.holders() if path not in broken}
        missing = {
            (holder, path) for holder, needs in holders.items() for path in needs.paths if path not in found
        }
        assert not missing, f"live files are gone: {sorted(missing)[:5]}"
        return holders

    def holders(self) -> Iterator[str]:
        """The paths of all snapshots, tags and long-lived changelogs, those of branches included."""
        for home in (self.folder, *sorted((self.folder / "branch").glob("branch-*"))):
            for kind in ("snapshot", "tag", "changelog"):
                for path in sorted((home / kind).rglob("*")):
                    if path.is_file() and str(path.relative_to(home / kind)).startswith(f"{kind}-"):
                        yield str(path.relative_to(self.folder))

    def needs(self, holder: str) -> Needs:
        """What the file of a snapshot, tag or changelog needs."""
        text = (self.folder / holder).read_text()
        kind = re.sub(_KIND, r"\1", holder)
        if (kind, text) not in self._needs:
            snapshot = json.loads(text)
            self._needs[kind, text] = (
                self._of_changelog(snapshot) if kind == "changelog" else self._of_state(snapshot, kind)
            )
        return self._needs[kind, text]

    def _of_state(self, snapshot: dict[str, Any], kind: str) -> Needs:
        paths = set[str]()
        live = live_of(
            entry
            for name in (snapshot["baseManifestList"], snapshot["deltaManifestList"])
            for entry in self._entries(name, paths)
        )
        paths.update(path for entry in live for path in _paths(entry))
        if snapshot.get("changelogManifestList") and kind == "snapshot":
            for entry in self._entries(snapshot["changelogManifestList"], paths):
                paths.update(_paths(entry))
        if snapshot.get("indexManifest"):
            paths.add(f"manifest/{snapshot['indexManifest']}")
            for entry in self.records(snapshot["indexManifest"]):
                folder = _folder(entry) if self.index_in_buckets else "index"
                paths.add(f"{folder}/{entry['_FILE_NAME']}")
        if snapshot.get("statistics"):
            paths.add(f"statistics/{snapshot['statistics']}")
        content = frozenset((_paths(entry)[0], entry["_FILE"]["_LEVEL"]) for entry in live)
        return Needs(frozenset(paths), content)

    def live(self, snapshot: dict[str, Any]) -> list[dict[str, Any]]:
        """The entries of a snapshot's live data files."""
        lists = (snapshot["baseManifestList"], snapshot["deltaManifestList"])
        return live_of(entry for name in lists for entry in self._entries(name, set()))

    def _of_changelog(self, snapshot: dict[str, Any]) -> Needs:
        """A changelog that outlives its snapshot: its files, or the data files that were appended."""
        paths, name = set[str](), snapshot.get("changelogManifestList")
        if name or not self.has_changelog_files:
            for entry in self._entries(name or snapshot["deltaManifestList"], paths):
                if name or (entry["_KIND"] == 0 and entry["_FILE"]["_FILE_SOURCE"] == _APPENDED):
                    paths.update(_paths(entry))
        return Needs(frozenset(paths))

    def _entries(self, manifest_list: str, paths: set[str]) -> Iterator[dict[str, Any]]:
        paths.add(f"manifest/{manifest_list}")
        for manifest in self.records(manifest_list):
            paths.add(f"manifest/{manifest['_FILE_NAME']}")
            yield from self.records(manifest["_FILE_NAME"])

    def records(self, name: str) -> list[dict[str, Any]]:
        """The records of a manifest list, manifest or index manifest."""
        if name not in self._records:
            with (self.folder / "manifest" / name).open("rb") as file:
                self._records[name] = [*fastavro.reader(file)]  # type: ignore[misc]
        return self._records[name]

    def mentioned(self) -> set[str]:
        """The names of all files that any holder knows, in entries that remove files, too."""
        found = set[str]()
        for holder in self.holders():
            found.update(self._names(json.loads((self.folder / holder).read_text())))
        return found

    def _names(self, snapshot: dict[str, Any]) -> Iterator[str]:
        yield from (snapshot[key] for key in (*_LISTS, "indexManifest", "statistics") if snapshot.get(key))
        for key in _LISTS:
            for manifest in self._there(snapshot.get(key)):
                yield manifest["_FILE_NAME"]
                for entry in self._there(manifest["_FILE_NAME"]):
                    yield from (entry["_FILE"]["_FILE_NAME"], *entry["_FILE"]["_EXTRA_FILES"])
        yield from (entry["_FILE_NAME"] for entry in self._there(snapshot.get("indexManifest")))

    def _there(self, name: str | None) -> Iterable[dict[str, Any]]:
        """The records of a file of metadata that may be gone: changelogs may outlive what they name."""
        return self.records(name) if name and (self.folder / "manifest" / name).exists() else ()


def live_of(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries whose files are not removed by later ones."""
    live: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in entries:
        file = entry["_FILE"]
        key = (entry["_PARTITION"], entry["_BUCKET"], file["_LEVEL"], file["_FILE_NAME"])
        if entry["_KIND"] == 0:
            live[key] = entry
        else:
            assert live.pop(key, None), f"{key} is removed before it was added"
    return [*live.values()]


def _paths(entry: dict[str, Any]) -> list[str]:
    folder = _folder(entry)
    return [f"{folder}/{name}" for name in (entry["_FILE"]["_FILE_NAME"], *entry["_FILE"]["_EXTRA_FILES"])]


def _folder(entry: dict[str, Any]) -> str:
    return f"dt={text_in(entry['_PARTITION'])}/bucket-{entry['_BUCKET']}"


@lru_cache
def text_in(row: bytes) -> str:
    """The text in a row of one field, as Paimon's `BinaryRow` stores it behind the number of its fields."""
    field = row[12:20]
    if field[7] & 0x80:
        return field[: field[7] & 0x7F].decode()
    length, offset = int.from_bytes(field[:4], "little"), int.from_bytes(field[4:], "little")
    return row[4 + offset : 4 + offset + length].decode()
