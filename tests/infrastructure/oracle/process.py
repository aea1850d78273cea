"""The Java side of Paimon's oracle: what its jar is built from, and what its process is started with."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from infrastructure.building.maven_programs import MavenProgram
from infrastructure.jvm.process import PROTOCOL, JavaProcess, JavaProgram, OracleError

__all__ = ["PROGRAM", "SPARK_JARS", "OracleError", "build", "spark_jar", "started"]

PROGRAM = MavenProgram(
    name="oracle", sources=Path(__file__).resolve().parent, takes="20 seconds", shared=(PROTOCOL,)
)
# What the oracle needs beside Paimon's bundle and PySpark brings along.
SPARK_JARS = (
    "hadoop-client-api-*.jar",
    "hadoop-client-runtime-*.jar",
    "jackson-annotations-*.jar",
    "jackson-core-[0-9]*.jar",
    "jackson-databind-*.jar",
    "lz4-java-*.jar",
    "snappy-java-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "rocksdbjni-*.jar",
    "slf4j-api-*.jar",
)


def build() -> Path:
    """Builds the jar with Maven unless this machine has it, and returns the folder it is in."""
    return PROGRAM.build()


def started(timezone: str, heap: str, jvm_args: Sequence[str]) -> JavaProcess:
    """The oracle's JVM, after a build if that is needed."""
    classpath = [*PROGRAM.jars(), *map(spark_jar, SPARK_JARS)]
    return JavaProcess(JavaProgram("dev.lithify.oracle.Main", classpath, heap, timezone, jvm_args))


def spark_jar(pattern: str) -> Path:
    """One of PySpark's own jars, by the pattern of its name."""
    found = sorted(_spark_jars().glob(pattern))
    if not found:
        raise FileNotFoundError(f"{pattern} is not among PySpark's jars in {_spark_jars()}")
    return found[-1]


def _spark_jars() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("pyspark is not installed; its jars carry what Paimon needs of Hadoop")
    return Path(spec.submodule_search_locations[0]) / "jars"
