"""One HDFS cluster: two data nodes and one or two name nodes in a JVM of their own."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from infrastructure.cluster.processes import StartFailed, free_ports
from infrastructure.hdfs.kerberos import CLIENT, Realm
from infrastructure.hdfs.programs import CLUSTER
from infrastructure.jvm.process import FOR_TESTS, JavaProgram
from infrastructure.oracle.process import spark_jar
from lithify.io.hdfs.kerberos import AUTHENTICATION, KEYTAB, PRINCIPAL

SERVICE = "tests"
"""What Java's clients and ours call two name nodes."""

SIMPLE = "simple"


class HdfsCluster:
    """A cluster; a context manager.

    Args:
        folder: where its files and its log are; created if need be.
        name_nodes: one or two.
        protection: what Hadoop calls how connections are protected that Kerberos opens, `SIMPLE` without it.
    """

    def __init__(self, folder: Path, name_nodes: int = 1, protection: str = SIMPLE) -> None:
        self.folder = folder
        self._protection = protection
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ports = free_ports(name_nodes)
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """What paths begin with."""
        return f"hdfs://{SERVICE}" if len(self.ports) > 1 else f"hdfs://127.0.0.1:{self.ports[0]}"

    @property
    def realm(self) -> Realm:
        """Who may log in."""
        return Realm(self.folder / "kerberos")

    def options(self) -> dict[str, str]:
        """Catalog options that reach it, by the names that Java's Paimon reads, too."""
        if self._protection != SIMPLE:
            return login(CLIENT, self.realm.keytab(CLIENT))
        return {} if len(self.ports) == 1 else name_service(SERVICE, *self.ports)

    def __enter__(self) -> Self:
        jars = [*CLUSTER.jars(), spark_jar("hadoop-client-api-*").parent / "*"]
        java = JavaProgram("dev.lithify.hdfs.Cluster", jars, heap="384m", jvm_args=FOR_TESTS)
        command = [*java.command(self.folder), str(self.folder), self._protection, *map(str, self.ports)]
        log = self.folder / "hdfs.log"
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        if _pipe(self._process.stdout).readline().strip() != "ready":
            self._end()
            raise StartFailed(f"HDFS did not get ready:\n{log.read_text(errors='replace')[-4000:]}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def fail_over(self) -> None:
        """Makes the other name node the active one."""
        self._tell("fail-over")

    def enter_safe_mode(self) -> None:
        """Has the name node refuse every change."""
        self._tell("safe-mode")

    def leave_safe_mode(self) -> None:
        """Has it accept changes again."""
        self._tell("leave-safe-mode")

    def pause(self) -> None:
        """Makes it accept connections and never answer, until `resume`."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it answer again."""
        self._running().send_signal(signal.SIGCONT)

    def _tell(self, command: str) -> None:
        process = self._running()
        _pipe(process.stdin).write(f"{command}{os.linesep}")
        _pipe(process.stdin).flush()
        assert _pipe(process.stdout).readline().strip() == "done"

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "HDFS does not run"
        return self._process

    def _end(self) -> None:
        process, self._process = self._running(), None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            _pipe(pipe).close()


def name_service(name: str, *ports: int) -> dict[str, str]:
    """Catalog options that name it, with name nodes on ports of this machine."""
    names = [f"nn{number}" for number in range(len(ports))]
    provider = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
    return {
        "hadoop.dfs.nameservices": name,
        f"hadoop.dfs.ha.namenodes.{name}": ",".join(names),
        f"hadoop.dfs.client.failover.proxy.provider.{name}": provider,
        **{
            f"hadoop.dfs.namenode.rpc-address.{name}.{each}": f"127.0.0.1:{port}"
            for each, port in zip(names, ports, strict=True)
        },
    }


def login(principal: str, keytab: Path) -> dict[str, str]:
    """Catalog options of a principal that logs in with Kerberos."""
    return {AUTHENTICATION: "kerberos", PRINCIPAL: principal, KEYTAB: str(keytab)}


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
