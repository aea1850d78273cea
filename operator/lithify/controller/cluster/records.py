"""What `folder` keeps on disk of each object: one YAML file an object, replaced as a whole or not at all.

Called by `folder` only. `.lithify/status` has an object for each of the user's, `.lithify/objects` those that
the operator made. A process that is killed at any moment leaves the old file or the new one, and at most a
temporary file, which is removed when the folder is opened again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from lithify.controller.cluster.documents import Flaw, plain
from lithify.controller.cluster.sources import Signature, signature
from lithify.errors import ClusterRefused, ClusterUnavailable
from lithify.resources.names import Kind, ObjectKey

STATE_FOLDER = ".lithify"
_TEMPORARY = ".new-"
_LONGEST_STEM = 200
_RESERVED = 1000
"""How many versions are handed out before the next block is noted on disk."""


class Lock:
    """Keeps a second `lithify watch` out of a folder; it ends with the process, however that ends."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read(32).strip() or "unknown"
            self._file.close()
            problem = f"process {holder} works on this folder already; end it first"
            raise ClusterRefused(f"lock {path}", problem) from error
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Lets others in."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one kind of record: `status` or `objects`."""

    folder: Path

    def path(self, kind: Kind, key: ObjectKey) -> Path:
        """The file of an object; a name that is too long for a file is cut and told apart by a hash."""
        stem = f"{key.namespace}.{key.name}"
        if len(stem) > _LONGEST_STEM:
            stem = f"{stem[:_LONGEST_STEM]}~{sha256(stem.encode()).hexdigest()[:16]}"
        return self.folder / kind.plural / f"{stem}.yaml"

    def write(self, kind: Kind, key: ObjectKey, content: Mapping[str, Any]) -> Signature | None:
        """Replaces the file of an object.

        Raises:
            ClusterUnavailable: it cannot be written.
        """
        path = self.path(kind, key)
        try:
            text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
            replace_file(path, text)
        except OSError as error:
            raise ClusterUnavailable(f"write {path}", str(error)) from error
        except (ValueError, yaml.YAMLError) as error:
            raise ClusterRefused(f"write {path}", f"the object cannot be stored ({error})") from error
        return signature(path)

    def remove(self, kind: Kind, key: ObjectKey) -> None:
        """Removes the file of an object, if there is one.

        Raises:
            ClusterUnavailable: it cannot be removed.
        """
        path = self.path(kind, key)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ClusterUnavailable(f"remove {path}", str(error)) from error

    def read(self, kinds: Mapping[str, Kind]) -> Iterator[tuple[Kind, Path, dict[str, Any] | Flaw]]:
        """What all files of the kinds hold; removes temporary files."""
        for plural, kind in kinds.items():
            for path in sorted((self.folder / plural).glob("*")):
                if path.name.startswith(_TEMPORARY):
                    path.unlink(missing_ok=True)
                elif path.suffix == ".yaml":
                    yield kind, path, self.read_one(path)

    def read_one(self, path: Path) -> dict[str, Any] | Flaw:
        """What a file holds, or why it cannot be used."""
        name = path.relative_to(self.folder.parent.parent).as_posix()
        try:
            found = plain(path.read_text(encoding="utf-8"), _Loader)
        except Exception as error:  # noqa: BLE001  # people may have written anything into it
            return Flaw(name, 0, 0, f"it cannot be read: {' '.join(str(error).split())}")
        if isinstance(found, dict) and isinstance(found.get("metadata"), dict):
            return found
        return Flaw(name, 0, 0, "it holds no object; remove it")


class Versions:
    """Numbers that only ever grow, also after a crash: blocks of them are noted on disk beforehand."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._last = int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            self._last = 0
        self._reserved = self._last

    def next(self, above: int = 0) -> int:
        """The next number.

        Raises:
            ClusterUnavailable: the next block cannot be noted.
        """
        self._last = max(self._last, above) + 1
        if self._last > self._reserved:
            self._reserved = self._last + _RESERVED
            try:
                replace_file(self._path, f"{self._reserved}\n")
            except OSError as error:
                raise ClusterUnavailable(f"write {self._path}", str(error)) from error
        return self._last


def replace_file(path: Path, text: str) -> None:
    """Puts a text into a file, for readers and after a crash as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{_TEMPORARY}{sha256(path.name.encode()).hexdigest()[:16]}")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class _Dumper(yaml.CSafeDumper):
    """Writes a value out each time that it occurs: anchors are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        """All of them."""
        del data
        return True


class _Loader(yaml.CSafeLoader):
    """Leaves times the text that they are in objects."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
