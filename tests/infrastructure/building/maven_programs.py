"""Java programs of one Maven project: built once per machine from Maven Central, and cached.

Used by the oracles and by the REST catalog's server. A project gets `buildDirectory`, where it makes its
jar, and `lib` with the jars that it needs; see `oracle/pom.xml`. Nothing of it is written beside its sources.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infrastructure.building.once import build_once, cache_home, fingerprint

BUILD = ("mvn", "-q", "-B", "package")
_KINDS = frozenset({".java", ".properties"})


@dataclass(frozen=True, slots=True)
class MavenProgram:
    """What one Maven project gives.

    Attributes:
        name: of the folder below the cache, and what people call it.
        sources: the project's folder, with pom.xml.
        takes: how long a build takes, for messages.
        shared: folders with sources that the project shares with others.
    """

    name: str
    sources: Path
    takes: str
    shared: Sequence[Path] = ()

    def folder(self) -> Path:
        """Where the jars are, or will be."""
        how = (*BUILD, (self.sources / "pom.xml").read_text("utf-8"))
        return cache_home(self.name) / fingerprint(how, [self.sources / "src", *self.shared], _KINDS)

    def build(self) -> Path:
        """Builds the program unless it is there, and returns its folder.

        Raises:
            RuntimeError: Maven is missing, or the build failed.
        """
        return build_once(self.folder(), self.name, self.takes, self._build_into)

    def jars(self) -> list[Path]:
        """All of its jars, its own first, after a build if they are not there."""
        folder = self.build()
        return [*sorted(folder.glob("*.jar")), *sorted((folder / "lib").glob("*.jar"))]

    def _build_into(self, folder: Path) -> None:
        if shutil.which("mvn") is None:
            raise RuntimeError(f"{self.name} is built with Maven, and there is no `mvn` on the PATH")
        command = [*BUILD, f"-DbuildDirectory={folder}"]
        result = subprocess.run(command, cwd=self.sources, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
        for made in folder.iterdir():
            if made.is_dir() and made.name != "lib":
                shutil.rmtree(made)
