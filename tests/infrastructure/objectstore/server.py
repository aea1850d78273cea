"""One S3 server over a folder: started, stopped, killed and started again on the same port."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from infrastructure.cluster.processes import StartFailed, free_ports
from infrastructure.objectstore.binaries import PROGRAMS

ACCESS_KEY = "test-access-key"
SECRET_KEY = "test-secret-key"  # of a server that only tests can reach
REGION = "us-east-1"

_START_SECONDS = 20.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02


class S3Server:
    """A server whose buckets are the folders in `folder / "buckets"`.

    Args:
        folder: where its buckets, its logs and the list of its requests are; created if need be.
        address: of this machine, to listen on.
        port: to listen on; a free one if 0. It stays the same over restarts.
        program: its binary; the one that was built for this machine if None.
        prefix: what to start it with, such as a command that enters a network namespace.
    """

    def __init__(
        self,
        folder: Path,
        address: str = "127.0.0.1",
        port: int = 0,
        program: Path | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.address = address
        self.port = port or free_ports(1)[0]
        self._program = program or PROGRAMS.built() / "s3-server"
        self._prefix = prefix
        self._process: subprocess.Popen[bytes] | None = None
        self.buckets.mkdir(parents=True, exist_ok=True)

    @property
    def buckets(self) -> Path:
        """The folder whose folders are the buckets."""
        return self.folder / "buckets"

    @property
    def endpoint(self) -> str:
        """The URL to reach it by."""
        return f"http://{self.address}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""
        return {
            "s3.endpoint": endpoint or self.endpoint,
            "s3.access-key": ACCESS_KEY,
            "s3.secret-key": SECRET_KEY,
            "s3.region": REGION,
            "s3.path.style.access": "true",
        }

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
        listen = f"{self.address}:{self.port}"
        command = [
            *self._prefix,
            str(self._program),
            "--listen",
            listen,
            "--log",
            str(self.folder / "requests.log"),
            str(self.buckets),
        ]
        environment = {**os.environ, "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                env=environment,
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
                raise StartFailed(f"the S3 server at {listen} did not get ready:\n{last}")
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

    def create_bucket(self, name: str) -> str:
        """Makes an empty bucket and returns its URL."""
        (self.buckets / name).mkdir()
        return f"s3://{name}"

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the S3 server does not run"
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
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
