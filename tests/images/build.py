"""Builds images from Dockerfiles: each instruction that changes files makes a layer, and is run once per machine.

Called by `python -m images build`, which says where the archives are. A layer's key is a hash of everything that
goes into it: the layers below, the instruction, what it copies. Another key is another folder, so nothing has to
be invalidated.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from building.go_programs import cache_home
from cluster.archive import write_archive
from images import debian, layers
from images.dockerfile import Instruction, Stage, configuration, read_file
from images.root import Root

REPOSITORY = Path(__file__).resolve().parents[2]
IMAGES = ("operator", "spark")
MOMENT = 1_767_225_600
"""The start of 2026, in seconds: no file of an image is later."""
KEPT = 3
"""Sets of archives that stay on the machine."""
TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")
"""Whom this machine trusts: packages may come through a proxy with a certificate of its own."""


class BuildFailed(Exception):
    """An instruction failed."""


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its layers as folders, the lowest first, and its configuration."""

    name: str
    layers: tuple[Path, ...]
    config: Mapping[str, object]

    @property
    def environment(self) -> dict[str, str]:
        """Its environment variables."""
        return dict(pair.split("=", 1) for pair in self.config["Env"])  # type: ignore[attr-defined]

    @property
    def root(self) -> Root:
        """Its root file system, read-only, for its user, with names of hosts as a pod has them."""
        hosts = {"/etc/hosts": Path("/etc/hosts")}
        return Root(self.layers, shared=hosts, user=str(self.config["User"]))


def build_archives() -> Path:
    """Builds all images, and returns the folder with operator.tar and spark.tar.

    Raises:
        BuildFailed: an instruction failed.
        RuntimeError: the base cannot be made.
    """
    images = [build(name) for name in IMAGES]
    digest = hashlib.sha256()
    for image in images:
        digest.update(json.dumps([[path.name for path in image.layers], image.config]).encode())
    folder = _home() / "archives" / digest.hexdigest()[:16]
    with _locked(_home() / "archives.lock"):
        if not folder.is_dir():
            _write_archives(images, folder)
        os.utime(folder)
        _forget_old(folder.parent)
    return folder


def build(name: str) -> Image:
    """Builds one image; raises like `build_archives`."""
    stages = read_file(REPOSITORY / "spark-images" / name / "Dockerfile")
    built = _Builder(stages).stage(name)
    return Image(name, built, configuration(stages, name))


def _write_archives(images: Sequence[Image], folder: Path) -> None:
    scratch = folder.with_suffix(".new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for image in images:
        tars = [_tar(layer) for layer in image.layers]
        write_archive(
            scratch / f"{image.name}.tar", f"localhost/lithify/{image.name}:test", image.config, tars
        )
    scratch.rename(folder)


def _forget_old(folder: Path) -> None:
    newest = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _tar(layer: Path) -> Path:
    tar = layer.with_name(layer.name + ".tar")
    if not tar.exists():
        scratch = tar.with_suffix(".new")
        layers.write_tar(layer, scratch)
        scratch.rename(tar)
    return tar


class _Builder:
    """One Dockerfile on its way to layers."""

    def __init__(self, stages: Mapping[str, Stage]) -> None:
        self._stages = stages

    def stage(self, name: str) -> tuple[Path, ...]:
        """The layers of a stage, the lowest first."""
        stage = self._stages[name]
        below = self.stage(stage.base) if stage.base in self._stages else (_base(stage.base),)
        for instruction in stage.instructions:
            if instruction.word == "RUN":
                below = (*below, self._run(below, instruction))
            elif instruction.word == "COPY":
                below = (*below, self._copy(below, instruction))
        return below

    def _run(self, below: tuple[Path, ...], instruction: Instruction) -> Path:
        key = _key(below[-1].name, instruction.rest, json.dumps(dict(instruction.options)))

        def make(folder: Path) -> None:
            work = folder.with_name(folder.name + ".work")
            work.mkdir()
            root = Root(below, written=folder, shared=_shared(instruction))
            done = root.run(["/bin/sh", "-c", instruction.rest], _environment(), stdout=subprocess.DEVNULL)
            shutil.rmtree(work)
            if done.returncode != 0:
                raise BuildFailed(f"failed: RUN {instruction.rest}")

        return _made(key, f"RUN {instruction.rest}", make)

    def _copy(self, below: tuple[Path, ...], instruction: Instruction) -> Path:
        *sources, target = instruction.words
        origin = instruction.options.get("from")
        found = (
            [REPOSITORY / source for source in sources]
            if origin is None
            else [self._in_stage(origin, source) for source in sources]
        )
        # By content, not by where it comes from: what a stage made anew and alike is the same layer.
        content = [_digest(path) for path in found]
        key = _key(below[-1].name, instruction.rest, instruction.options.get("chmod", ""), *content)

        def make(folder: Path) -> None:
            for source in found:
                _copy_into(folder, source, target, instruction.options.get("chmod"))

        return _made(key, f"COPY {instruction.rest}", make)

    def _in_stage(self, stage: str, source: str) -> Path:
        """Where a file or folder of a stage is: in the last layer that has it."""
        for layer in reversed(self.stage(stage)):
            if (found := layer / source.strip("/")).exists():
                return found
        raise BuildFailed(f"there is no {source} in the stage {stage}")


def _copy_into(folder: Path, source: Path, target: str, mode: str | None) -> None:
    """Copies a file or the content of a folder to where it belongs in a layer, as Docker does."""
    place = folder / target.strip("/")
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True, copy_function=_link)
        return
    place = place / source.name if target.endswith("/") else place
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)
    place.chmod(int(mode or "644", 8))


