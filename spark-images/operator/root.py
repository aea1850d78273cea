"""Makes the root file system of the operator's image out of a Debian where its packages are installed.

Run in a stage of the Dockerfile, by Debian's Python: `root.py TARGET`. It copies the files of the packages
that debian.txt lists, the few other files that they need (BESIDES), and dpkg's records of
them, for scanners. What no process reads (WITHOUT) stays behind; the packages' copyright files do not.
"""

from __future__ import annotations

import compileall
import fnmatch
import os
import py_compile
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATUS = Path("/var/lib/dpkg/status")
MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders of the root that are links into /usr."""
BESIDES = (
    "/etc/gai.conf",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/usr/lib/locale/C.utf8",
    "/usr/lib/ssl/cert.pem",  # where OpenSSL, and so Python, looks for authorities
    "/usr/lib/ssl/certs",
    "/usr/lib/ssl/openssl.cnf",
)
"""Files that the installation made, and settings of libc-bin and openssl, whose programs are not needed."""
MOUNTED = ("etc/hosts", "etc/resolv.conf")
"""Files that runtimes mount their own on; a builder's are not copied."""
EMPTY = ("dev", "proc", "run", "sys", "tmp", "var/tmp")
"""Folders that containers mount something on, or write to."""
WITHOUT = (
    "/usr/share/doc/*",  # but for copyright files, see `is_kept`
    "/usr/share/man/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/share/lintian/*",
    "/usr/share/bug/*",
    "/usr/share/ca-certificates/*",  # the same certificates as in the bundle
    "/usr/sbin/update-ca-certificates",
    "/usr/share/pixmaps/*",
    "/usr/share/applications/*",
    "/usr/lib/*/gconv/*",  # character sets of iconv(), which Python does not call
    "/usr/lib/python3.11/test/*",
    "/usr/lib/python3.11/pydoc_data/*",
    "/usr/lib/python3.11/turtle.py",
    "/usr/lib/python3.11/lib-dynload/_test*",
    "/usr/lib/python3.11/lib-dynload/_ctypes_test*",
    "/usr/share/zoneinfo/right/*",  # zones with leap seconds
    "/usr/share/zoneinfo/posix/*",  # the same zones again
)
COPYRIGHT = "/usr/share/doc/*/copyright"


def main(target: Path) -> None:
    """Fills an empty folder."""
    listed, absent = read_list((HERE / "debian.txt").read_text(encoding="utf-8"))
    stanzas = {
        name_of(stanza): stanza for stanza in STATUS.read_text(encoding="utf-8").split("\n\n") if stanza
    }
    check(listed, absent, stanzas)
    for folder in (*(f"usr/{name}" for name in MERGED), *EMPTY):
        (target / folder).mkdir(parents=True, exist_ok=True)
    for name in MERGED:
        (target / name).symlink_to(f"usr/{name}")
    for path in (*files_of(listed), *besides()):
        copy(path, target)
    for name in MOUNTED:
        (target / name).touch()
    for name in ("tmp", "var/tmp"):
        (target / name).chmod(0o1777)
    record(target, [stanzas[name] for name in listed])
    compile_library(target)


def compile_library(target: Path) -> None:
    """Turns Python's library into bytecode without sources. Tracebacks still name files and lines."""
    library = target / "usr/lib/python3.11"
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    options = {"quiet": 2, "legacy": True, "invalidation_mode": unchecked}
    compileall.compile_dir(library, stripdir=str(target), prependdir="/", maxlevels=50, **options)
    for path in library.rglob("*.py"):
        if path.with_suffix(".pyc").exists():
            path.unlink()


def read_list(text: str) -> tuple[list[str], set[str]]:
    """The packages that are in, and those that are known to be missing."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    return (
        [line for line in lines if line and line[0] != "!"],
        {line[1:] for line in lines if line.startswith("!")},
    )


def check(listed: Iterable[str], absent: set[str], stanzas: Mapping[str, str]) -> None:
    """Compares the list with what dpkg knows.

    Raises:
        SystemExit: a package is not installed, or depends on one that the list does not know.
    """
    known = {*listed, *absent}
    for name in listed:
        if name not in stanzas:
            sys.exit(f"{name} is in debian.txt, but not installed: the list is out of date")
        for alternatives in dependencies(stanzas[name]):
            if not known & alternatives:
                sys.exit(
                    f"{name} depends on {' or '.join(sorted(alternatives))}, which debian.txt does not know"
                )


def name_of(stanza: str) -> str:
    """The package that a part of dpkg's status is about."""
    found = re.search(r"^Package: (\S+)$", stanza, re.MULTILINE)
    return found[1] if found else ""


def dependencies(stanza: str) -> Iterator[set[str]]:
    """What a package depends on: sets of alternatives."""
    for field in re.findall(r"^(?:Pre-)?Depends: (.+)$", stanza, re.MULTILINE):
        for clause in field.split(","):
            yield {re.split(r"[\s:(]", word.strip(), maxsplit=1)[0] for word in clause.split("|")}


def files_of(names: Iterable[str]) -> Iterator[Path]:
    """The files, links and folders of packages that are kept."""
    for name in names:
        found = subprocess.run(["dpkg", "-L", name], check=True, stdout=subprocess.PIPE, text=True).stdout
        yield from (Path(line) for line in found.splitlines() if line.startswith("/") and is_kept(line))


def besides() -> Iterator[Path]:
    """The files that belong to no package that is kept.

    Raises:
        SystemExit: one is not there.
    """
    for path in map(Path, BESIDES):
        if not path.exists():
            sys.exit(f"there is no {path}: BESIDES in root.py is out of date")
        yield from [path] if path.is_symlink() or not path.is_dir() else path.rglob("*")


def is_kept(path: str) -> bool:
    """Whether a file of a package belongs into the image."""
    return fnmatch.fnmatch(path, COPYRIGHT) or not any(fnmatch.fnmatch(path, pattern) for pattern in WITHOUT)


def copy(path: Path, target: Path) -> None:
    """Copies a file or a link, or makes a folder; leaves out what this Debian itself does without."""
    place = target / os.path.realpath(path.parent).lstrip("/") / path.name
    if not os.path.lexists(path) or place == target or (path.name in MERGED and path.parent == Path("/")):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or not path.is_dir():
        shutil.copy2(path, place, follow_symlinks=False)
    else:
        place.mkdir(exist_ok=True)
        shutil.copystat(path, place)


def record(target: Path, stanzas: Iterable[str]) -> None:
    """Writes what dpkg knows of the packages that are in, for those who look for known weaknesses."""
    place = target / STATUS.relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{stanza}\n\n" for stanza in stanzas), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
