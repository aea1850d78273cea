"""The processor time of real processes: of children, of those that have ended, and of executors."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from lithify.engine.run.processor_time import (
    DriverProcess,
    ProcessorTime,
    executor_time,
    tree_seconds,
)
from lithify.formats.protocol.results import ExecutorTime

BUSY = "import time\nwhile time.process_time() < 0.4: pass\n"
SEEN = 0.3
"""Less than that: /proc counts whole ticks of 10 ms, for each process and for user and system time apart."""
BELOW = (
    f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])\nprint(flush=True)\ninput()"
)


def test_a_tree_counts_children_and_those_that_have_ended() -> None:
    before = tree_seconds(os.getpid())
    arguments = [sys.executable, "-c", BELOW]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()  # its own child has ended
        assert tree_seconds(child.pid) >= SEEN
        assert tree_seconds(os.getpid()) - before >= SEEN
        child.communicate(b"\n")
    assert tree_seconds(os.getpid()) - before >= SEEN


def test_time_is_charged_once_and_in_fractions_of_seconds() -> None:
    spent = ProcessorTime()
    first = spent.charge()
    assert first >= time.process_time() - 1 > -1
    spent.note([ExecutorTime("a", 1.25), None, ExecutorTime("b", 0.5), ExecutorTime("a", 1.0)])
    second = spent.charge()
    assert 1.75 <= round(second, 6) < 1.75 + 5
    assert spent.charge() < 1.75


def test_a_process_below_the_driver_is_no_executor() -> None:
    parent = DriverProcess(DriverProcess.own().host, os.getppid())
    assert executor_time(parent) is None
