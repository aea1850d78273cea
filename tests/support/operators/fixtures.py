"""One operator for all tests of a process that do not ask for their own, and the tables that they copy.

Fixtures of `end_to_end` and `hostile`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from infrastructure.cluster.fixtures import Cluster
from infrastructure.oracle.client import Oracle, Table
from support.operators.server import proxied
from support.operators.stage import Stage, stage_in
from support.tables import make_plain

_NUMBERS = count(1)
_TIMEOUT = 900.0
"""Seconds for one test: generous, for machines that do much else."""


def mark(items: Iterable[pytest.Item], folder: Path) -> None:
    """Marks tests below a folder that use one of these stages: they need everything, and time."""
    for item in items:
        if folder in item.path.parents and {"stage", "alone", "podding", "port"} & set(
            getattr(item, "fixturenames", ())
        ):
            for each in (pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(_TIMEOUT)):
                item.add_marker(each)


@pytest.fixture(scope="session")
def plain(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Four sorted runs of some rows in one bucket, made by Java; its writers leave compaction to others."""
    options = {"write-only": "true"}
    return make_plain(oracle, tmp_path_factory.mktemp("plain"), commits=3, keys=30, **options)


@pytest.fixture(scope="session")
def port(cluster: Cluster) -> Iterator[int]:
    """Where `kubectl proxy` listens."""
    with proxied(cluster) as found:
        yield found


@pytest.fixture(scope="session")
def shared(cluster: Cluster, port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The stage of all tests of this process that do not ask for their own."""
    name = f"end-to-end-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    try:
        with ExitStack() as stack:
            stage = stage_in(stack, cluster, port, name, tmp_path_factory.mktemp("shared"))
            stage.operator.restart()
            yield stage
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def stage(shared: Stage, tmp_path: Path) -> Iterator[Stage]:
    """The shared operator, which nobody may kill; everything that a test applies goes after it."""
    made = replace(shared, folder=tmp_path, suffix=str(next(_NUMBERS)).zfill(3))
    yield made
    assert shared.operator.is_running, shared.operator.said
    made.clear()


@pytest.fixture
def alone(cluster: Cluster, port: int, namespace: str, tmp_path: Path) -> Iterator[Stage]:
    """A namespace with an operator of its own, not started yet."""
    with ExitStack() as stack:
        yield stage_in(stack, cluster, port, namespace, tmp_path)
