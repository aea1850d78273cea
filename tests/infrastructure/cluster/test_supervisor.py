"""A control plane is shared by whoever holds it, and is gone after the last of them, however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infrastructure.cluster import supervisor
from infrastructure.cluster.control_plane import ControlPlane

TESTS = Path(__file__).resolve().parents[2]
HOLD = """
import sys
from pathlib import Path
from infrastructure.cluster.supervisor import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
pytestmark = pytest.mark.cluster


@contextmanager
def holder(state: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the control plane of a folder until its input ends."""
    command = [sys.executable, "-c", HOLD, str(state)]
    with subprocess.Popen(
        command, cwd=TESTS, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def programs(state: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((state / "pids.json").read_text())
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rsplit(")", 1)[1].split()[0] != "Z"


def test_it_is_shared_and_goes_with_the_last_one(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        pids = programs(tmp_path)
        assert len(pids) == 5
        with holder(tmp_path) as second:
            assert programs(tmp_path) == pids
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            # A supervisor looks ten times a second; give it more than one chance to be wrong.
            with pytest.raises(AssertionError):
                wait_until(lambda: not supervisor.is_running(tmp_path), seconds=0.5)
            os.kill(second.pid, signal.SIGKILL)
            wait_until(lambda: not any(is_alive(pid) for pid in pids.values()))
    assert not (tmp_path / "etcd").exists()


def test_programs_do_not_outlive_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    with supervisor.held(tmp_path):
        pids = programs(tmp_path)
        os.kill(pids["supervisor"], signal.SIGKILL)
        wait_until(lambda: not any(is_alive(pid) for pid in pids.values()))
    with supervisor.held(tmp_path):
        assert programs(tmp_path).keys() == pids.keys()
        assert programs(tmp_path) != pids


def test_what_was_started_by_hand_is_stopped_by_hand(tmp_path: Path) -> None:
    supervisor.start(tmp_path)
    with supervisor.held(tmp_path):
        pass
    assert supervisor.is_running(tmp_path)
    assert supervisor.stop(tmp_path)
    assert not supervisor.is_running(tmp_path)
    assert not supervisor.stop(tmp_path)


def test_a_program_that_cannot_start_is_quoted(tmp_path: Path) -> None:
    bad = tmp_path / "crd.yaml"
    bad.write_text("kind: Nonsense")
    with pytest.raises(supervisor.NotStarted, match="apiVersion not set"):
        supervisor.start(tmp_path / "state", bad)
    assert not supervisor.is_running(tmp_path / "state")


def test_nothing_runs_where_starting_failed(tmp_path: Path) -> None:
    plane = ControlPlane(Path("/nowhere"), tmp_path)
    with pytest.raises(FileNotFoundError):
        plane.start()
    assert plane.pids == {}
