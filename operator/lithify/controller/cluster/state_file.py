"""The objects that `lithify watch` stores for a folder: one YAML file, for one process at a time.

Called by `folder`. The file is a List as `kubectl get -o yaml` prints it, and is replaced as a whole: a
process killed at any moment leaves the old or the new one. Neither Secrets nor the operator's election Lease
are stored: the holder of the folder's lock leads.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lithify.errors import ClusterRefused, ClusterUnavailable, StorageError
from lithify.resources.names import LABEL_LOCK, LEASE, OWN_KINDS, ObjectKey, ResourceKind

Place = tuple[ResourceKind, ObjectKey]
_KINDS = {(kind.api_version, kind.name): kind for kind in (*OWN_KINDS, LEASE)}
_ORIGIN = "folder"
"""Key of an item that is not part of the object."""
_HEAD = """\
# Status of the objects in this folder, and the objects that Lithify made. Lithify replaces this file: what is
# changed in it while `lithify watch` runs is lost.
apiVersion: v1
kind: List
items:
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """The document that an object comes from: its file, below the folder, and a digest of its content."""

    file: str
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """The current state of an object.

    Attributes:
        kind: its kind.
        body: the object; never changed in place.
        origin: the user's document; None if the operator made the object.
        text: its item in the state file; empty if it is not stored.
    """

    kind: ResourceKind
    body: Mapping[str, Any]
    origin: Origin | None = None
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _item(self))

    @property
    def key(self) -> ObjectKey:
        """The object's key, unique in its kind."""
        return ObjectKey(self.body["metadata"]["namespace"], self.body["metadata"]["name"])

    @property
    def version(self) -> int:
        """The resourceVersion; changes with every change."""
        return int(self.body["metadata"]["resourceVersion"])


class StateFile:
    """The state file of a folder, and its lock.

    Raises:
        ClusterRefused: another process works on the folder.
        StorageError: the lock cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".lithify" / "state.yaml"
        lock = self._path.with_name("lock")
        try:
            lock.parent.mkdir(exist_ok=True)
            self._lock = lock.open("a+", encoding="utf-8")
        except OSError as error:
            raise StorageError(str(lock), f"it cannot be written ({error})") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.seek(0)
            holder = self._lock.read(32).strip() or "unknown"
            self.close()
            problem = f"process {holder} already uses this folder; end it first"
            raise ClusterRefused(f"lock {lock}", problem) from error
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()

    def close(self) -> None:
        """Unlocks the folder for other processes, as the end of this process does."""
        self._lock.close()

    def read(self) -> dict[Place, Entry]:
        """Returns the stored objects; empty if there is no file.

        Raises:
            StorageError: the file cannot be read, or none can be made.
        """
        try:
            _replace_file(self._path.with_name(".gitignore"), "*\n")
            found = yaml.load(self._path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
            entries = [_entry(item) for item in found["items"] or ()]
            return {(entry.kind, entry.key): entry for entry in entries if entry.version}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageError(str(self._path), f"it cannot be read and replaced ({error})") from error
        except Exception as error:
            problem = "repair it, or remove it: then the Compactions in your files run again"
            raise StorageError(str(self._path), f"it cannot be understood ({error!r}); {problem}") from error

    def write(self, before: Mapping[Place, Entry], after: Mapping[Place, Entry]) -> None:
        """Replaces the stored objects, if they differ.

        Raises:
            ClusterUnavailable: the file cannot be written.
        """
        old, new = ("".join(entry.text for entry in entries.values()) for entries in (before, after))
        if old != new:
            try:
                _replace_file(self._path, _HEAD + new)
            except OSError as error:
                raise ClusterUnavailable(f"write {self._path}", str(error)) from error


def _entry(item: dict[str, Any]) -> Entry:
    origin = item.pop(_ORIGIN, None)
    kind = _KINDS[item["apiVersion"], item["kind"]]
    return Entry(kind, item, None if origin is None else Origin(origin["file"], origin["digest"]))


def _item(entry: Entry) -> str:
    is_lock = entry.kind is LEASE and LABEL_LOCK in entry.body["metadata"].get("labels", {})
    if entry.kind not in OWN_KINDS and not is_lock:
        return ""
    origin = entry.origin
    book = {} if origin is None else {_ORIGIN: {"file": origin.file, "digest": origin.digest}}
    item = {**entry.body, **book}
    return str(yaml.dump([item], Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _replace_file(path: Path, text: str) -> None:
    """Replaces a file atomically, for readers and for crashes."""
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class _Dumper(yaml.CSafeDumper):
    """Writes a value out at each occurrence: anchors are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        """Ignores all of them."""
        del data
        return True
