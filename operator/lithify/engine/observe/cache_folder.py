"""The folder with the caches of tables between observations.

Created by the observer's workers, used by `observer`. It only saves work: a cache that is missing, damaged,
of another release or of another table is ignored. Each table has a folder with one finished database
(`cache`), whose name is used only once: so no process that writes or removes one meets another's
journal. Only our own processes write there, any number of them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

from lithify.engine.observe.cache import Damaged, ObservationCache
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.state import Details

_FINISHED, _UNFINISHED = ".kept", ".new"
_USED = "used"
"""The file whose modification time is that of the table's last observation."""


class ObservationCaches:
    """A folder with one folder per table; evicts the least recently used ones when they are too large.

    Args:
        folder: path; created if it does not exist.
        limit: approximate bytes of all files.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self._limit = limit
        self._unchecked = limit
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, key: str, layout: Layout[Details]) -> ObservationCache[Details] | None:
        """The cache of a key, to be closed by the caller; None without a usable one."""
        for path in _newest_first(self._home(key)):
            with suppress(Damaged):
                return ObservationCache(path, layout, is_new=False)
        return None

    def begin(self, key: str, layout: Layout[Details]) -> ObservationCache[Details]:
        """A new cache to be filled, invisible under the key until `keep`.

        It is in memory if the folder is not writable.
        """
        home = self._home(key)
        with suppress(OSError, Damaged):
            home.mkdir(exist_ok=True)
            return ObservationCache(home / f"{uuid4()}{_UNFINISHED}", layout, is_new=True)
        return in_memory(layout)

    def keep(self, key: str, table: ObservationCache[Any]) -> None:
        """Makes a saved cache the one of the key, and evicts others if needed.

        Does nothing if that fails; the next observation is a full one then.
        """
        if table.path is None:
            return
        with suppress(OSError):
            if table.path.suffix == _UNFINISHED:
                _publish(table.path)
        self._unchecked += table.written
        if self._unchecked > self._limit // 16:
            self._unchecked = 0
            with suppress(OSError):
                self._make_room(self._home(key))

    def abandon(self, table: ObservationCache[Any]) -> None:
        """Closes a cache that is not to be kept, and removes it."""
        table.close()
        with suppress(OSError):
            if table.path is not None:
                table.path.unlink(missing_ok=True)

    def used_at(self, key: str) -> float | None:
        """When a table was last observed (seconds since the epoch), None if it has no cache."""
        try:
            return (self._home(key) / _USED).stat().st_mtime
        except OSError:
            return None

    def use(self, key: str, seconds: float) -> None:
        """Records that a table was observed, if it has a cache."""
        used = self._home(key) / _USED
        with suppress(OSError):
            used.touch()
            os.utime(used, (seconds, seconds))

    def _home(self, key: str) -> Path:
        return self.folder / sha256(key.encode()).hexdigest()[:40]

    def _make_room(self, newest: Path) -> None:
        tables = []
        for home in self.folder.iterdir():
            with suppress(OSError):  # another process may have removed it
                tables.append((*_use_and_size(home), home))
        total = sum(size for _, size, _ in tables)
        for _, size, home in sorted(tables):
            if total <= self._limit:
                break
            if home != newest:
                total -= size
                _remove(home)


def _publish(unfinished: Path) -> None:
    """Replaces all databases beside it with this one."""
    finished = unfinished.rename(unfinished.with_suffix(_FINISHED))
    for other in finished.parent.iterdir():
        if other.name not in (finished.name, _USED):
            other.unlink(missing_ok=True)


def _newest_first(home: Path) -> list[Path]:
    """The finished databases of a table; several only while two processes observe it."""
    found = []
    with suppress(OSError):
        found = [(path.stat().st_mtime, path) for path in home.glob(f"*{_FINISHED}")]
    return [path for _, path in sorted(found, reverse=True)]


def _use_and_size(home: Path) -> tuple[float, int]:
    """When a table was last used, and the bytes of its files; older releases cached tables as plain files."""
    if not home.is_dir():
        return home.stat().st_mtime, home.stat().st_size
    files = {path.name: path.stat() for path in home.iterdir()}
    last = files[_USED] if _USED in files else home.stat()
    return last.st_mtime, sum(status.st_size for status in files.values())


def _remove(home: Path) -> None:
    if home.is_dir():
        rmtree(home, ignore_errors=True)
    else:
        with suppress(OSError):
            home.unlink()


def in_memory(layout: Layout[Details]) -> ObservationCache[Details]:
    """A new cache in memory, not visible to others."""
    return ObservationCache(None, layout, is_new=True)
