"""What a process takes: it is run to its end by another one that is nearly empty.

The kernel counts the memory of the process that starts a program as the program's own until it begins, so
it is `python -m support.process`, with the standard library alone, that starts it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process took from its start to its end.

    Attributes:
        seconds: by the clock.
        cpu_seconds: of processor time, in user mode and in the kernel.
        peak_bytes: the largest resident memory.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int


def measured(command: Sequence[str]) -> Usage:
    """Runs a command whose output does not matter.

    Raises:
        CalledProcessError: it failed.
    """
    starter = [sys.executable, "-S", "-m", "support.process", *command]
    found = subprocess.run(starter, cwd=_TESTS, check=True, stdout=subprocess.PIPE)
    return Usage(**json.loads(found.stdout))


def peak_bytes(pid: int | str = "self") -> int:
    """The largest resident memory that a process had so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def main(command: Sequence[str]) -> int:
    """Runs a command, prints its usage as JSON, and returns its exit code."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    taken = Usage(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)
    print(json.dumps(asdict(taken)))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
