"""Programs of one Go module: built once per machine from the Go module proxy, and cached.

Used by the test cluster, by the S3 server and by whoever else needs a Go program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from infrastructure.building.once import NotBuilt, build_once, cache_home, fingerprint

BUILD = ("go", "build", "-trimpath", "-gcflags=all=-dwarf=false")
_KINDS = frozenset({".go", ".mod", ".sum"})


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
        return cache_home(self.name) / fingerprint(BUILD, [self.sources], _KINDS)

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
        return build_once(self.folder(), self.name, self.takes, self._build_into)

    def _build_into(self, folder: Path) -> None:
        if shutil.which("go") is None:
            raise RuntimeError(f"{self.name} is built with Go, and there is no `go` on the PATH")
        command = [*BUILD, "-ldflags", self.linker_flags(), "-o", f"{folder}/", *self.packages]
        environment = {**os.environ, **self.environment}
        result = subprocess.run(command, cwd=self.sources, env=environment, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed, see above")
        for link, program in self.links.items():
            (folder / link).symlink_to(program)
