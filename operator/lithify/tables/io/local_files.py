"""Small files on a local file system: whole or not there, and on disk once they are.

Used by `storage`. A file gets its name when its content is on disk, and the name is on disk when the function
returns. Nothing is deleted through a symbolic link below a folder that the caller names: people who may write
there must not choose what goes elsewhere. Raises OSErrors as they come.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from stat import S_ISREG
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


class LeadsElsewhere(OSError):
    """A path leads through a symbolic link, or is no regular file."""


def unlink_below(root: Path, path: Path) -> None:
    """Deletes a regular file below a folder, through real directories only, whoever moves them meanwhile.

    The folder itself may be reached through symbolic links.

    Raises:
        LeadsElsewhere: below the folder the path has a symbolic link, or what is there is no regular file.
        FileNotFoundError: nothing is there.
    """
    parts = path.relative_to(root).parts
    if not parts or ".." in parts:
        raise LeadsElsewhere(errno.ELOOP, "it is no path below a folder")
    *folders, name = parts
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            below = _open_folder(folder, descriptor)
            os.close(descriptor)
            descriptor = below
        if not S_ISREG(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
            raise LeadsElsewhere(errno.ELOOP, "it is no regular file")
        os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _open_folder(name: str, above: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise LeadsElsewhere(errno.ELOOP, f"'{name}' is no directory of its own") from error
        raise


def files_below(folder: Path) -> Iterator[Path]:
    """The regular files in a directory and those in it, however deep; symbolic links are left out.

    The directory itself may be one.
    """
    for above, _, names in os.walk(folder, onerror=_raise_unless_gone):
        for name in names:
            path = Path(above, name)
            if is_regular(path):
                yield path


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def is_regular(path: Path) -> bool:
    """Whether a regular file, and no symbolic link to one, is there."""
    try:
        return S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


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
