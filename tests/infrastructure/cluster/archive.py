"""Writes OCI image archives, the files that `ctr images import` reads, without Docker and without a registry.

Used for the small images of the test node and by the build of Lithify's own images. The same input gives the
same bytes: names are sorted, times are fixed, owners are numbers. A layer goes from where it is straight into
the archive. Nothing here knows what is in an image.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

MODIFIED = 1_577_836_800
"""The time that every file gets, in seconds: the start of 2020. Bytecode that is checked by its source's time
would be made anew at every start, so compile it with `--invalidation-mode unchecked-hash`."""
CHUNK = 1 << 20
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
NAME = "io.containerd.image.name"
TAG = "org.opencontainers.image.ref.name"
NO_DIGEST = "0" * 64


def write_archive(out: Path, name: str, config: Mapping[str, Any], layers: Sequence[Path]) -> str:
    """Writes an image with a full name such as `localhost/lithify/spark:test`; returns its digest.

    `config` is the `config` part of the OCI image configuration (`Env`, `Entrypoint`, `User`, ...). Layers
    come lowest first. A folder becomes a layer whose files belong to root; where other owners or device files
    matter, a layer is an uncompressed tar, taken byte for byte. The file has its name once it is complete.

    Raises:
        ValueError: the name has no tag, or a layer is a file that is no uncompressed tar.
        OSError: a layer cannot be read, or the archive not written.
    """
    tag = _tag(name)
    scratch = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with scratch.open("w+b") as file:
            digest = _Archive(file).write({NAME: name, TAG: tag}, config, layers)
        scratch.replace(out)
    finally:
        scratch.unlink(missing_ok=True)
    return digest


def write_layer(folder: Path, out: IO[bytes]) -> None:
    """Writes a folder as an uncompressed tar whose bytes depend on names, modes and content alone.

    Raises:
        ValueError: there is something else in it than files, folders and links.
    """
    names: dict[tuple[int, int], str] = {}
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as layer:
        for path in _tree(folder):
            member = _member(path, path.relative_to(folder).as_posix(), names)
            if member.isreg():
                with path.open("rb") as content:
                    layer.addfile(member, content)
            else:
                layer.addfile(member)


def _tree(folder: Path) -> Iterator[Path]:
    """What is below a folder, each folder before its content, always in the same order."""
    for entry in sorted(folder.iterdir(), key=lambda path: path.name):
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _tree(entry)


def _member(path: Path, name: str, names: dict[tuple[int, int], str]) -> tarfile.TarInfo:
    """The header of a file; `names` are those of the files seen so far, for hard links to them."""
    status = path.lstat()
    member = _header(name, 0)
    member.mode = status.st_mode & 0o7777
    if path.is_symlink():
        member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
    elif path.is_dir():
        member.type = tarfile.DIRTYPE
    elif not path.is_file():
        raise ValueError(f"{path} is neither a file nor a folder nor a link: such a layer has to be a tar")
    elif (first := names.setdefault((status.st_dev, status.st_ino), name)) != name:
        member.type, member.linkname = tarfile.LNKTYPE, first
    else:
        member.size = status.st_size
    return member


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime = size, MODIFIED
    return header


@dataclass(frozen=True, slots=True)
class _Blob:
    """Bytes in the archive that others refer to."""

    digest: str
    size: int

    def described(self, media_type: str) -> dict[str, Any]:
        return {"mediaType": media_type, "digest": self.digest, "size": self.size}


class _Archive:
    """An archive while it is written: a tar of blobs, each named by the hash of its bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._written: set[str] = set()

    def write(self, names: Mapping[str, str], config: Mapping[str, Any], layers: Sequence[Path]) -> str:
        """Writes everything, and returns the digest of the image's manifest."""
        self._text("oci-layout", _encoded({"imageLayoutVersion": "1.0.0"}))
        blobs = [self._layer(layer) for layer in layers]
        configuration = self._json(_configuration(config, blobs))
        manifest = self._json(_manifest(configuration, blobs))
        self._text("index.json", _encoded(_index(names, manifest)))
        self._file.write(b"\0" * (2 * tarfile.BLOCKSIZE))
        return manifest.digest

    def _layer(self, layer: Path) -> _Blob:
        if layer.is_dir():
            return self._blob(lambda out: write_layer(layer, out))
        if not _is_plain_tar(layer):
            raise ValueError(f"{layer} is neither a folder nor an uncompressed tar")
        with layer.open("rb") as content:
            return self._blob(lambda out: shutil.copyfileobj(content, out, CHUNK))

    def _json(self, value: Mapping[str, Any]) -> _Blob:
        content = _encoded(value)
        return self._blob(lambda out: _write_all(out, content))

    def _blob(self, write: Callable[[IO[bytes]], None]) -> _Blob:
        """Writes bytes first, and then the header that names their hash into the place that was left."""
        start = self._file.tell()
        self._file.write(_blob_header(NO_DIGEST, 0))
        hashing = _Hashing(self._file)
        write(cast("IO[bytes]", hashing))
        blob = _Blob(f"sha256:{hashing.digest()}", hashing.size)
        if blob.digest in self._written:
            self._file.seek(start)
            self._file.truncate()
            return blob
        self._written.add(blob.digest)
        self._pad(blob.size)
        end = self._file.tell()
        self._file.seek(start)
        self._file.write(_blob_header(hashing.digest(), blob.size))
        self._file.seek(end)
        return blob

    def _text(self, name: str, content: bytes) -> None:
        self._file.write(_header(name, len(content)).tobuf() + content)
        self._pad(len(content))

    def _pad(self, size: int) -> None:
        self._file.write(b"\0" * (-size % tarfile.BLOCKSIZE))


class _Hashing:
    """A file to write to that hashes and counts what goes through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, content: bytes) -> int:
        self._hash.update(content)
        self.size += len(content)
        return self._file.write(content)

    def digest(self) -> str:
        return self._hash.hexdigest()


def _write_all(out: IO[bytes], content: bytes) -> None:
    out.write(content)


def _blob_header(digest: str, size: int) -> bytes:
    # GNU's way to write sizes: a header is one block whatever the size, so it can be written later.
    return _header(f"blobs/sha256/{digest}", size).tobuf(format=tarfile.GNU_FORMAT)


def _is_plain_tar(path: Path) -> bool:
    try:
        with tarfile.open(path, "r:"):
            return True
    except tarfile.ReadError:
        return False


def _configuration(config: Mapping[str, Any], layers: Sequence[_Blob]) -> dict[str, Any]:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    rootfs = {"type": "layers", "diff_ids": [layer.digest for layer in layers]}
    return {"architecture": machine, "os": "linux", "config": dict(config), "rootfs": rootfs}


def _manifest(configuration: _Blob, layers: Sequence[_Blob]) -> dict[str, Any]:
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": configuration.described(CONFIG),
        "layers": [layer.described(LAYER) for layer in layers],
    }


def _index(names: Mapping[str, str], manifest: _Blob) -> dict[str, Any]:
    entry = {**manifest.described(MANIFEST), "annotations": dict(names)}
    return {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}


def _tag(name: str) -> str:
    tag = name.rpartition("/")[2].partition(":")[2]
    if not tag:
        raise ValueError(f"the image's name {name!r} has no tag")
    return tag


def _encoded(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
