"""The base image, put together from Debian's packages: what a registry would give as `debian:bookworm-slim`.

Used by `build`. mmdebstrap does it. Its package is unpacked, not installed: this machine stays as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from infrastructure.building.debian_packages import unpack

RELEASE = "bookworm"
SOURCES = (
    "deb http://deb.debian.org/debian bookworm main",
    "deb http://deb.debian.org/debian bookworm-updates main",
    "deb http://deb.debian.org/debian-security bookworm-security main",
)
OPTIONS = (
    "--quiet",
    "--mode=root",
    "--variant=apt",
    "--format=directory",
    "--dpkgopt=force-unsafe-io",
    "--include=usr-is-merged",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    '--aptopt=Acquire::Languages "none"',
)
HOOKS = ("merged-usr",)
"""Hooks of mmdebstrap: /bin and others become links into /usr. A package would, but bring all of Perl."""


def make_base(folder: Path, moment: int) -> None:
    """Makes the root file system of a small Debian in a new folder; no file in it is later than a moment.

    Raises:
        RuntimeError: packages cannot be fetched, or this is no Debian.
    """
    with TemporaryDirectory(prefix="lithify-debian-") as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        unpack(["mmdebstrap"], scratch / "unpacked")
        programs = scratch / "unpacked" / "usr" / "bin"
        hooks = scratch / "unpacked" / "usr" / "share" / "mmdebstrap" / "hooks"
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "SOURCE_DATE_EPOCH": str(moment)}
        options = [*OPTIONS, *(f"--hook-dir={hooks / name}" for name in HOOKS)]
        _run(["mmdebstrap", *options, RELEASE, str(folder), *SOURCES], scratch, environment)
    shutil.rmtree(folder / "dev")
    (folder / "dev").mkdir()
    for name in ("resolv.conf", "hosts"):  # places to mount this machine's own on
        (folder / "etc" / name).write_text("")


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    merged = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=merged, check=False, stdout=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed, see above: {' '.join(command)}")
