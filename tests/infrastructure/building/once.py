"""What is built once per machine: a folder below the cache that appears when all of it is there.

Used by whatever builds Go and Java programs. The folder's name is a hash of what it is made from, so another
version is another folder and nothing has to be invalidated.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class NotBuilt(Exception):
    """The programs are not there yet."""


def cache_home(name: str) -> Path:
    """Where programs of a name, and what belongs to them, outlive a session."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "lithify" / name


def fingerprint(how: Iterable[str], folders: Iterable[Path], kinds: frozenset[str]) -> str:
    """A hash of how something is built, and of the files of these kinds in its folders."""
    digest = hashlib.sha256(" ".join(how).encode())
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in kinds):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def build_once(wanted: Path, name: str, takes: str, fill: Callable[[Path], None]) -> Path:
    """Fills a folder unless it is there, one process at a time, and returns it.

    Args:
        wanted: the folder.
        name: what people call it.
        takes: how long that takes, for messages.
        fill: puts everything into an empty folder, which becomes the wanted one if nothing is raised.
    """
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with _locked(wanted.with_suffix(".lock")):
        if not wanted.is_dir():
            _fill(wanted, name, takes, fill)
    return wanted


def _fill(wanted: Path, name: str, takes: str, fill: Callable[[Path], None]) -> None:
    began = time.monotonic()
    print(f"Building {name} into {wanted} ({takes} on 2 cores)", file=sys.stderr)
    scratch = Path(tempfile.mkdtemp(prefix=".build-", dir=wanted.parent))
    try:
        fill(scratch)
        scratch.chmod(0o755)
        scratch.rename(wanted)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"Built in {time.monotonic() - began:.0f} s", file=sys.stderr)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
