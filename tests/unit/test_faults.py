"""Processes held at a fault point: a release lets all of them go on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from support.runs import Held

_SECONDS = 20.0


@contextmanager
def at_the_point(held: Held) -> Iterator[subprocess.Popen[bytes]]:
    """A process that comes to the point and ends."""
    code = "from lithify.faults import failpoint; print('here', flush=True); failpoint('planned')"
    environment = {"LITHIFY_FAULTS": f"planned={held.action}"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        try:
            yield process
        finally:
            process.kill()


def until_asleep(process: subprocess.Popen[bytes]) -> None:
    """Returns when the kernel says that the process waits for something."""
    state = Path(f"/proc/{process.pid}/stat")
    deadline = monotonic() + _SECONDS
    while state.read_text().rpartition(")")[2].split()[0] != "S":
        assert monotonic() < deadline, f"process {process.pid} does not wait"


def test_a_process_that_the_test_did_not_wait_for_is_released_too(tmp_path: Path) -> None:
    held = Held(tmp_path)
    with at_the_point(held) as one:
        held.reached()
        with at_the_point(held) as another:
            until_asleep(another)
            assert {one.poll(), another.poll()} == {None}
            held.release()
            assert (one.wait(_SECONDS), another.wait(_SECONDS)) == (0, 0)


def test_several_held_processes_are_released_together(tmp_path: Path) -> None:
    held = Held(tmp_path)
    with at_the_point(held) as one, at_the_point(held) as another:
        held.reached()
        held.reached()
        held.release()
        assert (one.wait(_SECONDS), another.wait(_SECONDS)) == (0, 0)


def test_one_that_comes_after_the_others_passes(tmp_path: Path) -> None:
    held = Held(tmp_path)
    with at_the_point(held) as one:
        held.reached()
        held.release()
        assert one.wait(_SECONDS) == 0
    with at_the_point(held) as late:
        assert late.wait(_SECONDS) == 0


@pytest.mark.parametrize("steps", [1, 3])
def test_one_is_stepped_on_and_held_again(tmp_path: Path, steps: int) -> None:
    held = Held(tmp_path)
    for _ in range(steps):
        with at_the_point(held) as process:
            held.reached()
            held.release(for_good=False)
            assert process.wait(_SECONDS) == 0
    with at_the_point(held) as process:
        held.reached()
        assert process.poll() is None
        held.release()
        assert process.wait(_SECONDS) == 0
