"""Runs parquet-cli. Its jars come from Maven, once per machine; Hadoop's are those of PySpark."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from infrastructure.building.once import cache_home

_POM = Path(__file__).with_name("pom.xml")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def run(command: str, *arguments: str) -> list[str]:
    """The lines that a command prints.

    Raises:
        RuntimeError: it failed, or its jars cannot be had.
    """
    jars = [f"{_jars()}/*", *(str(jar) for jar in _hadoop())]
    done = _done(["java", "-cp", ":".join(jars), "org.apache.parquet.cli.Main", command, *arguments])
    return done.splitlines()


def _jars() -> Path:
    key = hashlib.sha256(_POM.read_bytes()).hexdigest()[:16]
    wanted = cache_home("parquet-cli") / key
    if not wanted.is_dir():
        made = wanted.with_suffix(".made")
        shutil.rmtree(made, ignore_errors=True)
        _done(
            ["mvn", "-q", "-B", "-f", str(_POM), _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={made}"]
        )
        made.rename(wanted)
    return wanted


def _hadoop() -> list[Path]:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    return sorted((Path(spark.origin).parent / "jars").glob("hadoop-client-*.jar"))


def _done(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    return result.stdout
