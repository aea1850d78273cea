"""An API server that hangs, or has lost etcd, ends no operator and no run; the Lease says who goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.cluster.binaries import built
from infrastructure.cluster.control_plane import SERVER, ControlPlane
from infrastructure.cluster.fixtures import CRDS, Cluster, fresh_namespace
from infrastructure.cluster.kubectl import Kubectl
from infrastructure.oracle.client import Table
from lithify.cli.operator_process import LEASE_LOST
from lithify.resources.compaction import Reason
from support.operators.operating import RunningOperator
from support.operators.server import COMPACTIONS, proxied
from support.operators.stage import Stage, stage_in

LAPSED, RENEWED = "has not been renewed in time", "the lease is renewed"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that no other test uses."""
    found = ControlPlane(built(), tmp_path_factory.mktemp("cluster"))
    found.start(CRDS)
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def alone(plane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    """An operator in that cluster, not started yet, with a short Lease."""
    kubectl = Kubectl(built() / "kubectl", plane.kubeconfig, tmp_path / "kubectl-cache")
    cluster = Cluster(plane.kubeconfig, kubectl)
    with fresh_namespace(kubectl, "outage") as namespace, proxied(cluster) as port, ExitStack() as stack:
        stage = stage_in(stack, cluster, port, namespace, tmp_path)
        stage.operator.lease_seconds = 3
        yield stage


@contextmanager
def frozen(plane: ControlPlane) -> Iterator[None]:
    """The API server keeps its connections, and answers nothing."""
    pid = plane.pids[SERVER]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_operator_outlives_an_api_server_that_hangs_for_longer_than_its_lease(
    plain: Table, plane: ControlPlane, alone: Stage
) -> None:
    alone.operator.restart()
    care = alone.care_for(alone.copied(plain))
    with alone.holds.armed("planned") as hold:
        run = alone.run(care, "first")
        hold.reached()
        with frozen(plane):
            alone.operator.until_says(LAPSED)
            hold.release()
        alone.operator.until_says(RENEWED)
    alone.ended(run)
    alone.stands(run, Reason.COMPACTED)
    assert alone.server.get(COMPACTIONS, run)["status"]["attempts"] == 1
    following = alone.run(care, "second")
    alone.ended(following)
    assert alone.operator.is_running, alone.operator.said
    assert alone.operator.said.count("this operator leads now") == 1


def test_one_of_two_operators_goes_on_after_an_api_server_has_hung(
    plain: Table, plane: ControlPlane, alone: Stage
) -> None:
    first = alone.operator
    second = replace(first, identity="second", log=first.log.with_name("second.log"))
    first.restart()
    second.start()
    try:
        care = alone.care_for(alone.copied(plain))
        with alone.holds.armed("planned") as hold:
            run = alone.run(care, "first")
            hold.reached()
            uid = first.driver(run).uid
            with frozen(plane):
                first.until_says(LAPSED)
            leader = _leader_of(first, second)
            assert [driver.uid for driver in leader.drivers()] == [uid]
            hold.release()
        alone.ended(run)
        assert alone.server.get(COMPACTIONS, run)["status"]["attempts"] == 1
    finally:
        if second.is_running:
            second.kill()


def _leader_of(first: RunningOperator, second: RunningOperator) -> RunningOperator:
    """The one that leads after an outage: the former leader only if the other has not taken over."""
    while RENEWED not in first.said:
        if not first.is_running:
            assert first.wait() == LEASE_LOST
            second.until_leading()
            return second
    assert "leads now" not in second.said
    return first


def test_run_outlives_a_restart_of_etcd(plain: Table, plane: ControlPlane, alone: Stage) -> None:
    alone.operator.restart()
    care = alone.care_for(alone.copied(plain))
    with alone.holds.armed("planned") as hold:
        run = alone.run(care, "first")
        hold.reached()
        with plane.without_etcd():
            alone.operator.until_says(LAPSED)
            hold.release()
        alone.operator.until_says(RENEWED)
    alone.ended(run)
    alone.stands(run, Reason.COMPACTED)
    assert alone.server.get(COMPACTIONS, run)["status"]["attempts"] == 1
    assert alone.operator.is_running, alone.operator.said
