"""One program of a test cluster as a child process that cannot outlive the process that started it."""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

POLL_SECONDS = 0.05


class StartFailed(Exception):
    """A program ended, or did not get ready in time; the end of its log says why."""


class Program:
    """A running program, its output in a log."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        append: bool = False,
    ) -> None:
        self.name = name
        self.command = command
        self.log = log
        self.began = time.monotonic()
        with log.open("ab" if append else "wb") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - the supervisor has one thread
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Ends it at once: what it knows is thrown away with it."""
        self._process.kill()
        self._process.wait()

    def wait_until(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Waits for a condition.

        Raises:
            StartFailed: the program ended first, or the time is over.
        """
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self.has_ended:
                raise StartFailed(f"{self.name} ended before it was ready:\n{self._last_words()}")
            if time.monotonic() > deadline:
                raise StartFailed(f"{self.name} was not ready after {seconds:g} s:\n{self._last_words()}")
            time.sleep(POLL_SECONDS)

    def _last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on; another process may still be faster to take one."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
