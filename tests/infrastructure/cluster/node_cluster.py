"""A whole cluster of one node in namespaces of its own: what the supervisor keeps for the tests.

It runs in the supervisor's process, which enters the namespaces for it. Tests see it as `node.Node`.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from infrastructure.cluster import cgroups, kubelet, network, packages
from infrastructure.cluster.containerd import Images, write_config
from infrastructure.cluster.control_plane import CONTROLLERS, READY_SECONDS, ControlPlane, Place
from infrastructure.cluster.kubectl import Kubectl, KubectlFailed
from infrastructure.cluster.namespaces import Namespaces, run
from infrastructure.cluster.processes import Program
from infrastructure.cluster.slots import HeldSlot, Slot, unheld
from infrastructure.cluster.small_images import write_pause

NODE_CONTROLLERS = (
    *CONTROLLERS,
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "job-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "replicaset-controller",
    "statefulset-controller",
    "taint-eviction-controller",
)
PORTS = (2379, 2380, 6443)
"""Fixed ones, since nobody else listens in the node's network."""
ANSWER = "node.json"
"""Where tests find the node's addresses, in its folder."""


class NodeCluster:
    """A cluster of one node whose files are in one folder, except for containerd's, which are kept."""

    def __init__(self, programs: Path, state: Path) -> None:
        self._programs = programs
        self._packages = packages.unpacked()
        self._environment = packages.environment(self._packages)
        self._state = state.resolve()
        self._held: HeldSlot | None = None
        self._namespaces: Namespaces | None = None
        self._plane: ControlPlane | None = None
        self._running: list[Program] = []

    def start(self, crds: Path | None = None) -> None:
        """Starts everything and waits until pods can run.

        Raises:
            StartFailed: a program does not come up; its log is quoted.
            NoSlot: too many nodes run on this machine.
            OSError: the machine does not allow it; `requirements.node_problem` says why.
        """
        try:
            self._start(crds)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends everything and removes what it has left on this machine; logs stay."""
        while self._running:
            self._running.pop().kill()
        if self._plane is not None:
            self._plane.stop()
            self._plane = None
        if self._namespaces is not None:
            with suppress(OSError):  # There is none if starting has failed before it was made.
                network.disconnect(self._environment)
            self._namespaces.leave()
            self._namespaces = None
        for folder in ("etcd", "kubelet"):
            shutil.rmtree(self._state / folder, ignore_errors=True)
        if self._held is not None:
            cgroups.remove(self._held.slot.name)
            self._held.release()
            self._held = None

    @property
    def pids(self) -> Mapping[str, int]:
        """The process ids by program."""
        plane = {} if self._plane is None else self._plane.pids
        first = {} if self._namespaces is None else {"init": self._namespaces.first.pid}
        return {**first, **plane, **{program.name: program.pid for program in self._running}}

    def first_ended(self) -> str | None:
        """The name of a program that should run and does not; the API server is started again instead."""
        if self._plane is not None and self._plane.revive_server():
            ended = self._plane.first_ended()
        else:
            ended = "kube-apiserver"
        return ended or next((program.name for program in self._running if program.has_ended), None)

    def _start(self, crds: Path | None) -> None:
        (self._state / "logs").mkdir(parents=True, exist_ok=True)
        for left in unheld():
            # Its supervisor may have been killed; the kernel removes everything else by itself.
            cgroups.remove(left.name)
        self._held = HeldSlot()
        slot = self._held.slot
        cgroups.make(slot.name)
        self._enter(slot)
        containerd = self._start_containerd(slot)
        place = Place(
            address=str(slot.address),
            services=slot.services,
            ports=PORTS,
            controllers=NODE_CONTROLLERS,
            server_options=_server_options(self._state / "credentials"),
        )
        self._plane = ControlPlane(self._programs, self._state, place)
        self._plane.start(crds)
        self._prepare_images(containerd)
        self._start_node(slot, self._plane)
        self._write_answer(slot)

    def _enter(self, slot: Slot) -> None:
        self._namespaces = Namespaces()
        log = self._state / "logs" / "init.log"
        self._namespaces.enter(self._programs / "pause", log, self._state / "kernel")
        network.connect(slot, self._namespaces.outside_network(), self._environment)
        network.write_pod_network(slot, self._state / "networks", self._state / "addresses")
        # On the disk, where the files of pods have room.
        for folder in (self._state / "kubelet", Path(kubelet.ROOT)):
            folder.mkdir(exist_ok=True)
        run("mount", "--rbind", str(self._state / "kubelet"), kubelet.ROOT)

    def _start_containerd(self, slot: Slot) -> Program:
        config = self._state / "containerd.toml"
        write_config(config, slot.images, packages.plugins(self._packages), self._state / "networks")
        return self._run("containerd", "containerd", f"--config={config}")

    def _prepare_images(self, containerd: Program) -> None:
        """Has containerd forget what earlier nodes had, and gives it the image that all pods begin with."""
        images = Images((), self._environment)
        containerd.wait_until(images.is_ready, READY_SECONDS)
        if images.forget_containers():
            # Its part for pods has read the list when it started.
            containerd.kill()
            self._running.remove(containerd)
            self._run("containerd", *containerd.command).wait_until(images.is_ready, READY_SECONDS)
        images.forget_replaced()
        pause = self._state / "pause.tar"
        write_pause(pause, self._programs)
        images.import_image(pause)

    def _start_node(self, slot: Slot, plane: ControlPlane) -> None:
        options = kubelet.kubelet(self._state, slot, plane.kubeconfig, plane.credentials)
        agent = self._run("kubelet", self._programs / "kubelet", *options)
        options = kubelet.kube_proxy(slot, plane.kubeconfig)
        self._run("kube-proxy", self._programs / "kube-proxy", *options)
        options = kubelet.dns(self._state, plane.kubeconfig)
        names = self._run("coredns", self._programs / "coredns", *options)
        agent.wait_until(self._is_node_ready, READY_SECONDS)
        names.wait_until(_are_names_known, READY_SECONDS)

    def _is_node_ready(self) -> bool:
        kubectl = Kubectl(
            self._programs / "kubectl", self._state / "kubeconfig", self._state / "kubectl-cache"
        )
        try:
            node = kubectl.get("node", kubelet.NAME)
        except KubectlFailed:
            return False
        ready = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
        return ready.get("Ready") == "True" and not node["spec"].get("taints")

    def _run(self, name: str, *command: str | Path) -> Program:
        log = self._state / "logs" / f"{name}.log"
        program = Program(name, command, log, self._environment)
        self._running.append(program)
        return program

    def _write_answer(self, slot: Slot) -> None:
        answer = {"name": slot.name, "address": str(slot.address), "host_address": str(slot.host_address)}
        (self._state / ANSWER).write_text(json.dumps(answer))


def _server_options(credentials: Path) -> tuple[str, ...]:
    return (
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={credentials / 'client.crt'}",
        f"--kubelet-client-key={credentials / 'client.key'}",
    )


def _are_names_known() -> bool:
    """Whether CoreDNS has heard of the cluster's services."""
    try:
        with socket.create_connection(("127.0.0.1", kubelet.DNS_READY), timeout=1) as connection:
            connection.sendall(b"GET /ready HTTP/1.0\r\n\r\n")
            return b" 200 " in connection.recv(64)
    except OSError:
        return False
