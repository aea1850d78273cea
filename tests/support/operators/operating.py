"""`lithify operator` as a process of its own: started, killed, started again; and its drivers."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from lithify.controller.launching.folder import DriverFolder
from lithify.resources.names import ObjectKey
from support.operators.server import PATIENCE
from support.runs import LITHIFY

_POLL_SECONDS = 0.05
LOCAL = ("--allow-address", "127.0.0.1", "--own-identity", "*=/")
"""Options by which an operator works on this machine's folders, and asks servers on it."""


@dataclass
class RunningOperator:
    """One operator over one state folder, which its successors may share.

    Attributes:
        kubeconfig: how it reaches the API server.
        namespace: the only one that it watches, and its home.
        state: its folder of looks and drivers.
        log: where it writes what it has to say.
        identity: tells it from others.
        faults: LITHIFY_FAULTS of its drivers.
        options: more options of the command.
        reach: options that say which folders and servers its Catalogs may name.
    """

    kubeconfig: Path
    namespace: str
    state: Path
    log: Path
    identity: str = "first"
    lease_seconds: int = 15
    faults: str = ""
    options: Sequence[str] = ("--launcher", "process")
    reach: Sequence[str] = LOCAL
    _process: subprocess.Popen[bytes] | None = None
    _begun: int = field(default=0)

    def start(self) -> None:
        """Starts it, and does not wait for anything."""
        assert self._process is None
        environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        if self.faults:
            environment["LITHIFY_FAULTS"] = self.faults
        self._begun = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def until_leading(self) -> None:
        """Returns when it leads and has seen all objects."""
        self._until("synced")

    def until_says(self, text: str) -> None:
        """Returns when it has logged a text since its start."""
        self._until(text)

    def kill(self) -> None:
        """Ends it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ends it as an upgrade would; its exit code."""
        return self._end(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Waits for it to end by itself; its exit code."""
        process, self._process = self._process, None
        assert process is not None
        return process.wait(PATIENCE)

    def restart(self) -> None:
        """Has the next one take over what it has left."""
        self.start()
        self.until_leading()

    @property
    def is_running(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def said(self) -> str:
        """What it has logged since it was started."""
        return self.log.read_bytes()[self._begun :].decode(errors="replace")

    def workers(self) -> list[int]:
        """The process ids of those that look at tables."""
        assert self._process is not None
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == self._process.pid and b"observing.worker" in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return found

    def drivers(self) -> list[Driver]:
        """The drivers that live, whoever started them."""
        folders = DriverFolder.all(self.state / "drivers")
        return [Driver(folder) for folder in folders if folder.is_alive()]

    def driver(self, compaction: str) -> Driver:
        """The driver of a Compaction, as soon as there is one."""
        found = Driver(DriverFolder(self.state / "drivers", ObjectKey(self.namespace, compaction)))
        deadline = monotonic() + PATIENCE
        while not found.has_started:
            assert monotonic() < deadline, f"no driver of {compaction}"
            sleep(_POLL_SECONDS / 5)
        return found

    def kill_drivers(self) -> None:
        """Ends all drivers that are left."""
        for driver in self.drivers():
            driver.kill()

    def _command(self) -> list[str]:
        return [
            *(LITHIFY, "operator", "--kubeconfig", str(self.kubeconfig), "--state", str(self.state)),
            *("--namespace", self.namespace, "--home", self.namespace, "--identity", self.identity),
            *("--lease-seconds", str(self.lease_seconds), "--log-format", "text"),
            *("--listen", "127.0.0.1:0", *self.reach, *self.options),
        ]

    def _until(self, word: str) -> None:
        deadline = monotonic() + PATIENCE
        while word not in self.said:
            assert self.is_running, f"the operator has ended:\n{self.said}"
            assert monotonic() < deadline, f"the operator has not said {word}:\n{self.said}"
            sleep(_POLL_SECONDS)

    def _end(self, number: signal.Signals) -> int:
        self.send(number)
        return self.wait()


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver process."""

    folder: DriverFolder

    @property
    def has_started(self) -> bool:
        """Whether its process is there, or was."""
        record = self.folder.record()
        return record is not None and record.pid is not None

    @property
    def is_alive(self) -> bool:
        """Whether it lives."""
        return self.folder.is_alive()

    @property
    def uid(self) -> str:
        """Tells it from others of the same Compaction."""
        record = self.folder.record()
        assert record is not None
        return record.uid

    @property
    def pid(self) -> int:
        """Its process."""
        record = self.folder.record()
        assert record is not None
        assert record.pid is not None
        return record.pid

    def kill(self) -> None:
        """Ends it, and all that it has started, as a crash of the machine would."""
        record = self.folder.record()
        if record is not None:
            self.folder.send(record, signal.SIGKILL)
        self.until_dead()

    def freeze(self) -> None:
        """Has it stand still."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def until_dead(self) -> None:
        """Returns when it has ended."""
        deadline = monotonic() + PATIENCE
        while self.is_alive:
            assert monotonic() < deadline, f"driver {self.folder.key} lives on"
            sleep(_POLL_SECONDS)

    def processes(self, program: str) -> list[int]:
        """The processes of its session whose command line names a program."""
        session, found = self.pid, []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and program.encode() in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return found


@contextmanager
def ended_after(operator: RunningOperator) -> Iterator[RunningOperator]:
    """Leaves no process behind."""
    try:
        yield operator
    finally:
        if operator.is_running:
            operator.kill()
        operator.kill_drivers()
