"""The operator as a process of its own, and what it takes: memory, processor time, requests."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

from infrastructure.cluster.processes import free_ports

_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_SECONDS = 0.2
_END_SECONDS = 30.0


class OperatorEnded(Exception):
    """The operator ended, or did not do what was waited for; the end of its log says why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What processes have taken so far.

    Attributes:
        cpu: processor seconds.
        resident: bytes of memory.
    """

    cpu: float
    resident: int


class Metrics:
    """One answer of /metrics."""

    def __init__(self, text: str) -> None:
        self._samples = [
            sample for family in text_string_to_metric_families(text) for sample in family.samples
        ]

    def total(self, name: str, **labels: str) -> float:
        """The sum of all samples of a name that have these labels."""
        return sum(
            sample.value
            for sample in self._samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


class OperatorProcess:
    """`lithify operator` with drivers as processes, in one namespace or in all.

    Args:
        kubeconfig: how to reach the API server.
        state: a folder for what it keeps; also its log.
        namespace: the namespace of its Leases.
        only: work in this namespace only.
    """

    def __init__(self, kubeconfig: Path, state: Path, namespace: str, *, only: bool = False) -> None:
        self._log = state / "operator.log"
        state.mkdir(parents=True, exist_ok=True)
        self._address = f"127.0.0.1:{free_ports(1)[0]}"
        self._command = [
            *(sys.executable, "-m", "lithify", "operator", "--launcher", "process"),
            *("--kubeconfig", str(kubeconfig), "--state", str(state), "--listen", self._address),
            *("--home", namespace, "--own-identity", "*=/", "--allow-address", "127.0.0.1"),
            *(("--namespace", namespace) if only else ()),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self.started = 0.0

    def __enter__(self) -> Self:
        self.started = time.monotonic()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.started

    def metrics(self) -> Metrics | None:
        """What it says of itself, None while it does not answer yet."""
        try:
            with urllib.request.urlopen(f"http://{self._address}/metrics", timeout=30) as answer:
                return Metrics(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return None

    async def until(
        self, name: str, is_reached: Callable[[float], bool], timeout: float, **labels: str
    ) -> float:
        """Waits for the total of a metric; returns the seconds that the process has run then.

        Raises:
            OperatorEnded: it ended, or the time is over.
        """
        deadline = time.monotonic() + timeout
        while True:
            self._check(deadline, name)
            found = await asyncio.to_thread(self.metrics)
            if found is not None and is_reached(found.total(name, **labels)):
                return self.seconds
            await asyncio.sleep(_POLL_SECONDS)

    def own(self) -> Usage:
        """What the operator itself has taken."""
        return _usage(self._pid)

    def workers(self) -> Usage:
        """What its worker processes that live have taken."""
        found = [_usage(pid) for pid in _children(self._pid)]
        return Usage(sum(one.cpu for one in found), sum(one.resident for one in found))

    @property
    def _pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _check(self, deadline: float, what: str) -> None:
        assert self._process is not None
        if self._process.poll() is not None:
            raise OperatorEnded(f"with code {self._process.returncode}:\n{self._last_words()}")
        if time.monotonic() > deadline:
            raise OperatorEnded(f"still waiting for {what}:\n{self._last_words()}")

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])


def _usage(pid: int) -> Usage:
    """What a process has taken; nothing if it is gone."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return Usage((int(fields[11]) + int(fields[12])) / _TICKS, pages * os.sysconf("SC_PAGE_SIZE"))
    return Usage(0.0, 0)


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                if int(stat.rpartition(")")[2].split()[1]) == parent:
                    found.append(int(entry.name))
    return found
