"""Temporary folders that disappear also if their process is killed: the next one on the machine deletes them.

Called by tasks that spill rows, and by drivers. The process that uses a folder holds a lock on it, which the
kernel releases when the process ends, however it ends. Whoever makes a folder first deletes those of the same
user that nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "lithify-scratch-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Creates a folder that is deleted at the end; before that, deletes the folders of dead processes.

    Raises:
        OSError: the local disk is full or refuses.
    """
    parent = Path(tempfile.gettempdir())
    _sweep(parent)
    folder, lock = _locked(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked(parent: Path) -> tuple[Path, int]:
    """A new folder, and a descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        with suppress(FileNotFoundError):  # another process has swept it before it was locked
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            if _is_held(lock) and folder.exists():
                return folder, lock
            os.close(lock)


def _sweep(parent: Path) -> None:
    """Deletes the folders of dead processes."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # of another user, deleted by now, or a link
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.geteuid() and _is_held(lock):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _is_held(lock: int) -> bool:
    """Takes the lock; False if another process has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
