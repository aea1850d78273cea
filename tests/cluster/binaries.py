"""The programs of the test cluster: built once per machine from the Go module proxy, and cached.

Used by the control plane and by `make cluster`. The folder's name is a hash of what the programs are made
from, so another version of Kubernetes is another folder and nothing has to be invalidated.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "go"
KUBE_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
BUILD = ("go", "build", "-trimpath", "-gcflags=all=-dwarf=false")


class NotBuilt(Exception):
    """The programs are not there yet."""


def cache_home() -> Path:
    """Where the test cluster keeps what outlives a session."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "lithify" / "cluster"


def folder() -> Path:
    """Where the programs are, or will be."""
    digest = hashlib.sha256(" ".join(BUILD).encode())
    for path in sorted(path for path in SOURCES.rglob("*") if path.suffix in {".go", ".mod", ".sum"}):
        digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes())
    return cache_home() / digest.hexdigest()[:16]


def built() -> Path:
    """The folder with the programs.

    Raises:
        NotBuilt: they are not there; a test must not build them, because that takes longer than a test may.
    """
    found = folder()
    if not found.is_dir():
        raise NotBuilt("the test cluster's programs are not built yet: run `make cluster` (about 7 minutes)")
    return found


def build() -> Path:
    """Builds the programs unless they are there, and returns their folder.

    Raises:
        RuntimeError: Go is missing, or the build failed.
    """
    wanted = folder()
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with _locked(wanted.with_suffix(".lock")):
        if not wanted.is_dir():
            _build_into(wanted)
    return wanted


def _build_into(wanted: Path) -> None:
    if shutil.which("go") is None:
        raise RuntimeError(
            "the test cluster is built with Go 1.24 or newer, and there is no `go` on the PATH"
        )
    began = time.monotonic()
    print(f"Building the test cluster into {wanted} (about 7 minutes on 2 cores)", file=sys.stderr)
    scratch = Path(tempfile.mkdtemp(prefix=".build-", dir=wanted.parent))
    try:
        environment = {**os.environ, "CGO_ENABLED": "0"}
        command = [*BUILD, "-ldflags", _linker_flags(), "-o", f"{scratch}/", "./kube", "./etcd"]
        result = subprocess.run(command, cwd=SOURCES, env=environment, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed, see above")
        for program in KUBE_PROGRAMS:
            (scratch / program).symlink_to("kube")
        scratch.chmod(0o755)
        scratch.rename(wanted)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"Built in {time.monotonic() - began:.0f} s", file=sys.stderr)


def _linker_flags() -> str:
    """Leaves symbols out, and tells the programs their version, which they take from nowhere else."""
    found = re.search(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)", (SOURCES / "go.mod").read_text())
    if found is None:
        raise RuntimeError(f"{SOURCES / 'go.mod'} does not say which Kubernetes to build")
    major, minor, patch = found.groups()
    values = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    settings = (f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())
    return " ".join(("-s", "-w", *settings))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
