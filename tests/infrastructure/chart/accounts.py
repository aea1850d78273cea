"""Being a service account: a kubeconfig with a token of it, and `lithify operator` run with nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import yaml
from prometheus_client.parser import text_string_to_metric_families

from infrastructure.cluster.kubectl import Kubectl
from support.runs import LITHIFY

PATIENCE = 120.0
"""Seconds that anything may take on a machine that does much else."""


def kubeconfig_of(kubectl: Kubectl, namespace: str, account: str, folder: Path) -> Path:
    """A kubeconfig that can do what a service account may."""
    config = yaml.safe_load(kubectl.kubeconfig.read_text(encoding="utf-8"))
    token = kubectl("--namespace", namespace, "create", "token", account, "--duration=1h").strip()
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    path = folder / f"{namespace}-{account}.kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@dataclass(frozen=True, slots=True)
class OperatorProcess:
    """An operator that runs."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        """All it has logged."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Waits until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, f"the operator has ended:\n{self.said}"
            assert time.monotonic() < deadline, f"not in time: {what}\n{self.said}"
            time.sleep(0.1)

    def requests(self) -> dict[tuple[str, str], set[str]]:
        """The codes that the API server answered with, by HTTP method and kind."""
        entries = [json.loads(line) for line in self.said.splitlines() if line.startswith("{")]
        address = next(entry["address"] for entry in entries if "address" in entry)
        with urlopen(f"http://{address}/metrics", timeout=30) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        found: dict[tuple[str, str], set[str]] = {}
        for family in families:
            if family.name == "lithify_api_requests":
                for sample in family.samples:
                    labels = sample.labels
                    found.setdefault((labels["verb"], labels["kind"]), set()).add(labels["code"])
        return found


@contextmanager
def operator_as(kubeconfig: Path, arguments: Sequence[str], folder: Path) -> Iterator[OperatorProcess]:
    """Runs the operator with its container's arguments, but for where it listens and keeps things."""
    moved = ("--listen=", "--state=", "--log-format=")
    kept = [one for one in arguments if not one.startswith(moved)]
    command = [LITHIFY, *kept, "--kubeconfig", str(kubeconfig), "--listen=127.0.0.1:0", "--log-format=json"]
    command.append("--own-identity=*=/")
    log = folder / "operator.log"
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, f"--state={folder / 'state'}"], env=environment, stdout=output, stderr=output
        ) as process,
    ):
        try:
            yield OperatorProcess(process, log)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
