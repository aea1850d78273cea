"""Makes the tables of some releases, or of all: `python -m infrastructure.paimon_versions [VERSION...]`.

Run by hand only, when a release or a table is added; needs Maven and Java 17. The README says what they hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from infrastructure.oracle.process import SPARK_JARS, spark_jar
from infrastructure.paimon_versions.archive import HOME, VERSIONS, archive_of

GENERATOR = HOME / "generator"
# The codecs that old releases bundle reach into Java's own classes.
OPENED = ("--add-opens", "java.base/java.nio=ALL-UNNAMED")


def make(version: str) -> None:
    """Builds the generator against a release, runs it, and packs the warehouse that it made."""
    subprocess.run(["mvn", "-q", "-B", "package", f"-Dpaimon.version={version}"], cwd=GENERATOR, check=True)
    target = GENERATOR / "target" / version
    jars = [target / "paimon-versions.jar", target / "lib" / f"paimon-bundle-{version}.jar"]
    jars += [spark_jar(pattern) for pattern in SPARK_JARS]
    classpath = os.pathsep.join(str(jar) for jar in jars)
    with TemporaryDirectory() as folder:
        warehouse = Path(folder) / "warehouse"
        command = ["java", *OPENED, "-Duser.timezone=UTC", "-cp", classpath, "dev.lithify.versions.Main"]
        subprocess.run([*command, str(warehouse)], check=True)
        with tarfile.open(archive_of(version), "w:xz") as archive:
            archive.add(warehouse / "db.db", "db.db", filter=_plain)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without checksum files of the local file system, and without the name of its author."""
    if member.name.endswith(".crc"):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    for version in sys.argv[1:] or VERSIONS:
        make(version)
