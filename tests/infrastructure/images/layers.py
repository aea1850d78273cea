"""Layers of images as folders and as tars. Used by `build`; knows nothing of what is in them."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

OPAQUE = "trusted.overlay.opaque"


def fix_times(folder: Path, latest: int) -> None:
    """Whatever changed after a moment, in seconds, changed at that moment: so equal builds are equal."""
    for path in [folder, *_tree(folder)]:
        status = path.lstat()
        if status.st_mtime > latest:
            os.utime(path, (latest, latest), follow_symlinks=False)


def write_tar(folder: Path, out: Path) -> None:
    """Writes a layer with its owners, modes and times; what it removes, as the OCI format says it."""
    names: dict[tuple[int, int], str] = {}
    with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as layer:
        for path in _tree(folder):
            name = path.relative_to(folder).as_posix()
            if _is_removed(path):
                layer.addfile(_empty(str(Path(name).parent / f".wh.{path.name}")))
                continue
            member = _member(path, name, names)
            if member.isreg():
                with path.open("rb") as content:
                    layer.addfile(member, content)
            else:
                layer.addfile(member)
            if member.isdir() and _is_opaque(path):
                layer.addfile(_empty(f"{name}/.wh..wh..opq"))


def _tree(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir(), key=lambda path: path.name):
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _tree(entry)


def _is_removed(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(path: Path) -> bool:
    return OPAQUE in os.listxattr(path, follow_symlinks=False)


def _empty(name: str) -> tarfile.TarInfo:
    return tarfile.TarInfo(name)


def _member(path: Path, name: str, names: dict[tuple[int, int], str]) -> tarfile.TarInfo:
    status = path.lstat()
    member = tarfile.TarInfo(name)
    member.mode, member.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
    member.uid, member.gid = status.st_uid, status.st_gid
    if stat.S_ISLNK(status.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
    elif stat.S_ISDIR(status.st_mode):
        member.type = tarfile.DIRTYPE
    elif not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path} is neither a file nor a folder nor a link")
    elif (first := names.setdefault((status.st_dev, status.st_ino), name)) != name:
        member.type, member.linkname = tarfile.LNKTYPE, first
    else:
        member.size = status.st_size
    return member
