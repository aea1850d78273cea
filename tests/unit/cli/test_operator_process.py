"""Parts that the commands with an operator share."""

from __future__ import annotations

import logging
from ipaddress import ip_address
from pathlib import Path

import pytest

from lithify.cli import operator_process
from lithify.cli.operator import operator
from lithify.cli.operator_process import observer_pool
from lithify.errors import InvalidOption

MIB = 1 << 20


def contain(monkeypatch: pytest.MonkeyPatch, mebibytes: int) -> None:
    """Has this process be in a container of that size."""
    monkeypatch.setattr(operator_process, "container_bytes", lambda: mebibytes * MIB)
    monkeypatch.setattr(operator_process, "machine_bytes", lambda: 16 << 30)


def test_fewer_looks_than_asked_for_are_told_at_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    contain(monkeypatch, 700)
    with caplog.at_level(logging.WARNING):
        observer_pool(tmp_path, 3)
    (record,) = caplog.records
    assert (vars(record)["looks"], vars(record)["fit"]) == (3, 1)


def test_nothing_is_told_where_all_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    contain(monkeypatch, 2048)
    with caplog.at_level(logging.WARNING):
        observer_pool(tmp_path, 2)
    assert not caplog.records


def test_a_container_that_is_too_small_ends_the_operator_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contain(monkeypatch, 300)
    with pytest.raises(InvalidOption):
        observer_pool(tmp_path, 1)


def test_pages_are_for_this_machine_by_default() -> None:
    (listen,) = (one for one in operator.params if one.name == "listen")
    host, _, _ = str(listen.default).rpartition(":")
    assert ip_address(host).is_loopback
