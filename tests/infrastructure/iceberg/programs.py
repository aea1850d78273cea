"""What is built for Iceberg's tests: Spark with Iceberg, the REST catalog's server, iceberg-go's programs."""

from __future__ import annotations

from pathlib import Path

from infrastructure.building.go_programs import GoPrograms
from infrastructure.building.maven_programs import MavenProgram
from infrastructure.jvm.process import PROTOCOL

_HOME = Path(__file__).resolve().parent

SPARK = MavenProgram(
    name="iceberg-spark", sources=_HOME / "spark", takes="about 1 minute", shared=(PROTOCOL,)
)
REST_SERVER = MavenProgram(name="iceberg-rest", sources=_HOME / "rest", takes="about 20 seconds")
GO = GoPrograms(
    name="iceberg-go",
    sources=_HOME / "go",
    packages=("./reader", "./compactor"),
    target="iceberg",
    takes="about 2 minutes",
)
