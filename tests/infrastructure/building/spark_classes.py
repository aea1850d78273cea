"""An archive of the classes that Spark loads when it starts: with it a JVM takes half the time to get going.

Made once per machine by `make test`, as the Spark image has one made for itself. A test session that finds
one has every Spark of its tests start with it; one of another Java, or for other jars, is not found.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from infrastructure.building.once import cache_home

OPTIONS_VARIABLE = "SPARK_SUBMIT_OPTS"
"""Where Spark takes the options of a JVM from that it starts on this machine."""

_ALWAYS = (
    "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0 -XX:-UsePerfData "
    "-Xlog:cds=off -Xlog:cds+dynamic=off"
)
_JOB = """
from lithify.engine.run.spark import SparkSettings, configuration
from pyspark import SparkConf, SparkContext
settings = configuration(SparkSettings(master="local[1]"))
conf = SparkConf().setMaster("local[1]").setAppName("classes").setAll(settings.items())
with SparkContext(conf=conf) as context:
    assert context.parallelize([1, 2], 2).map(str).collect() == ["1", "2"]
"""


def archive() -> Path:
    """Where the archive for this Java and these jars is, or will be."""
    java = Path(shutil.which("java") or "java").resolve()
    changed = java.stat().st_mtime_ns if java.is_file() else 0
    spark = find_spec("pyspark")
    key = f"{java} {changed} {spark.origin if spark else ''} {metadata.version('pyspark')}"
    return cache_home("spark-classes") / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"


def build() -> Path:
    """Makes the archive unless it is there, and returns its path.

    Raises:
        RuntimeError: Spark does not start, or its JVM wrote no archive.
    """
    wanted = archive()
    if not wanted.is_file():
        wanted.parent.mkdir(parents=True, exist_ok=True)
        made = wanted.with_suffix(f".{os.getpid()}")
        options = {OPTIONS_VARIABLE: f"{_ALWAYS} -XX:ArchiveClassesAtExit={made}"}
        result = subprocess.run(
            [sys.executable, "-c", _JOB],
            env={**os.environ, **options},
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0 or not made.is_file():
            raise RuntimeError(f"no archive of Spark's classes was made: {result.stderr}")
        made.rename(wanted)
    return wanted


def options() -> dict[str, str]:
    """The environment of processes that start Spark: with the archive if there is one, else nothing."""
    found = archive()
    return {OPTIONS_VARIABLE: f"{_ALWAYS} -XX:SharedArchiveFile={found}"} if found.is_file() else {}
