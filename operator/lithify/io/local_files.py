"""Small files on a local file system: written atomically and durably.

Used by `storage`. A file gets its name once its content is on disk, and the name is on disk when the function
returns. Nothing is deleted through a symbolic link below a folder that the caller names: people who may write
there must not be able to redirect deletions. Other OSErrors than those named here are passed on unchanged.
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
"""Name prefix of files that exist only during a write."""


def replace_text(path: Path, text: str) -> None:
    """Writes a file atomically, replacing an existing one."""
    with _temporary(path, text) as temporary:
        temporary.replace(path)
    sync(path.parent)


def link_text(path: Path, text: str, is_wanted: Callable[[], bool]) -> bool:
    """Links a finished file to its name, which fails if the name is taken; returns whether it succeeded.

    `is_wanted` is called last, just before the link.
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
    """Deletes a file if it has the expected text; returns whether it did.

    The file is renamed first and then checked again, under a name that no other process renames over. If it
    has another text it gets its old name back, unless the name has been taken since.
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
    """A path leads through a symbolic link, or is not a regular file."""


def unlink_below(root: Path, path: Path) -> None:
    """Deletes a regular file below a folder, through real directories only, even if moved concurrently.

    The folder itself may be reached through symbolic links.

    Raises:
        LeadsElsewhere: the path has a symbolic link below the folder, or is not a regular file.
        FileNotFoundError: the path does not exist.
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
    """The regular files below a directory, recursively; symbolic links are skipped.

    The directory itself may be a symbolic link.
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
    """Whether a path is a regular file, not a symbolic link to one."""
    try:
        return S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def _temporary(path: Path, text: str) -> Iterator[Path]:
    """A temporary file beside `path` with this text on disk; deleted on exit.

    Raises:
        OSError: ESTALE if something else has deleted the file before it got its name.
    """
    make_folder(path.parent)
    temporary = _beside(path)
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    except FileNotFoundError as error:
        if temporary.exists():
            raise
        # Not FileNotFoundError, which callers take for an answer about `path`.
        raise OSError(errno.ESTALE, "something else has deleted it while it was written") from error
    finally:
        temporary.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """A unique name that is not taken for a file of the table."""
    return path.with_name(f"{TEMPORARY}{path.name}.{uuid4()}")


def make_folder(folder: Path) -> None:
    """Creates a directory and its parents; the names of new ones are on disk when the function returns."""
    missing = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def sync(path: Path) -> None:
    """Flushes the content of a file, or the names in a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # File systems without local directories, such as some in user space, have nothing to sync.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
