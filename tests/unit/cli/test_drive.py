"""`lithify drive` in this process: where its order comes from, and where progress and outcome go."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.cli.drive import driver_environment
from lithify.contract.order import Instructions, read_instructions, write_instructions
from lithify.contract.outcome import Outcome, read_outcome, read_progress
from lithify.controller.launching.ordering import instructions_of
from lithify.engine.application.environment import DriverEnvironment
from lithify.engine.application.exchange import FolderExchange, NoExchange, PodExchange
from lithify.engine.application.pod import PodAddress
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.resources.catalog import CatalogSpec, SecretReference
from lithify.resources.compaction import Reason
from support.launching.orders import order
from unit.cli.conftest import Lithify

PASSWORD = "correct-horse-battery-staple"
SECRET = SecretReference(name="keys", options={"s3.secret-key": "key"})
IN_POD = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "KUBERNETES_SERVICE_PORT": "6443",
    "LITHIFY_POD_NAMESPACE": "shop",
    "LITHIFY_POD_NAME": "the-driver",
    "LITHIFY_POD_IP": "fd00::7",
}
POD = PodAddress("10.0.0.1", 6443, "shop", "the-driver")


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """The command takes the process's signal."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def told(warehouse: str, **changes: Any) -> Instructions:
    return instructions_of(order(warehouse, **changes), master="local[1]", conf={}, credentials={})


class TestEnvironment:
    def test_a_driver_process_exchanges_files_in_a_folder(self) -> None:
        variables = {"LITHIFY_OUTCOME": "/o", "LITHIFY_PROGRESS": "/p", "LITHIFY_MEMBERS": "/m"}
        found = driver_environment(variables)
        assert found == DriverEnvironment(Path("/o"), progress=Path("/p"), members=Path("/m"))
        assert found.exchange == FolderExchange(Path("/m"))

    def test_a_driver_pod_writes_its_termination_message(self) -> None:
        found = driver_environment({**IN_POD, "LITHIFY_SECRETS": "/secrets"})
        log = Path("/dev/termination-log")
        assert found == DriverEnvironment(log, Path("/secrets"), pod=POD, pod_ip="fd00::7")
        assert found.exchange == PodExchange(POD)

    @pytest.mark.parametrize(
        "missing", ["KUBERNETES_SERVICE_HOST", "LITHIFY_POD_NAMESPACE", "LITHIFY_POD_NAME"]
    )
    def test_of_a_process_in_a_pod_of_somebody_else(self, missing: str) -> None:
        variables = {name: value for name, value in IN_POD.items() if name != missing}
        found = driver_environment(variables)
        assert found.pod is None
        assert isinstance(found.exchange, NoExchange)


class TestCommand:
    def test_order_from_the_environment(
        self, lithify: Lithify, orders: TableAddress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        instructions = told(orders.warehouse, strategy=Strategy.MINOR)
        monkeypatch.setenv("LITHIFY_ORDER", write_instructions(instructions))
        monkeypatch.setenv("LITHIFY_OUTCOME", str(tmp_path / "outcome"))
        monkeypatch.setenv("LITHIFY_PROGRESS", str(tmp_path / "progress"))
        ended = lithify("drive")
        outcome = read_outcome((tmp_path / "outcome").read_text())
        assert outcome is not None
        assert (outcome.reason, outcome.run, ended.code) == (Reason.NOTHING_TO_DO, instructions.run, 0)
        assert read_progress((tmp_path / "progress").read_text()) is not None
        assert "LITHIFY_ORDER" not in os.environ
        lines = [json.loads(line) for line in ended.err.splitlines()]
        assert {line["run"] for line in lines} == {instructions.run}

    def test_credentials_from_a_folder(
        self, lithify: Lithify, orders: TableAddress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        catalog = CatalogSpec(warehouse=orders.warehouse, secret_ref=SECRET)
        instructions = instructions_of(
            order(catalog=catalog, strategy=Strategy.MINOR), master="local[1]", conf={}
        )
        monkeypatch.setenv("LITHIFY_SECRETS", str(tmp_path))
        monkeypatch.setenv("LITHIFY_OUTCOME", str(tmp_path / "outcome"))

        def ended() -> tuple[int, Outcome | None]:
            monkeypatch.setattr(sys, "stdin", io.StringIO(write_instructions(instructions)))
            return lithify("drive").code, read_outcome((tmp_path / "outcome").read_text())

        code, missing = ended()
        assert missing is not None
        assert (code, missing.reason) == (2, Reason.INVALID_SPEC)
        assert "key in Secret keys" in missing.message
        (tmp_path / "key").write_text(PASSWORD)
        code, found = ended()
        assert found is not None
        assert (code, found.reason) == (0, Reason.NOTHING_TO_DO)

    @pytest.mark.parametrize("text", ["", '{"run": "r"'])
    def test_without_an_order_nothing_is_done(
        self, lithify: Lithify, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        monkeypatch.setenv("LITHIFY_OUTCOME", str(tmp_path / "outcome"))
        assert lithify("drive").code == 2
        assert list(tmp_path.iterdir()) == []

    def test_instructions_are_read_as_they_were_written(self, orders: TableAddress) -> None:
        instructions = told(orders.warehouse)
        assert read_instructions(write_instructions(instructions)) == instructions