def _link(source: str, target: str) -> None:
    """A second name for a file of another layer: layers are never changed."""
    if Path(source).is_relative_to(_home()):
        os.link(source, target, follow_symlinks=False)
    else:
        shutil.copyfile(source, target)


def _environment() -> dict[str, str]:
    """What instructions run with: as Docker has it, and this machine's way to the registries of packages."""
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "DEBIAN_FRONTEND": "noninteractive",
        "SOURCE_DATE_EPOCH": str(MOMENT),
    }
    if TRUSTED.exists():
        environment |= dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT"), "/tmp/certificates.crt")
    ways = {name for name in os.environ if name.lower() in {"http_proxy", "https_proxy", "no_proxy"}}
    return environment | {
        name: os.environ[name] for name in ways | {"PIP_INDEX_URL", "UV_DEFAULT_INDEX"} & os.environ.keys()
    }


def _shared(instruction: Instruction) -> dict[str, Path]:
    """What instructions see of this machine: names of hosts, and uv's cache, where the wheels already are."""
    shared = {path: Path(path) for path in ("/etc/resolv.conf", "/etc/hosts")}
    if TRUSTED.exists():
        shared["/tmp/certificates.crt"] = TRUSTED
    if mount := instruction.options.get("mount"):
        options = dict(option.split("=", 1) for option in mount.split(","))
        if options["type"] != "cache" or options["target"] != "/root/.cache/uv":
            raise BuildFailed(f"RUN --mount={mount} is not known to tests/images")
        cache = Path(os.environ.get("UV_CACHE_DIR") or Path.home() / ".cache" / "uv")
        cache.mkdir(parents=True, exist_ok=True)
        shared["/root/.cache/uv"] = cache
    return shared


def _base(reference: str) -> Path:
    """The layer that stands for an image of a registry."""
    if not reference.startswith(f"debian:{debian.RELEASE}-"):
        raise BuildFailed(f"{reference} cannot be made of packages; the base is debian:{debian.RELEASE}-...")
    key = _key(*debian.OPTIONS, *debian.SOURCES)

    def make(folder: Path) -> None:
        folder.rmdir()
        debian.make_base(folder, MOMENT)
        shutil.rmtree(folder / "dev")
        (folder / "dev").mkdir()
        for name in ("resolv.conf", "hosts"):
            (folder / "etc" / name).write_text("")

    return _made(key, f"FROM {reference}", make)


def _made(key: str, what: str, make: object) -> Path:
    """The layer with a key, made unless it is there."""
    folder = _home() / "layers" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():
        return folder
    with _locked(folder.with_name(key + ".lock")):
        if not folder.is_dir():
            began = time.monotonic()
            scratch = folder.with_name(f".{key}")
            for leftover in (scratch, scratch.with_name(scratch.name + ".work")):
                shutil.rmtree(leftover, ignore_errors=True)
            scratch.mkdir()
            make(scratch)  # type: ignore[operator]
            shutil.rmtree(scratch / "root" / ".cache", ignore_errors=True)
            layers.fix_times(scratch, MOMENT)
            scratch.rename(folder)
            print(f"{time.monotonic() - began:6.1f} s  {what[:100]}", file=sys.stderr)
    return folder


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _digest(path: Path) -> str:
    """A hash of a file, or of all files in a folder with their names; bytecode that lies about is no part of it."""
    if path.is_relative_to(_home()):
        return _digest_of_layer(path)
    digest = hashlib.sha256()
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        if "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(path.parent)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _digest_of_layer(path: Path) -> str:
    """A hash of part of a layer: layers are known by their keys."""
    relative = path.relative_to(_home() / "layers")
    return relative.as_posix()


def _home() -> Path:
    return cache_home("images")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
