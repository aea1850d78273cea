"""Downloads packages of Debian by apt and unpacks them: nothing is installed.

Used by whatever needs a program or a library that a fresh machine lacks.
"""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from infrastructure.building.once import cache_home

_APT = ("apt-get", "-qq", "-o", "APT::Sandbox::User=root")


def unpack(packages: Iterable[str], into: Path) -> None:
    """Unpacks packages of the machine's release into a folder, which is made if need be.

    Raises:
        RuntimeError: apt cannot get them.
    """
    with tempfile.TemporaryDirectory(prefix="lithify-packages-") as name:
        downloads = Path(name)
        downloads.chmod(0o755)
        _download(packages, downloads)
        for package in sorted(downloads.glob("*.deb")):
            subprocess.run(["dpkg", "-x", str(package), str(into)], check=True)


def _download(packages: Iterable[str], into: Path) -> None:
    """Downloads packages, one process at a time."""
    lock = cache_home("debian.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    command = [*_APT, "download", *packages]
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if _failure(command, into) is None:
            return
        # A fresh machine knows no packages, and one that is not quite fresh knows versions that are gone.
        for again in ([*_APT, "update"], command):
            if failure := _failure(again, into):
                raise RuntimeError(f"{' '.join(again)} failed:\n{failure}")


def _failure(command: list[str], folder: Path) -> str | None:
    """What a command says of its failure, None if it does not fail."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr or f"it ends with {done.returncode}"
