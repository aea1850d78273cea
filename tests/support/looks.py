"""Looks at one table as an observing worker does, in a process of its own: `python -m support.looks`.

It looks whenever it gets a line on standard input, and answers with a line of JSON: what the look took and
how many files it found. The first look is a full one; the others know what the one before has found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from infrastructure.oracle.client import Table
from lithify.clock import SystemClock
from lithify.controller.observing.answering import Answers
from lithify.controller.observing.wire import WorkerSettings
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest
from lithify.io.access_policy import UNBOUNDED
from support.process import peak_bytes

_TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a look took.

    Attributes:
        seconds: by the clock.
        cpu_seconds: of processor time.
        peak_bytes: the largest resident memory of the process so far.
        files: live files that it found; 0 if nothing had changed.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    files: int


class Observer:
    """A process that looks at one table whenever it is asked to.

    Args:
        table: which table.
        folder: where it keeps what it knows of the table; an empty one at first.
    """

    def __init__(self, table: Table, folder: Path) -> None:
        command = [sys.executable, "-m", "support.looks", str(table.warehouse), str(table.name), str(folder)]
        self._process = subprocess.Popen(
            command, cwd=_TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def look(self) -> Taken:
        """Looks once."""
        _pipe(self._process.stdin).write("look\n")
        _pipe(self._process.stdin).flush()
        return Taken(**json.loads(_pipe(self._process.stdout).readline()))


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def main(warehouse: str, name: str, folder: str) -> None:
    """Answers until its input ends."""
    answers = Answers(WorkerSettings(folder), SystemClock(UTC))
    target = TableAddress(warehouse, name, {}, reach=UNBOUNDED)
    seen: Observation | None = None
    for _ in sys.stdin:
        request = ObservationRequest(
            target,
            cache_key="table",
            known_uuid=seen and seen.table_uuid,
            known_snapshot=seen and seen.snapshot,
        )
        begin, cpu = time.monotonic(), time.process_time()
        reply = answers.reply(request)
        seconds, cpu_seconds = time.monotonic() - begin, time.process_time() - cpu
        if reply.error is not None:
            raise reply.error
        found: Observation | None = reply.value
        seen = found or seen
        taken = Taken(seconds, cpu_seconds, peak_bytes(), found.files if found else 0)
        print(json.dumps(asdict(taken)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
