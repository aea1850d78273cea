"""Keeps one cluster for all who hold it, in however many processes, and ends it after the last one.

A cluster is a control plane alone, or one with a node. Who uses it holds a shared lock on a file, which the
kernel lets go when a process ends, however it ends. The supervisor waits for the exclusive lock on the same
file: when it gets it, nobody is left. So nothing is counted, nothing has to be cleaned up, and nothing leaks
when a session is killed.

    user.lock        users: shared; the supervisor: exclusive, from when it finds nobody left
    start.lock       exclusive, by the user that is about to start a supervisor
    supervisor.lock  exclusive, by the supervisor as long as it lives
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Protocol

from infrastructure.cluster import packages
from infrastructure.cluster.binaries import built
from infrastructure.cluster.control_plane import ControlPlane
from infrastructure.cluster.node_cluster import NodeCluster

TESTS = Path(__file__).resolve().parents[2]
CHECK_SECONDS = 0.1
PIDS = "pids.json"


class NotStarted(Exception):
    """The cluster could not be started; the message quotes why."""


class Supervised(Protocol):
    """What a supervisor starts, looks at and stops."""

    def start(self, crds: Path | None) -> None:
        """Starts everything and waits until it can be used."""

    def stop(self) -> None:
        """Ends everything."""

    def first_ended(self) -> str | None:
        """The name of a program that should run and does not."""

    @property
    def pids(self) -> Mapping[str, int]:
        """The process ids by program."""


@contextmanager
def held(state: Path, crds: Path | None = None, *, node: bool = False) -> Iterator[Path]:
    """Holds the cluster of a folder, started if nobody else has; gives its kubeconfig.

    Raises:
        NotBuilt: its programs are missing.
        NotStarted: it did not come up.
    """
    _need_programs(node=node)
    state.mkdir(parents=True, exist_ok=True)
    with _opened(state / "start.lock") as starting, _opened(state / "user.lock") as using:
        fcntl.lockf(starting, fcntl.LOCK_EX)
        _lock_shared(using)
        if not is_running(state):
            _spawn(state, crds, "--while-held", *_kind(node=node))
        fcntl.lockf(starting, fcntl.LOCK_UN)
        yield state / "kubeconfig"


def start(state: Path, crds: Path | None = None, *, node: bool = False) -> Path:
    """Starts a cluster that runs until `stop`, with a node or without; gives its kubeconfig.

    Raises:
        NotBuilt: its programs are missing.
        NotStarted: it did not come up.
    """
    _need_programs(node=node)
    state.mkdir(parents=True, exist_ok=True)
    with _opened(state / "start.lock") as starting:
        fcntl.lockf(starting, fcntl.LOCK_EX)
        if not is_running(state):
            _spawn(state, crds, *_kind(node=node))
    return state / "kubeconfig"


def stop(state: Path) -> bool:
    """Ends the cluster of a folder and waits for its end; False if there is none."""
    if not is_running(state):
        return False
    os.kill(pids(state)["supervisor"], signal.SIGTERM)
    with _opened(state / "supervisor.lock") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
    return True


def is_running(state: Path) -> bool:
    """Whether a supervisor lives in a folder."""
    if not (state / "supervisor.lock").exists():
        return False
    with _opened(state / "supervisor.lock") as lock:
        return not _try_exclusive(lock)


def pids(state: Path) -> Mapping[str, int]:
    """The process ids by program of the cluster of a folder."""
    found: dict[str, int] = json.loads((state / PIDS).read_text())
    return found


def _need_programs(*, node: bool) -> None:
    built()
    if node:
        packages.unpacked()


def _kind(*, node: bool) -> tuple[str, ...]:
    return ("--node",) if node else ()


def _spawn(state: Path, crds: Path | None, *options: str) -> None:
    command = [sys.executable, "-m", "infrastructure.cluster", "supervise", str(state), *options]
    if crds is not None:
        command += ["--crds", str(crds)]
    result = subprocess.run(command, cwd=TESTS, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode != 0:
        raise NotStarted(f"the test cluster did not start, see {state}:\n{result.stderr.decode()}")


def supervise(state: Path, crds: Path | None, *, while_held: bool, node: bool = False) -> None:
    """Starts a cluster in a process of its own, and returns when it can be used.

    Raises:
        NotStarted: it did not come up; its log is quoted.
    """
    ready, telling = os.pipe()
    if os.fork() == 0:
        os.close(ready)
        _leave_parent(state / "supervisor.log")
        cluster = NodeCluster(built(), state) if node else ControlPlane(built(), state)
        _supervise(cluster, state, crds, telling, while_held=while_held)
        os._exit(0)
    os.close(telling)
    with os.fdopen(ready, encoding="utf-8") as pipe:
        answer = pipe.read()
    if answer != "ready":
        raise NotStarted(answer or (state / "supervisor.log").read_text())


def _leave_parent(log: Path) -> None:
    """Survives the end of the session's terminal, and keeps no pipe of the parent open."""
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)


def _supervise(
    cluster: Supervised, state: Path, crds: Path | None, telling: int, *, while_held: bool
) -> None:
    signal.signal(signal.SIGTERM, _end)
    # The order matters: who waits for the users' lock must find the supervisor's free after it.
    with _opened(state / "user.lock") as users, _opened(state / "supervisor.lock") as alive:
        fcntl.lockf(alive, fcntl.LOCK_EX)
        try:
            cluster.start(crds)
            _write_pids(cluster, state)
            os.write(telling, b"ready")
            os.close(telling)
            while not (while_held and _try_exclusive(users)):
                time.sleep(CHECK_SECONDS)
                if (ended := cluster.first_ended()) is not None:
                    print(f"{ended} has ended; see its log", flush=True)
                    break
                _write_pids(cluster, state)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the starter must hear of it
            os.write(telling, str(problem).encode())
        finally:
            cluster.stop()


def _write_pids(cluster: Supervised, state: Path) -> None:
    """Writes the numbers if they have changed, whole at any moment."""
    content = json.dumps({"supervisor": os.getpid(), **cluster.pids})
    file = state / PIDS
    if not file.exists() or file.read_text() != content:
        (state / f".{PIDS}").write_text(content)
        (state / f".{PIDS}").replace(file)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    # lockf's locks belong to a process, so a forked child does not hold them; but they go when the process
    # closes *any* descriptor of the file: each lock file is open once in a process.
    with path.open("a+") as file:
        yield file


def _try_exclusive(file: IO[str]) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _lock_shared(file: IO[str]) -> None:
    fcntl.lockf(file, fcntl.LOCK_SH)
