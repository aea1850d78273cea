"""Drivers as pods. There is no node here: the tests report what its kubelet would."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.cluster.fixtures import Cluster
from infrastructure.oracle.client import Table
from lithify.contract.outcome import Stage as DriverStage
from lithify.errors import Failure
from lithify.resources.compaction import Reason, ResultSummary
from lithify.resources.names import FINALIZER_DRIVER
from support.operators.driver_pods import LAUNCHER, Podding, podding_in
from support.operators.kubelet import Kubelet, node
from support.operators.objects import NO_RETRIES, QUIET
from support.operators.operating import ended_after
from support.operators.scene import message, proves
from support.operators.server import COMPACTIONS, PATIENCE, PODS, Object, Refused, Story, condition
from support.operators.stage import Stage, stage_in

DEADLINES = {"schedulingSeconds": 10, "lostSeconds": 10}
ONCE = {"triggers": QUIET, "retries": NO_RETRIES, "deadlines": DEADLINES}
Started = Callable[..., Kubelet]


@pytest.fixture(scope="module")
def podding(cluster: Cluster, port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podding]:
    with ExitStack() as stack:
        yield podding_in(stack, cluster, port, "pods", tmp_path_factory.mktemp("pods"))


@pytest.fixture
def pods(podding: Podding, tmp_path: Path) -> Iterator[Stage]:
    """A stage on which drivers are pods."""
    stage, story = replace(podding.stage, folder=tmp_path, suffix=secrets.token_hex(3)), podding.story
    yield stage
    stage.server.delete(COMPACTIONS)
    for pod in story.all(PODS):
        kubelet = Kubelet(stage, story, pod["metadata"]["name"].removesuffix("-lithify"), podding.node)
        with suppress(Refused):  # gone meanwhile
            kubelet.ends(137)
        kubelet.until_let_go()
    stage.server.delete(PODS, grace=0)
    stage.clear()


@pytest.fixture
def started(podding: Podding, pods: Stage, plain: Table) -> Started:
    """Starts a run, and has a node take its pod."""

    def start(**spec: object) -> Kubelet:
        care = pods.care_for(pods.copied(plain), under=ONCE)
        kubelet = Kubelet(pods, podding.story, pods.run(care, **spec), podding.node)
        kubelet.takes()
        return kubelet

    return start


@proves(Reason.SUBMITTING, Reason.PLANNING, Reason.RUNNING, Reason.COMPACTED)
def test_result_is_read_from_what_the_pod_says_last(pods: Stage, started: Started) -> None:
    kubelet = started()
    found = pods.server.get(PODS, kubelet.pod)
    assert found["metadata"]["finalizers"] == [FINALIZER_DRIVER]
    kubelet.runs(DriverStage.PLANNING)
    pods.stands(kubelet.run, Reason.PLANNING)
    kubelet.runs()
    run = pods.stands(kubelet.run, Reason.RUNNING)
    assert run["status"]["driver"]["name"] == kubelet.pod

    result = ResultSummary(input_files=412, output_files=9, input_bytes=6_500_000_000)
    kubelet.ends_with(Reason.COMPACTED, run["metadata"]["uid"], result=result, committed_snapshot_id="5")

    done = pods.ended(kubelet.run)
    assert (done["status"]["files"], done["status"]["committedSnapshotId"]) == ("412→9", "5")
    kubelet.until_let_go()


def test_two_operators_with_different_leases_start_one_pod_for_a_run(
    podding: Podding, pods: Stage, started: Started
) -> None:
    first = pods.operator
    second = replace(
        first,
        identity="second",
        options=(*LAUNCHER, "--lease", "another"),
        state=pods.folder / "second",
        _process=None,
        log=pods.folder / "second.log",
    )
    with ended_after(second):
        second.restart()
        kubelet = started()
        kubelet.runs()
        run = pods.stands(kubelet.run, Reason.RUNNING)
        kubelet.ends_with(Reason.COMPACTED, run["metadata"]["uid"], committed_snapshot_id="5")
        done = pods.ended(kubelet.run)
        kubelet.until_let_go()
        assert second.is_running
    assert done["status"]["attempts"] == 1
    assert len({pod["metadata"]["uid"] for pod in podding.story.versions(PODS, kubelet.pod)}) == 1


@proves(Reason.IMAGE_ERROR)
def test_an_image_that_cannot_be_had(pods: Stage, started: Started) -> None:
    kubelet = started()
    kubelet.waits("ImagePullBackOff", "no such image")
    kubelet.ends_when_told()
    pods.ended(kubelet.run)
    assert "no such image" in message(pods.stands(kubelet.run, Reason.IMAGE_ERROR))


@proves(Reason.INVALID_SPEC)
def test_a_container_that_cannot_be_configured(pods: Stage, started: Started) -> None:
    kubelet = started()
    kubelet.waits("CreateContainerConfigError", "no such volume")
    kubelet.ends_when_told()
    pods.ended(kubelet.run)
    assert "no such volume" in message(pods.stands(kubelet.run, Reason.INVALID_SPEC))


@proves(Reason.SCHEDULING_TIMED_OUT)
def test_a_pod_that_fits_nowhere_ends_the_run(pods: Stage, plain: Table) -> None:
    nowhere = {"driver": {"podTemplate": {"spec": {"nodeSelector": {"no": "where"}}}}}
    care = pods.care_for(pods.copied(plain), under={**ONCE, "spark": nowhere})
    run = pods.run(care)
    pods.ended(run)
    pods.stands(run, Reason.SCHEDULING_TIMED_OUT)


@proves(Reason.WAITING_FOR_EXECUTORS, Reason.SCHEDULING_TIMED_OUT)
def test_no_room_for_executors(pods: Stage, started: Started) -> None:
    kubelet = started()
    kubelet.runs(executors_ready=0, executors_wanted=1)
    kubelet.wants_executor()

    def says_why(found: Object) -> bool:
        # The driver's own pod was unschedulable too, before its node took it.
        said = condition(found, "Succeeded") if "status" in found else {}
        return said.get("reason") == Reason.WAITING_FOR_EXECUTORS and "Unschedulable" in said["message"]

    waiting = pods.story.until(COMPACTIONS, kubelet.run, says_why)
    assert waiting["status"]["progress"] == "0/1 executors"
    assert condition(waiting, "Succeeded")["reason"] == Reason.WAITING_FOR_EXECUTORS
    shown = pods.kubectl("get", "compaction", kubelet.run, "-o", "wide")
    assert "WaitingForExecutors" in shown
    assert "0/1 executors" in shown
    about = f"involvedObject.name={kubelet.run},reason=WaitingForExecutors,type=Warning"

    def is_told() -> bool:
        return "Unschedulable" in pods.kubectl("get", "events", f"--field-selector={about}", "-o", "json")

    assert pods.story.wait(is_told, PATIENCE)

    kubelet.ends_with(
        Reason.SCHEDULING_TIMED_OUT,
        waiting["metadata"]["uid"],
        failure=Failure.SCHEDULING,
        message="No executor.",
    )
    pods.ended(kubelet.run)
    assert "Unschedulable" in message(pods.stands(kubelet.run, Reason.SCHEDULING_TIMED_OUT))


@proves(Reason.SCHEDULING_TIMED_OUT)
def test_a_run_without_quota_ends_and_names_the_quota(cluster: Cluster, pods: Stage, plain: Table) -> None:
    kubectl = cluster.kubectl.within(pods.server.namespace)
    kubectl("create", "quota", "none", "--hard=pods=0")
    try:
        kubectl("wait", "quota/none", "--for=jsonpath={.status.hard.pods}=0", "--timeout=60s")
        run = pods.run(pods.care_for(pods.copied(plain), under=ONCE))
        pods.ended(run)
    finally:
        kubectl("delete", "quota", "none")
    assert "exceeded quota" in message(pods.stands(run, Reason.SCHEDULING_TIMED_OUT))


@proves(Reason.OUT_OF_MEMORY)
def test_the_driver_had_too_little_memory(pods: Stage, started: Started) -> None:
    kubelet = started()
    kubelet.runs()
    kubelet.ends(137, reason="OOMKilled")
    pods.ended(kubelet.run)
    pods.stands(kubelet.run, Reason.OUT_OF_MEMORY)


@proves(Reason.DRIVER_LOST)
def test_somebody_deletes_the_pod(pods: Stage, started: Started) -> None:
    kubelet = started()
    kubelet.runs()
    pods.stands(kubelet.run, Reason.RUNNING)
    pods.server.delete(PODS, kubelet.pod)
    kubelet.ends(143)
    pods.ended(kubelet.run)
    pods.stands(kubelet.run, Reason.DRIVER_LOST)


@proves(Reason.DRIVER_LOST)
def test_the_node_is_lost(pods: Stage, started: Started) -> None:
    kubelet = started()
    kubelet.runs()
    pods.stands(kubelet.run, Reason.RUNNING)
    kubelet.is_lost()

    lost = pods.ended(kubelet.run)

    pods.stands(kubelet.run, Reason.DRIVER_LOST)
    assert "may still commit" in message(lost)
    assert condition(lost, "Stalled")["status"] == "True"
    assert not kubelet.is_gone()
    kubelet.ends(137)
    kubelet.until_let_go()


@proves(Reason.DRIVER_FAILED)
def test_the_driver_ends_without_a_word(pods: Stage, started: Started) -> None:
    kubelet = started()
    kubelet.runs()
    kubelet.ends(3)
    pods.ended(kubelet.run)
    pods.stands(kubelet.run, Reason.DRIVER_FAILED)


@proves(Reason.CANCELLED)
def test_cancelled_before_it_had_a_node(podding: Podding, pods: Stage, plain: Table) -> None:
    run = pods.run(pods.care_for(pods.copied(plain), under=ONCE))
    kubelet = Kubelet(pods, podding.story, run, podding.node)
    podding.story.until(PODS, kubelet.pod, lambda _: True)
    pods.server.patch(COMPACTIONS, run, {"spec": {"cancel": True}})
    pods.ended(run)
    pods.stands(run, Reason.CANCELLED)
    podding.story.until_gone(PODS, kubelet.pod)


def test_a_namespace_with_a_driver_can_be_deleted(
    cluster: Cluster, port: int, plain: Table, namespace: str, tmp_path: Path
) -> None:
    name = f"ending-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("-n", name, "create", "serviceaccount", "lithify-driver")
    with ExitStack() as stack:
        stage = stage_in(stack, cluster, port, name, tmp_path)
        stage.operator.options = (*LAUNCHER, "--home", namespace)
        pods = stack.enter_context(Story(stage.server, (PODS,)))
        stage.operator.restart()
        run = stage.run(stage.care_for(stage.copied(plain), under=ONCE))
        kubelet = Kubelet(stage, pods, run, stack.enter_context(node(cluster)))
        kubelet.takes()
        kubelet.runs()
        stage.stands(run, Reason.RUNNING)

        cluster.kubectl("delete", "namespace", name, "--wait=false")
        kubelet.ends_when_told()
        kubelet.removes()

        cluster.kubectl("wait", "--for=delete", "--timeout=120s", f"namespace/{name}")


def test_a_missing_service_account_is_waited_for(podding: Podding, pods: Stage, plain: Table) -> None:
    account = pods.name("spark")
    spec = {**ONCE, "spark": {"serviceAccountName": account}}
    run = pods.run(pods.care_for(pods.copied(plain), under=spec))

    waiting = pods.stands(run, Reason.PENDING, saying=account)
    assert f"create serviceaccount {account}" in message(waiting)
    assert "create rolebinding" in message(waiting)
    assert podding.story.names(PODS) == [] or f"{run}-lithify" not in podding.story.names(PODS)

    pods.kubectl("create", "serviceaccount", account)

    Kubelet(pods, podding.story, run, podding.node).takes()
    stood = pods.reasons(run)
    assert stood.count(Reason.PENDING) <= 2, "it does not try again and again"
