"""Layers that are kept on this machine, each in a folder named by a hash of everything that went into it.

Used by `build`. Another key is another folder, so nothing has to be invalidated; what nobody has used for
some days is removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from infrastructure.building.once import cache_home
from infrastructure.images import layers

MOMENT = 1_767_225_600
"""The start of 2026, in seconds: no file of an image is later."""
KEPT_SECONDS = 3 * 24 * 3600
"""How long layers stay that are not used."""


def home() -> Path:
    """Where everything is kept."""
    return cache_home("images")


def key_of(*parts: str) -> str:
    """The key of something that is made from some parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def made(key: str, what: str, make: Callable[[Path], None]) -> Path:
    """The layer with a key; `make` fills an empty folder with it unless it is there."""
    folder = home() / "layers" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_name(key + ".lock")
    if not folder.is_dir():
        with locked(lock):
            if not folder.is_dir():
                _make(folder, what, make)
    lock.touch()
    return folder


def _make(folder: Path, what: str, make: Callable[[Path], None]) -> None:
    began = time.monotonic()
    scratch = folder.with_name("." + folder.name)
    for leftover in (scratch, scratch.with_name(scratch.name + ".work")):
        shutil.rmtree(leftover, ignore_errors=True)
    scratch.mkdir()
    make(scratch)
    layers.fix_times(scratch, MOMENT)
    scratch.rename(folder)
    print(f"{time.monotonic() - began:6.1f} s  {what[:100]}", file=sys.stderr)


def tar_of(layer: Path) -> Path:
    """A layer as a tar."""
    tar = layer.with_name(layer.name + ".tar")
    if not tar.exists():
        scratch = tar.with_name(f".{tar.name}.{os.getpid()}")
        layers.write_tar(layer, scratch)
        scratch.rename(tar)
    return tar


def content_of(path: Path) -> str:
    """A hash of a file, or of what is in a folder: names, modes and content.

    Bytecode in the repository is left out. What is in a layer is hashed once, because it does not change.
    """
    if not path.is_relative_to(home()):
        return _hashed(path, without="__pycache__")
    layer, *below = path.relative_to(home() / "layers").parts
    note = home() / "layers" / f"{layer}.{key_of(*below)}.content"
    if not note.exists():
        note.write_text(_hashed(path))
    return note.read_text()


def _hashed(path: Path, without: str = "") -> str:
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        if without in file.parts:
            continue
        status = file.lstat()
        digest.update(f"{file.relative_to(path.parent)}\0{stat.S_IMODE(status.st_mode)}\0".encode())
        if stat.S_ISLNK(status.st_mode):
            digest.update(str(file.readlink()).encode())
        elif stat.S_ISREG(status.st_mode):
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


def forget_unused() -> None:
    """Removes layers that nobody has used for some days."""
    now = time.time()
    for lock in (home() / "layers").glob("*.lock"):
        if now - lock.stat().st_mtime > KEPT_SECONDS:
            for path in lock.parent.glob(f"{lock.stem}*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock between processes."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
