"""One server of an object store: started, stopped, killed and started again on the same port."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from infrastructure.cluster.processes import StartFailed, free_ports

_START_SECONDS = 20.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02


class StoreServer(ABC):
    """A server of some kind of store.

    Args:
        folder: where its logs are, and what it stores if it keeps that; created if need be.
        address: of this machine, to listen on.
        port: to listen on; a free one if 0. It stays the same over restarts.
        prefix: what to start it with, such as a command that enters a network namespace.
    """

    kind: ClassVar[str]
    secret: ClassVar[str]
    """What must never be shown."""
    health: ClassVar[str] = "/"
    """A path that is answered when it is ready."""

    def __init__(
        self, folder: Path, address: str = "127.0.0.1", port: int = 0, prefix: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self.address = address
        self.port = port or free_ports(1)[0]
        self._prefix = prefix
        self._process: subprocess.Popen[bytes] | None = None
        self.folder.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def command(self) -> Sequence[str]:
        """How it is started."""

    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """With which variables."""

    @abstractmethod
    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""

    @abstractmethod
    def create_bucket(self, name: str) -> str:
        """Makes an empty bucket and returns its URL."""

    @property
    def endpoint(self) -> str:
        """The URL to reach it by."""
        return f"http://{self.address}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()  # in order, it waits for every client to hang up

    def start(self) -> None:
        """Starts it and waits until it answers.

        Raises:
            StartFailed: it ended instead, or did not answer in time.
        """
        log = self.folder / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._prefix, *self.command()],
                env={**os.environ, **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  # it only asks the kernel for a signal
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                last = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
                raise StartFailed(f"the {self.kind} server at {self.endpoint} did not get ready:\n{last}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Ends it in order; it is fine if it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it in the middle of whatever it does."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Makes it accept connections and never answer, until `resume`."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it answer again."""
        self._running().send_signal(signal.SIGCONT)

    def wait(self) -> None:
        """Waits until it ends, or until the user interrupts."""
        with suppress(KeyboardInterrupt):
            self._running().wait()

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"the {self.kind} server does not run"
        return self._process

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=1)
        try:
            connection.request("GET", self.health)
            return connection.getresponse().status < 500
        except OSError:
            return False
        finally:
            connection.close()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
