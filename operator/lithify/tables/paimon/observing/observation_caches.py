"""The folder of what is kept of tables between two looks at them.

Made by the observer's workers, used by `observation`. It only saves work: what is missing, damaged, of
another release or of another table is as good as none. Each table has a folder in it with one finished
database (`observation_cache`), whose name is used once: so nobody who writes or removes one meets another's
journal. Only processes of ours write there, any number of them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from uuid import uuid4

from lithify.tables.paimon.observing.observation_cache import Damaged, ObservationCache

_FINISHED, _UNFINISHED = ".kept", ".new"
_USED = "used"
"""The file whose time of change says when its table was last looked at."""


class ObservationCaches:
    """A folder with one folder a table, the least recently used of which go when they are too large.

    Args:
        folder: where; made if it does not exist.
        limit: bytes of all files, about.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self._limit = limit
        self._unchecked = limit
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, key: str) -> ObservationCache | None:
        """What is kept under a key, to be closed; None if that is nothing or cannot be used."""
        for path in _newest_first(self._home(key)):
            with suppress(Damaged):
                return ObservationCache(path, is_new=False)
        return None

    def begin(self, key: str) -> ObservationCache:
        """A table to be filled, of which nothing is seen under the key until it is kept.

        It is in memory where the folder cannot be written to.
        """
        home = self._home(key)
        with suppress(OSError, Damaged):
            home.mkdir(exist_ok=True)
            return ObservationCache(home / f"{uuid4()}{_UNFINISHED}", is_new=True)
        return in_memory()

    def keep(self, key: str, table: ObservationCache) -> None:
        """Has what was saved of a table be what is kept under the key, and makes room for it.

        Does nothing where that fails, which costs a full look the next time.
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

    def abandon(self, table: ObservationCache) -> None:
        """Ends a table that is not to be kept, and removes it."""
        table.close()
        with suppress(OSError):
            if table.path is not None:
                table.path.unlink(missing_ok=True)

    def used_at(self, key: str) -> float | None:
        """When a table was last looked at (seconds since the epoch), None if nothing is kept of it."""
        try:
            return (self._home(key) / _USED).stat().st_mtime
        except OSError:
            return None

    def use(self, key: str, seconds: float) -> None:
        """Notes that a table was looked at, if something is kept of it."""
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
    """Has a database take the place of all that are beside it."""
    finished = unfinished.rename(unfinished.with_suffix(_FINISHED))
    for other in finished.parent.iterdir():
        if other.name not in (finished.name, _USED):
            other.unlink(missing_ok=True)


def _newest_first(home: Path) -> list[Path]:
    """The finished databases of a table; there is more than one only while two processes look at it."""
    found = []
    with suppress(OSError):
        found = [(path.stat().st_mtime, path) for path in home.glob(f"*{_FINISHED}")]
    return [path for _, path in sorted(found, reverse=True)]


def _use_and_size(home: Path) -> tuple[float, int]:
    """When a table was last used, and the bytes of its files; older releases kept files without a folder."""
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


def in_memory() -> ObservationCache:
    """A table to be filled that nobody will see."""
    return ObservationCache(None, is_new=True)
