"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler, by default on free ports of 127.0.0.1.

Needs no root and no node: pods are created and scheduled nowhere, which is what most of the operator's tests
want. Used by the supervisor that keeps one for a test session, by benchmarks that want their own, and by the
test node, which says where in its own network the programs listen.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Self

from infrastructure.cluster.credentials import Credentials
from infrastructure.cluster.processes import POLL_SECONDS, Program, StartFailed, free_ports

HOST = "127.0.0.1"
TRIES = 3
SERVER = "kube-apiserver"
REVIVED_SECONDS = 2.0
"""A server that ended sooner after its start would do so again."""
READY_SECONDS = 120.0
"""Generous, for machines that do much else; an idle one needs about five."""
SERVICES = IPv4Network("10.96.0.0/16")
# All that the tests look at; the others would only use processor time.
CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "ttl-after-finished-controller",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a control plane listens, and what is special about it.

    Attributes:
        address: of the API server, for everybody.
        services: the network of the addresses of services.
        ports: of etcd, of etcd's peers and of the API server; None for free ones of this machine.
        controllers: those that run.
        server_options: more options of the API server.
    """

    address: str = HOST
    services: IPv4Network = SERVICES
    ports: tuple[int, int, int] | None = None
    controllers: Sequence[str] = CONTROLLERS
    server_options: Sequence[str] = ("--endpoint-reconciler-type=none",)


class ControlPlane:
    """A control plane whose files are in one folder: credentials, data, logs, `kubeconfig`."""

    def __init__(self, programs: Path, state: Path, place: Place | None = None) -> None:
        self.kubeconfig = state / "kubeconfig"
        self.credentials = Credentials.within(state / "credentials")
        self._place = place or Place()
        self._programs = programs
        self._state = state
        self._running: list[Program] = []

    def start(self, crds: Path | None = None) -> None:
        """Starts everything and waits until it can be used.

        CRDs are there before the garbage collector starts, which would otherwise learn of them half a minute
        later.

        Raises:
            StartFailed: a program does not come up; its log is quoted.
        """
        for attempt in range(1, TRIES + 1):
            try:
                self._start(crds)
            except StartFailed:
                self.stop()
                # Somebody may have taken one of the ports since they were found free.
                if attempt == TRIES or not self._port_was_taken():
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """Ends everything and removes the data; logs stay."""
        while self._running:
            self._running.pop().kill()
        shutil.rmtree(self._state / "etcd", ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pids(self) -> Mapping[str, int]:
        """The process ids by program."""
        return {program.name: program.pid for program in self._running}

    def first_ended(self) -> str | None:
        """The name of a program that should run and does not."""
        return next((program.name for program in self._running if program.has_ended), None)

    def revive_server(self) -> bool:
        """Starts the API server again if it has ended, as every installer's supervisor would.

        False if it ends at once: then that is no remedy.
        """
        position, server = next((i, p) for i, p in enumerate(self._running) if p.name == SERVER)
        if not server.has_ended:
            return True
        if time.monotonic() - server.began < REVIVED_SECONDS:
            return False
        self._running[position] = Program(SERVER, server.command, server.log, append=True)
        return True

    @contextmanager
    def without_etcd(self) -> Iterator[None]:
        """Kills etcd, and starts it again over its data in the end."""
        position, etcd = next((i, p) for i, p in enumerate(self._running) if p.name == "etcd")
        etcd.kill()
        try:
            yield
        finally:
            self._running[position] = Program("etcd", etcd.command, etcd.log, append=True)

    def _start(self, crds: Path | None) -> None:
        (self._state / "logs").mkdir(parents=True, exist_ok=True)
        etcd_port, peer_port, port = self._place.ports or free_ports(3)
        addresses = dict.fromkeys((HOST, self._place.address, str(self._place.services[1])))
        self.credentials.make(tuple(addresses))
        self._start_etcd(etcd_port, peer_port)
        server = self._start_server(etcd_port, port)
        url = f"https://{self._place.address}:{port}"
        self.credentials.write_kubeconfig(self.kubeconfig, url)
        server.wait_until(_Readiness(self.credentials, url).is_ready, READY_SECONDS)
        if crds is not None:
            self._apply(crds)
        self._start_controllers()
        server.wait_until(self._has_service_account, READY_SECONDS)

    def _start_etcd(self, port: int, peer_port: int) -> None:
        self._run(
            "etcd",
            f"--data-dir={self._state / 'etcd'}",
            f"--listen-client-urls=http://{HOST}:{port}",
            f"--advertise-client-urls=http://{HOST}:{port}",
            f"--listen-peer-urls=http://{HOST}:{peer_port}",
            f"--initial-advertise-peer-urls=http://{HOST}:{peer_port}",
            f"--initial-cluster=default=http://{HOST}:{peer_port}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )

    def _start_server(self, etcd_port: int, port: int) -> Program:
        return self._run(
            SERVER,
            f"--etcd-servers=http://{HOST}:{etcd_port}",
            f"--bind-address={self._place.address}",
            f"--advertise-address={self._place.address}",
            f"--secure-port={port}",
            f"--cert-dir={self._state / 'credentials'}",
            f"--tls-cert-file={self.credentials.server_certificate}",
            f"--tls-private-key-file={self.credentials.server_key}",
            f"--client-ca-file={self.credentials.authority}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={self.credentials.service_account_key}",
            f"--service-account-key-file={self.credentials.service_account_key}",
            f"--service-cluster-ip-range={self._place.services}",
            "--authorization-mode=RBAC,Node",
            "--allow-privileged=true",
            "--profiling=false",
            *self._place.server_options,
        )

    def _start_controllers(self) -> None:
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(self._place.controllers)}",
            f"--service-account-private-key-file={self.credentials.service_account_key}",
            f"--root-ca-file={self.credentials.authority}",
            "--leader-elect=false",
            "--secure-port=0",
        )
        self._run(
            "kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"
        )

    def _run(self, name: str, *arguments: str) -> Program:
        command: list[str | Path] = [self._programs / name, *arguments]
        program = Program(name, command, self._state / "logs" / f"{name}.log")
        self._running.append(program)
        return program

    def _apply(self, crds: Path) -> None:
        deadline = time.monotonic() + READY_SECONDS
        for action in (("apply", "--server-side", "-f", str(crds)), _established(crds)):
            # A server that is ready may still be collecting what it has to tell about its resources.
            while (result := self._kubectl(*action)).returncode != 0:
                if "failed to download openapi" not in result.stderr or time.monotonic() > deadline:
                    raise StartFailed(f"kubectl {' '.join(action)}:\n{result.stderr}")
                time.sleep(POLL_SECONDS)

    def _has_service_account(self) -> bool:
        """Whether the controllers work: pods can be created in a namespace."""
        return self._kubectl("-n", "default", "get", "serviceaccount", "default").returncode == 0

    def _kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [
            str(self._programs / "kubectl"),
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self._state / 'kubectl-cache'}",
            *arguments,
        ]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _port_was_taken(self) -> bool:
        logs = (self._state / "logs").glob("*.log")
        return any("address already in use" in log.read_text(errors="replace") for log in logs)


class _Readiness:
    """Asks an API server whether it is ready."""

    def __init__(self, credentials: Credentials, url: str) -> None:
        self._url = f"{url}/readyz"
        self._tls = ssl.create_default_context(cafile=str(credentials.authority))
        self._tls.load_cert_chain(credentials.client_certificate, credentials.client_key)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(self._url, context=self._tls, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False


def _established(crds: Path) -> tuple[str, ...]:
    return ("wait", "--for=condition=Established", "--timeout=60s", "-f", str(crds))
