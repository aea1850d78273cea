"""Programs of one Go module: built once per machine from the Go module proxy, and cached.

Used by the test cluster, by the S3 server and by whoever else needs a Go program. The folder's name is a hash
of what the programs are made from, so another version is another folder and nothing has to be invalidated.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

BUILD = ("go", "build", "-trimpath", "-gcflags=all=-dwarf=false")


class NotBuilt(Exception):
    """The programs are not there yet."""


def cache_home(name: str) -> Path:
    """Where programs of a name, and what belongs to them, outlive a session."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "lithify" / name


@dataclass(frozen=True, slots=True)
class GoPrograms:
    """What one Go module gives.

    Attributes:
        name: of the folder below the cache, and what people call it.
        sources: the module's folder, with go.mod, go.sum and any programs of its own.
        packages: what to build; each becomes a program called after its last part.
        target: the make target that builds it, for messages.
        takes: how long that takes, for messages.
        linker_flags: the linker's flags.
        links: more names of programs, and the programs they stand for.
        environment: settings of the build. The compiler has memory to spare, and less to do if it may use it.
    """

    name: str
    sources: Path
    packages: Sequence[str]
    target: str
    takes: str
    linker_flags: Callable[[], str] = lambda: "-s -w"
    links: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: {"CGO_ENABLED": "0", "GOGC": "400"})

    def folder(self) -> Path:
        """Where the programs are, or will be."""
        digest = hashlib.sha256(" ".join(BUILD).encode())
        kinds = {".go", ".mod", ".sum"}
        for path in sorted(path for path in self.sources.rglob("*") if path.suffix in kinds):
            digest.update(path.relative_to(self.sources).as_posix().encode() + b"\0" + path.read_bytes())
        return cache_home(self.name) / digest.hexdigest()[:16]

    def built(self) -> Path:
        """The folder with the programs.

        Raises:
            NotBuilt: they are not there; a test must not build them, because that takes longer than it may.
        """
        found = self.folder()
        if not found.is_dir():
            raise NotBuilt(f"{self.name} is not built yet: run `make {self.target}` ({self.takes})")
        return found

    def build(self) -> Path:
        """Builds the programs unless they are there, and returns their folder.

        Raises:
            RuntimeError: Go is missing, or the build failed.
        """
        wanted = self.folder()
        wanted.parent.mkdir(parents=True, exist_ok=True)
        with _locked(wanted.with_suffix(".lock")):
            if not wanted.is_dir():
                self._build_into(wanted)
        return wanted

    def _build_into(self, wanted: Path) -> None:
        if shutil.which("go") is None:
            raise RuntimeError(f"{self.name} is built with Go, and there is no `go` on the PATH")
        began = time.monotonic()
        print(f"Building {self.name} into {wanted} ({self.takes} on 2 cores)", file=sys.stderr)
        scratch = Path(tempfile.mkdtemp(prefix=".build-", dir=wanted.parent))
        try:
            command = [*BUILD, "-ldflags", self.linker_flags(), "-o", f"{scratch}/", *self.packages]
            environment = {**os.environ, **self.environment}
            result = subprocess.run(command, cwd=self.sources, env=environment, check=False)
            if result.returncode != 0:
                raise RuntimeError(f"{' '.join(command)} failed, see above")
            for link, program in self.links.items():
                (scratch / link).symlink_to(program)
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
