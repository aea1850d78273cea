"""Builds images from Dockerfiles: each instruction that changes files makes a layer, once per machine.

Called by `make images`, which says where the archives are, and by tests, which look into images. A
layer's key is a hash of the layers below, the instruction, and what it reads of the repository.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infrastructure.cluster.archive import write_archive
from infrastructure.images import cache, debian
from infrastructure.images.cache import MOMENT, content_of, key_of, made
from infrastructure.images.dockerfile import Instruction, Stage, configuration, read_file
from infrastructure.images.root import Root

REPOSITORY = Path(__file__).resolve().parents[3]
IMAGES = ("operator", "spark")
SCRATCH = "scratch"
"""What Dockerfiles call the image without layers."""
KEPT = 2
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
    config: Mapping[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        """Its environment variables."""
        return dict(pair.split("=", 1) for pair in self.config["Env"])

    @property
    def root(self) -> Root:
        """Its root file system, read-only, for its user, with names of hosts as a pod has them."""
        return Root(self.layers, shared={"/etc/hosts": Path("/etc/hosts")}, user=self.config["User"])


def build_archives() -> Path:
    """Builds all images, and returns the folder with operator.tar and spark.tar.

    Raises:
        BuildFailed: an instruction failed.
        RuntimeError: the base cannot be made.
    """
    images = [build(name) for name in IMAGES]
    key = key_of(*(json.dumps([[path.name for path in image.layers], image.config]) for image in images))
    folder = cache.home() / "archives" / key
    with cache.locked(cache.home() / "archives.lock"):
        if not folder.is_dir():
            _write_archives(images, folder)
        os.utime(folder)
        newest = sorted(folder.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in newest[KEPT:]:
            shutil.rmtree(path)
    cache.forget_unused()
    return folder


def build(name: str) -> Image:
    """Builds one image; raises like `build_archives`."""
    stages = read_file(REPOSITORY / "spark-images" / name / "Dockerfile")
    return Image(name, build_stage(stages, name, REPOSITORY), configuration(stages, name))


def build_stage(stages: Mapping[str, Stage], name: str, context: Path) -> tuple[Path, ...]:
    """The layers of a stage, the lowest first. `context` is the folder that it copies from."""
    return _Builder(stages, context).stage(name)


def _write_archives(images: Sequence[Image], folder: Path) -> None:
    scratch = folder.with_suffix(".new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for image in images:
        tars = [cache.tar_of(layer) for layer in image.layers]
        write_archive(
            scratch / f"{image.name}.tar", f"localhost/lithify/{image.name}:test", image.config, tars
        )
    scratch.rename(folder)


class _Builder:
    """One Dockerfile on its way to layers."""

    def __init__(self, stages: Mapping[str, Stage], context: Path) -> None:
        self._stages = stages
        self._context = context
        self._made: dict[str, tuple[Path, ...]] = {}

    def stage(self, name: str) -> tuple[Path, ...]:
        """The layers of a stage, the lowest first; instructions that change nothing have none."""
        if name not in self._made:
            stage = self._stages[name]
            below = self.stage(stage.base) if stage.base in self._stages else _base(stage.base)
            given: dict[str, str] = {}
            for instruction in stage.instructions:
                if instruction.word == "ENV":
                    given |= instruction.pairs
                elif (layer := self._layer(below, instruction, given)) is not None and any(layer.iterdir()):
                    below = (*below, layer)
            self._made[name] = below
        return self._made[name]

    def _layer(
        self, below: tuple[Path, ...], instruction: Instruction, given: Mapping[str, str]
    ) -> Path | None:
        if instruction.word == "RUN":
            return _run(below, instruction, given, self._context)
        return self._copy(below, instruction) if instruction.word == "COPY" else None

    def _copy(self, below: tuple[Path, ...], instruction: Instruction) -> Path:
        *sources, target = instruction.words
        origin = instruction.options.get("from")
        found = [self._in_stage(origin, source) if origin else self._context / source for source in sources]
        mode = instruction.options.get("chmod", "")
        # By content, not by where it comes from: what a stage has made anew and alike is the same layer.
        key = key_of(_chain(below), instruction.rest, mode, *map(content_of, found))

        def make(folder: Path) -> None:
            for source in found:
                _copy_into(folder, source, target, mode)

        return made(key, f"COPY {instruction.rest}", make)

    def _in_stage(self, stage: str, source: str) -> Path:
        """Where a file or folder of a stage is: in the last layer that has it."""
        for layer in reversed(self.stage(stage)):
            if (found := layer / source.strip("/")).exists():
                return found
        raise BuildFailed(f"there is no {source} in the stage {stage}")


def _run(below: tuple[Path, ...], instruction: Instruction, given: Mapping[str, str], context: Path) -> Path:
    source = _mount(instruction).get("source")
    read = [content_of(context / source)] if source else []
    settings = json.dumps([dict(instruction.options), dict(given)])

    def make(folder: Path) -> None:
        work = folder.with_name(folder.name + ".work")
        work.mkdir()
        root = Root(below, written=folder, shared=_shared(instruction, context))
        words = ["/bin/sh", "-c", instruction.rest]
        done = root.run(words, _environment() | given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        shutil.rmtree(work)
        shutil.rmtree(folder / "root" / ".cache", ignore_errors=True)  # the place of uv's cache
        if done.returncode != 0:
            raise BuildFailed(f"{done.stdout}\nfailed: RUN {instruction.rest}")

    return made(key_of(_chain(below), instruction.rest, settings, *read), f"RUN {instruction.rest}", make)


def _copy_into(folder: Path, source: Path, target: str, mode: str) -> None:
    """Copies a file or the content of a folder to where it belongs in a layer, as Docker does."""
    place = folder / target.strip("/")
    if source.is_dir():
        without = shutil.ignore_patterns() if _is_kept(source) else shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True, copy_function=_link, ignore=without)
        return
    place = place / source.name if target.endswith("/") else place
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)
    place.chmod(int(mode or "644", 8))


def _link(source: str, target: str) -> None:
    """A second name for a file of another layer, because layers do not change; else a copy."""
    if _is_kept(Path(source)):
        os.link(source, target, follow_symlinks=False)
    else:
        shutil.copyfile(source, target)


def _is_kept(path: Path) -> bool:
    return path.is_relative_to(cache.home())


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
    ways = {"http_proxy", "https_proxy", "no_proxy", "pip_index_url", "uv_default_index"}
    return environment | {name: value for name, value in os.environ.items() if name.lower() in ways}


def _shared(instruction: Instruction, context: Path) -> dict[str, Path]:
    """What instructions see of this machine: names of hosts, whom to trust, and what they ask for."""
    shared = {path: Path(path) for path in ("/etc/resolv.conf", "/etc/hosts")}
    if TRUSTED.exists():
        shared["/tmp/certificates.crt"] = TRUSTED
    match _mount(instruction):
        case {"type": "cache", "target": "/root/.cache/uv" as target}:
            # The cache of this machine, where the wheels already are.
            shared[target] = Path(os.environ.get("UV_CACHE_DIR") or cache.home().parents[1] / "uv")
            shared[target].mkdir(parents=True, exist_ok=True)
        case {"type": "bind", "source": source, "target": target} if target.startswith("/tmp/"):
            shared[target] = context / source
        case other if other:
            raise BuildFailed(f"RUN --mount={instruction.options['mount']} is not known to tests/node/images")
    return shared


def _mount(instruction: Instruction) -> dict[str, str]:
    mount = instruction.options.get("mount", "")
    return dict(option.split("=", 1) for option in mount.split(",") if option)


def _chain(below: Sequence[Path]) -> str:
    """What identifies all layers so far: a layer's key has the one below in it."""
    return below[-1].name if below else SCRATCH


def _base(reference: str) -> tuple[Path, ...]:
    """The layer that stands for an image of a registry; none for an empty image."""
    if reference == SCRATCH:
        return ()
    if not reference.startswith(f"debian:{debian.RELEASE}-"):
        raise BuildFailed(f"{reference} cannot be made of packages; the base is debian:{debian.RELEASE}-...")

    def make(folder: Path) -> None:
        folder.rmdir()
        debian.make_base(folder, MOMENT)

    return (made(key_of(*debian.OPTIONS, *debian.SOURCES, *debian.HOOKS), f"FROM {reference}", make),)
