"""How a container of an executor ends: after the hook of the kubelet, whatever comes first.

Without images: the scripts run in a PID namespace of their own, as in a container, with a stand-in for Java.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

import pytest

from infrastructure.images.build import REPOSITORY

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root makes PID namespaces"
)

SCRIPTS = REPOSITORY / "spark-images" / "spark"
PATIENCE = 20.0
JAVA = """#!/bin/sh
trap 'exit 0' PWR
trap 'exit 143' TERM
trap 'exit 3' USR1
echo started > "$STARTED"
while :; do sleep 0.05; done
"""


@dataclass(frozen=True, slots=True)
class Container:
    """A container whose first process is the entry point."""

    outside: subprocess.Popen[bytes]
    first: int

    def java(self, number: signal.Signals) -> None:
        """Sends Java a signal."""
        (child,) = Path(f"/proc/{self.first}/task/{self.first}/children").read_text().split()
        os.kill(int(child), number)

    def hook(self) -> int:
        """Runs the hook as a kubelet does; its exit code."""
        command = ("nsenter", "--target", str(self.first), "--pid", "--mount", "/bin/sh")
        return subprocess.run([*command, str(SCRIPTS / "decom.sh")], check=False, timeout=PATIENCE).returncode

    def stop(self) -> None:
        """Has it end, as a kubelet does after the hook."""
        os.kill(self.first, signal.SIGTERM)

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        return self.outside.wait(PATIENCE)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    java, started = tmp_path / "bin" / "java", tmp_path / "started"
    java.parent.mkdir()
    java.write_text(JAVA)
    java.chmod(0o755)
    names = ("DRIVER_URL", "EXECUTOR_ID", "EXECUTOR_CORES", "APPLICATION_ID", "EXECUTOR_POD_IP", "HOME")
    more = ("RESOURCE_PROFILE_ID", "EXECUTOR_POD_NAME", "EXECUTOR_MEMORY")
    environment = {**os.environ, **{f"SPARK_{name}": "1" for name in (*names, *more)}}
    environment |= {"JAVA_HOME": str(tmp_path), "STARTED": str(started)}
    command = ["unshare", "--pid", "--fork", "--mount-proc", "/bin/sh", str(SCRIPTS / "entrypoint.sh")]
    outside = subprocess.Popen([*command, "executor"], env=environment)
    try:
        deadline = monotonic() + PATIENCE
        while not started.exists():
            assert monotonic() < deadline
            sleep(0.02)
        first = Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split()[0]
        yield Container(outside, int(first))
    finally:
        if outside.poll() is None:
            for child in Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
        outside.wait(PATIENCE)


def test_the_hook_that_asks_an_executor_to_leave_comes_to_its_end(container: Container) -> None:
    assert container.hook() == 0
    container.stop()
    assert container.wait() == 0


def test_so_does_one_that_comes_as_the_executor_ends_by_itself(container: Container) -> None:
    container.java(signal.SIGUSR1)
    assert container.hook() == 0
    container.stop()
    assert container.wait() == 3


def test_an_executor_that_is_stopped_ends_at_once_with_its_own_code(container: Container) -> None:
    began = monotonic()
    container.stop()
    assert container.wait() == 143
    assert monotonic() - began < 3


def test_an_end_that_nobody_asked_for_is_an_end(container: Container) -> None:
    container.java(signal.SIGUSR1)
    assert container.wait() == 3
