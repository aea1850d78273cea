"""What the test node takes from Debian: downloaded by apt, unpacked into the cache, installed nowhere.

containerd, runc, network plugins, iptables and `ip` are the machine's own packages of the versions that its
release has. The programs are found there by `environment()` alone, so nothing else on the machine changes.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path

from infrastructure.building import debian_packages
from infrastructure.building.once import NotBuilt, cache_home

PACKAGES = ("busybox-static", "containerd", "containernetworking-plugins", "iproute2", "iptables", "runc")
# Not all of them are on a machine that has nothing but what Debian calls essential.
LIBRARIES = (
    "libbpf1",
    "libbsd0",
    "libcap2",
    "libelf1",
    "libip4tc2",
    "libip6tc2",
    "libmd0",
    "libmnl0",
    "libnftnl11",
    "libseccomp2",
    "libxtables12",
)
IPTABLES = "xtables-nft-multi"
PROGRAMS = ("usr/bin/containerd", "usr/bin/ctr", "usr/sbin/runc", f"usr/sbin/{IPTABLES}", "sbin/ip")
PLUGINS = ("bridge", "host-local", "loopback", "portmap")


def folder() -> Path:
    """Where the packages are unpacked, or will be."""
    release = platform.freedesktop_os_release()
    made_from = (release.get("ID"), release.get("VERSION_ID"), platform.machine(), PACKAGES, LIBRARIES)
    return cache_home("node") / f"packages-{hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]}"


def unpacked() -> Path:
    """The folder with the packages.

    Raises:
        NotBuilt: they are not there.
    """
    found = folder()
    if not found.is_dir():
        raise NotBuilt("the test node's packages are not there yet: run `make cluster`")
    return found


def unpack() -> Path:
    """Downloads and unpacks the packages unless they are there, and returns their folder.

    Raises:
        RuntimeError: apt cannot get them, or a library is missing.
    """
    wanted = folder()
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with wanted.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not wanted.is_dir():
            _unpack_into(wanted)
    return wanted


def environment(packages: Path) -> Mapping[str, str]:
    """The settings with which the programs of the packages are found, and find their libraries."""
    libraries = _libraries(packages)
    return {
        **os.environ,
        "PATH": ":".join(
            (
                f"{packages}/usr/sbin",
                f"{packages}/usr/bin",
                f"{packages}/sbin",
                os.environ["PATH"],
                "/usr/sbin",
            )
        ),
        "LD_LIBRARY_PATH": ":".join(str(each) for each in libraries),
        "XTABLES_LIBDIR": str(next(each / "xtables" for each in libraries if (each / "xtables").is_dir())),
    }


def busybox(packages: Path) -> Path:
    """A shell and its friends as one static program, for small images."""
    return packages / "bin" / "busybox"


def plugins(packages: Path) -> Path:
    """The folder of the network plugins."""
    return packages / "usr" / "lib" / "cni"


def _unpack_into(wanted: Path) -> None:
    began = time.monotonic()
    print(f"Unpacking {', '.join(PACKAGES)} into {wanted}", file=sys.stderr)
    with _scratch(wanted.parent) as scratch:
        root = scratch / "root"
        debian_packages.unpack([*PACKAGES, *LIBRARIES], root)
        # What the package's script does on a machine where it is installed.
        for name in ("iptables", "ip6tables"):
            for action in ("", "-save", "-restore"):
                (root / "usr" / "sbin" / f"{name}{action}").symlink_to(IPTABLES)
        _check(root)
        root.chmod(0o755)
        root.rename(wanted)
    print(f"Unpacked in {time.monotonic() - began:.0f} s", file=sys.stderr)


@contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=".unpack-", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _check(root: Path) -> None:
    """Sees that all libraries are there, which apt would have seen to."""
    settings = {**os.environ, "LD_LIBRARY_PATH": ":".join(str(each) for each in _libraries(root))}
    for program in (*(root / name for name in PROGRAMS), *(plugins(root) / name for name in PLUGINS)):
        if not program.exists():
            raise RuntimeError(f"the packages of this release have no {program.relative_to(root)}")
        result = subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, env=settings, check=False
        )
        if "not found" in result.stdout:
            raise RuntimeError(f"{program.name} misses libraries, see packages.py:\n{result.stdout}")


def _libraries(root: Path) -> list[Path]:
    return [path for parent in ("usr/lib", "lib") for path in sorted((root / parent).glob("*-linux-gnu*"))]
