"""Small files on a local file system: whole or not there, and on disk once they are.

Used by `storage`. A file gets its name when its content is on disk, and the name is on disk when the function
returns. Raises OSErrors as they come.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from uuid import uuid4

TEMPORARY = ".lithify-"
"""What the names of files begin with that only exist for the moment of a write."""


def replace_text(path: Path, text: str) -> None:
    """Writes a file, whatever is in its place."""
    with _temporary(path, text) as temporary:
        temporary.replace(path)
    sync(path.parent)


def link_text(path: Path, text: str, is_wanted: Callable[[], bool]) -> bool:
    """Gives a finished file its name, which the kernel refuses if the name is taken; whether it did.

    `is_wanted` is asked when only the name is missing.
    """
    with _temporary(path, text) as temporary:
        if not is_wanted():
            return False
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            return False
    sync(path.parent)
    return True


def unlink_text(path: Path, is_meant: Callable[[str], bool]) -> bool:
    """Deletes a file if it has the text that is meant; whether it did.

    It is taken out of its place and looked at again where nobody can rename another one over it. If it turns
    out to be another one it gets its name back, unless a third one has that by now.
    """
    if not is_meant(path.read_text(encoding="utf-8")):
        return False
    aside = _beside(path)
    path.rename(aside)
    try:
        if is_meant(aside.read_text(encoding="utf-8")):
            return True
        with suppress(FileExistsError):
            path.hardlink_to(aside)
        return False
    finally:
        aside.unlink()
        sync(path.parent)


@contextmanager
def _temporary(path: Path, text: str) -> Iterator[Path]:
    """A file with that text on disk, beside `path` and gone afterwards."""
    make_folder(path.parent)
    temporary = _beside(path)
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """A name that nobody else has or takes for a file of the table."""
    return path.with_name(f"{TEMPORARY}{path.name}.{uuid4()}")


def make_folder(folder: Path) -> None:
    """Makes a directory and those above it; the names of new ones are on disk when it returns."""
    missing = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def sync(path: Path) -> None:
    """Has the content of a file, or the names in a directory, on disk when it returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # File systems that keep directories elsewhere, such as some in user space, have nothing to sync.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
