"""A Java process of an oracle: one line of JSON in for one line out. Both oracles use it.

The Java side of the protocol is in `java/`; projects take it in as a second folder of sources.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

PROTOCOL = Path(__file__).resolve().parent / "java"
"""Sources of the protocol's Java side."""
FOR_TESTS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m")
"""Tests ask for little of much: compiling it any better takes longer than it saves.

Without the better compiler the JVM keeps a fifth of the usual room for code, which Spark fills in
minutes.
"""
_LOGS = ("-XX:+DisplayVMOutputToStderr", "-Xlog:disable", "-Xlog:all=warning:stderr")
"""Warnings of the JVM, which would else be taken for answers."""


class OracleError(Exception):
    """The oracle refused or failed: `type` is the Java class of the exception, `trace` its stack trace."""

    def __init__(self, type: str, message: str, trace: str = "") -> None:  # noqa: A002
        super().__init__(f"{type}: {message}")
        self.type = type
        self.message = message
        self.trace = trace


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """What to start.

    Attributes:
        main: the class.
        classpath: its jars.
        heap: the most that its heap may grow to, in Java's words.
        timezone: of the JVM.
        jvm_args: more arguments of the JVM.
    """

    main: str
    classpath: Sequence[Path]
    heap: str
    timezone: str = "UTC"
    jvm_args: Sequence[str] = FOR_TESTS

    def command(self, scratch: Path) -> list[str]:
        """How it is started, with a folder for its temporary files."""
        return [
            java(),
            f"-Xmx{self.heap}",
            *_LOGS,
            f"-Duser.timezone={self.timezone}",
            "-Dfile.encoding=UTF-8",
            f"-Djava.io.tmpdir={scratch}",
            *self.jvm_args,
            "-cp",
            os.pathsep.join(str(jar) for jar in self.classpath),
            self.main,
        ]


class JavaProcess:
    """A Java process that answers lines of JSON. It is killed when this object goes away."""

    def __init__(self, program: JavaProgram) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="lithify-oracle-"))
        self._log = scratch / "stderr.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                program.command(scratch), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
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


def java() -> str:
    """The command that starts a JVM."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


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
