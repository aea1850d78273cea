"""The processor time that a driver and its executors have taken, JVMs included.

Used by `spark` and `attempt.execution`. A process reads only the /proc of its own machine: tasks report the
time of their executor, and the driver adds its own. Time of executors after their last task is not seen.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lithify.formats.protocol.results import ExecutorTime

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_JVM = "java"


@dataclass(frozen=True, slots=True)
class _Process:
    """A process: its parent, when it started (ticks since boot), and its and ended children's seconds."""

    pid: int
    name: str
    parent: int
    started: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DriverProcess:
    """Identifies the driver's process, so that tasks can tell whether they run below it."""

    host: str
    pid: int

    @classmethod
    def own(cls) -> DriverProcess:
        """This process."""
        return cls(socket.gethostname(), os.getpid())


@dataclass(slots=True)
class ProcessorTime:
    """Adds up the processor time of a driver and its executors, and charges it to runs."""

    _executors: dict[str, float] = field(default_factory=dict)
    _charged: float = 0.0

    def note(self, executors: Iterable[ExecutorTime | None]) -> None:
        """Receives what tasks report of their executors, in any order; None if that is the driver's time."""
        for one in executors:
            if one is not None:
                self._executors[one.executor] = max(one.seconds, self._executors.get(one.executor, 0.0))

    def charge(self) -> float:
        """Seconds since the last charge, or since the start of the driver and its executors."""
        spent = tree_seconds(os.getpid()) + sum(self._executors.values())
        new, self._charged = max(0.0, spent - self._charged), max(spent, self._charged)
        return new


def tree_seconds(root: int) -> float:
    """Processor seconds of a process and all below it, those included that have ended; 0 without /proc."""
    known = {found.pid: found for found in _processes()}
    children: dict[int, list[int]] = {}
    for found in known.values():
        children.setdefault(found.parent, []).append(found.pid)
    seconds, left = 0.0, [root]
    while left:
        pid = left.pop()
        seconds += known[pid].seconds if pid in known else 0.0
        left += children.get(pid, ())
    return seconds


def executor_time(driver: DriverProcess) -> ExecutorTime | None:
    """The time of the executor that this process works for so far; None if it is part of the driver."""
    host, above = socket.gethostname(), list(_ancestors(os.getpid()))
    if host == driver.host and driver.pid in [found.pid for found in above]:
        return None
    jvm = next((found for found in above if found.name == _JVM), None)
    if jvm is None:
        return None
    return ExecutorTime(f"{host}:{jvm.pid}:{jvm.started}", tree_seconds(jvm.pid))


def _ancestors(pid: int) -> Iterator[_Process]:
    found = _process(pid)
    while found is not None and found.parent:
        found = _process(found.parent)
        if found is not None:
            yield found


def _processes() -> Iterator[_Process]:
    with suppress(OSError):
        for entry in _PROC.iterdir():
            if entry.name.isdigit() and (found := _process(int(entry.name))) is not None:
                yield found


def _process(pid: int) -> _Process | None:
    """A process by /proc/PID/stat; None if it has ended. See proc(5)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    before, _, after = text.rpartition(")")
    fields = after.split()
    ticks = sum(map(int, fields[11:15]))  # utime, stime, and those of children that were waited for
    return _Process(pid, before.partition("(")[2], int(fields[1]), int(fields[19]), ticks / _TICKS)
