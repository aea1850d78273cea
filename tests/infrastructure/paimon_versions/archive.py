"""The tables that releases of Paimon made, as archives: which there are, and how one is unpacked.

Used by the tests that read and compact them, and by `__main__`, which makes the archives.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

from infrastructure.oracle.client import Table

HOME = Path(__file__).resolve().parent

VERSIONS = (
    "0.4.0-incubating",
    "0.5.0-incubating",
    "0.6.0-incubating",
    "0.7.0-incubating",
    "0.8.2",
    "0.9.0",
    "1.0.1",
    "1.1.1",
    "1.2.0",
    "1.3.1",
    "1.4.2",
)
"""One release of each minor version whose `paimon-bundle` is on Maven Central."""


def archive_of(version: str) -> Path:
    """The archive of the warehouse that a release made."""
    return HOME / "tables" / f"{version}.tar.xz"


def unpack(version: str, warehouse: Path, name: str) -> Table:
    """A table of a release, in a warehouse of its own."""
    with tarfile.open(archive_of(version)) as archive:
        archive.extractall(warehouse, filter="data")
    return Table(warehouse, f"db.{name}")


def names_in(version: str) -> list[str]:
    """The names of the tables that a release could make."""
    with tarfile.open(archive_of(version)) as archive:
        return sorted(name.split("/")[1] for name in archive.getnames() if name.count("/") == 1)
