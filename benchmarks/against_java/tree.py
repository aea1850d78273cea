"""What a process and all that it starts take: run to their end by another process that inherits orphans.

A driver's JVM and its Python workers outlive those that started them for a moment. The process that measures
is their subreaper, so that none ends without being counted. With the standard library alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_BENCHMARKS = Path(__file__).resolve().parents[1]
_PR_SET_CHILD_SUBREAPER = 36


def core_seconds(command: Sequence[str], text: str, **environment: str) -> float:
    """Processor time in user mode and in the kernel of a command and all its descendants.

    Args:
        command: what to run.
        text: for its standard input.
        **environment: what it has beside this process's.

    Raises:
        CalledProcessError: it failed.
    """
    starter = [sys.executable, "-S", "-m", "against_java.tree", *command]
    found = subprocess.run(
        starter,
        cwd=_BENCHMARKS,
        env={**os.environ, **environment},
        input=text.encode(),
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return float(json.loads(found.stdout))


def main(command: Sequence[str]) -> int:
    """Runs a command, prints the processor seconds of its tree as JSON, and returns its exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    code = process.wait()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps(usage.ru_utime + usage.ru_stime))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
