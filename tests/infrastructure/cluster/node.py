"""The test node as tests see it: a whole cluster in which pods run, with nothing in it that is ours.

Several processes may use one. What runs is in `node_cluster`; this only holds it and talks to it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from infrastructure.cluster import packages, supervisor
from infrastructure.cluster.binaries import built
from infrastructure.cluster.containerd import Images
from infrastructure.cluster.control_plane import SERVER
from infrastructure.cluster.kubectl import Kubectl, KubectlFailed
from infrastructure.cluster.node_cluster import ANSWER
from infrastructure.cluster.processes import POLL_SECONDS

RESTART_SECONDS = 120.0


class Node:
    """A cluster of one node whose files are in one folder.

    Attributes:
        kubeconfig: for this machine, and for whoever runs inside and may read it.
        kubectl: for the whole cluster; `kubectl.within(namespace)` for a part.
    """

    def __init__(self, state: Path) -> None:
        self.kubeconfig = state / "kubeconfig"
        self.kubectl = Kubectl(built() / "kubectl", self.kubeconfig, state / "kubectl-cache")
        self._state = state
        self._held = ExitStack()

    def start(self) -> None:
        """Starts it unless somebody else has, and holds it: it goes with its last holder.

        Raises:
            NotBuilt: its programs are missing.
            NotStarted: it did not come up.
        """
        self._held.enter_context(supervisor.held(self._state, node=True))

    def stop(self) -> None:
        """Lets go of it, and waits for its end unless somebody else holds it."""
        self._held.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def name(self) -> str:
        """What the node's network device and control group are called on this machine."""
        return self._told("name")

    @property
    def address(self) -> str:
        """The node's address, where the API server (port 6443) and the cluster's DNS listen."""
        return self._told("address")

    @property
    def host_address(self) -> str:
        """This machine's address for pods: a server of a test that listens on it can be reached by them."""
        return self._told("host_address")

    def import_image(self, archive: Path) -> bool:
        """Gives the node an image from an OCI archive; False if it has the same one already.

        Raises:
            ImportFailed: containerd refuses it.
        """
        prefix = ("nsenter", f"--mount=/proc/{self._first}/ns/mnt", "--")
        return Images(prefix, packages.environment(packages.unpacked())).import_image(archive)

    def restart_api_server(self) -> None:
        """Kills the API server, and waits until the one that follows it answers.

        Raises:
            TimeoutError: none does.
        """
        before = supervisor.pids(self._state)[SERVER]
        os.kill(before, signal.SIGKILL)
        deadline = time.monotonic() + RESTART_SECONDS
        while supervisor.pids(self._state)[SERVER] == before or not self._answers():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no API server after {RESTART_SECONDS:g} s, see {self._state / 'logs'}")
            time.sleep(POLL_SECONDS)

    def run_inside(self, *command: str | Path) -> str:
        """Runs a program in the node's network until it ends, and returns what it printed.

        Raises:
            CalledProcessError: it failed.
        """
        result = subprocess.run(
            [*self._network(), *map(str, command)], capture_output=True, text=True, check=True
        )
        return result.stdout

    def _network(self) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._first}/ns/net", "--"]

    @property
    def _first(self) -> int:
        return supervisor.pids(self._state)["init"]

    def _told(self, what: str) -> str:
        return str(json.loads((self._state / ANSWER).read_text())[what])

    def _answers(self) -> bool:
        try:
            self.kubectl("get", "--raw=/readyz")
        except KubectlFailed:
            return False
        return True
