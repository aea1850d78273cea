"""What an Iceberg table needs, found out from the files in its folder: JSON, Avro, and nothing of Lithify.

`check` asserts that each file exists which a snapshot in the newest metadata names, or the metadata itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro

_DELETED = 2
_SCHEME = re.compile(r"^file:(?://)?")

Live = frozenset[tuple[str, int | None]]
"""The live files of a snapshot, data and deletes: path, and offset of a vector."""


def local(path: str) -> str:
    """The path of a location, however it is spelled."""
    return _SCHEME.sub("", path)


@dataclass
class IcebergReach:
    """Reads what the newest metadata in a table's folder need.

    Args:
        folder: the table's folder.
    """

    folder: Path
    _records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _needs: dict[str, tuple[frozenset[str], Live]] = field(default_factory=dict)

    def forget(self) -> None:
        """Reads everything again from here on: files of metadata are written once, and kept in memory."""
        self._records.clear()
        self._needs.clear()

    def newest(self) -> tuple[int, dict[str, Any]]:
        """The highest number of a metadata file, and its content."""
        number = max(
            int(path.name[1:].partition(".")[0]) for path in (self.folder / "metadata").glob("v*.json")
        )
        found: dict[str, Any] = json.loads(
            (self.folder / "metadata" / f"v{number}.metadata.json").read_text()
        )
        return number, found

    def check(self) -> dict[int, Live]:
        """Asserts that all files exist that the table needs; returns the live files of each snapshot."""
        _, metadata = self.newest()
        found = {each["snapshot-id"]: self._of(each["manifest-list"]) for each in metadata["snapshots"]}
        for name, reference in metadata.get("refs", {}).items():
            assert reference["snapshot-id"] in found, f"{name} names a snapshot that is gone"
        missing = [
            path
            for path in {*named_in(metadata), *(path for needs, _ in found.values() for path in needs)}
            if not Path(path).exists()
        ]
        assert not missing, f"live files are gone: {sorted(missing)[:5]}"
        return {number: live for number, (_, live) in found.items()}

    def reached(self) -> set[str]:
        """The paths of all files that the newest metadata need."""
        _, metadata = self.newest()
        needs = (self._of(each["manifest-list"])[0] for each in metadata["snapshots"])
        return {*named_in(metadata), *(path for each in needs for path in each)}

    def _of(self, manifest_list: str) -> tuple[frozenset[str], Live]:
        if manifest_list not in self._needs:
            manifests = self.records(manifest_list)
            entries = [entry for each in manifests for entry in self.live(each["manifest_path"])]
            live = frozenset(key_of(each) for each in entries)
            paths = {local(manifest_list), *(local(each["manifest_path"]) for each in manifests)}
            self._needs[manifest_list] = frozenset(paths | {path for path, _ in live}), live
        return self._needs[manifest_list]

    def live(self, manifest: str) -> Iterator[dict[str, Any]]:
        """The live entries of a manifest."""
        return (each for each in self.records(manifest) if each["status"] != _DELETED)

    def records(self, path: str) -> list[dict[str, Any]]:
        """The records of a manifest or of a manifest list."""
        if path not in self._records:
            with Path(local(path)).open("rb") as file:
                self._records[path] = [*fastavro.reader(file)]  # type: ignore[misc]
        return self._records[path]


def key_of(entry: dict[str, Any]) -> tuple[str, int | None]:
    """What tells the file or vector of an entry from others."""
    file = entry["data_file"]
    return local(file["file_path"]), file.get("content_offset")


def content_of(entry: dict[str, Any]) -> int:
    """What the file of an entry is; manifests of version 1 do not say that they have data files."""
    return int(entry["data_file"].get("content") or 0)


def named_in(metadata: dict[str, Any]) -> Iterator[str]:
    """The files that metadata name themselves, but for manifest lists."""
    for kind in ("statistics", "partition-statistics"):
        yield from (local(each["statistics-path"]) for each in metadata.get(kind, ()))
    yield from (local(each["metadata-file"]) for each in metadata.get("metadata-log", ()))
