"""The Java side of the oracle: building its jar, starting its process, one line in for one line out."""

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

HOME = Path(__file__).resolve().parent
TARGET = HOME / "target"
JAR = "lithify-oracle.jar"
# What Paimon needs beside its bundle and PySpark brings along.
SPARK_JARS = (
    "hadoop-client-api-*.jar",
    "hadoop-client-runtime-*.jar",
    "lz4-java-*.jar",
    "snappy-java-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "rocksdbjni-*.jar",
    "slf4j-api-*.jar",
)


class OracleError(Exception):
    """The oracle refused or failed: `type` is the Java class of the exception, `trace` its stack trace."""

    def __init__(self, type: str, message: str, trace: str = "") -> None:  # noqa: A002
        super().__init__(f"{type}: {message}")
        self.type = type
        self.message = message
        self.trace = trace


def build() -> Path:
    """Builds the jar with Maven unless it is newer than all its sources, and returns the folder it is in."""
    TARGET.mkdir(exist_ok=True)
    with _locked(TARGET / ".build.lock"):
        jar = TARGET / JAR
        if not _is_fresh(jar):
            command = ["mvn", "-q", "-B", "package"]
            result = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
            jar.touch()  # Maven leaves a jar alone whose content would be the same.
    return TARGET


def _is_fresh(jar: Path) -> bool:
    if not jar.exists() or not list((TARGET / "lib").glob("paimon-bundle-*.jar")):
        return False
    sources = [HOME / "pom.xml", *(path for path in (HOME / "src").rglob("*") if path.is_file())]
    return jar.stat().st_mtime >= max(path.stat().st_mtime for path in sources)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class JavaProcess:
    """A Java process that answers lines of JSON. It is killed when this object goes away."""

    def __init__(self, jar_dir: Path, timezone: str, heap: str, jvm_args: Sequence[str]) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="lithify-oracle-"))
        self._log = scratch / "stderr.log"
        command = [
            _java(),
            f"-Xmx{heap}",
            f"-Duser.timezone={timezone}",
            "-Dfile.encoding=UTF-8",
            f"-Djava.io.tmpdir={scratch}",
            *jvm_args,
            "-cp",
            os.pathsep.join(str(jar) for jar in _classpath(jar_dir)),
            "dev.lithify.oracle.Main",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        self._lock = threading.Lock()
        self._requests = 0
        self._stop = weakref.finalize(self, _stop, self._process, scratch)

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self._process.pid

    def call(self, op: str, args: dict[str, Any]) -> Any:
        """Sends one request and waits for its reply."""
        with self._lock:
            if not self._stop.alive:
                raise OracleError("ProcessDied", "the oracle is closed")
            self._requests += 1
            request = json.dumps({"id": self._requests, "op": op, **args}).encode()
            try:
                _pipe(self._process.stdin).write(request + b"\n")
                _pipe(self._process.stdin).flush()
                line = _pipe(self._process.stdout).readline()
            except BrokenPipeError:
                line = b""
            except BaseException:
                self._stop()  # The reply would be taken for the answer to the next request.
                raise
        if not line:
            raise OracleError("ProcessDied", f"the oracle is gone during '{op}'", self._log_tail())
        reply = json.loads(line)
        if not reply["ok"]:
            raise OracleError(reply["type"], reply["error"], reply["trace"])
        return reply["result"]

    def close(self) -> None:
        """Ends the process and deletes its scratch files."""
        self._stop()

    def _log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-4000:] if self._log.exists() else ""


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _stop(process: subprocess.Popen[bytes], scratch: Path) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
            _pipe(pipe).close()
    shutil.rmtree(scratch, ignore_errors=True)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _classpath(jar_dir: Path) -> list[Path]:
    jars = [jar_dir / JAR, *sorted((jar_dir / "lib").glob("*.jar"))]
    return [*jars, *map(spark_jar, SPARK_JARS)]


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
