"""Pods that say absurd things of themselves, that have a driver's name, or that an older release started."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from infrastructure.cluster.fixtures import Cluster
from lithify.controller.launching.pod import PodSettings, driver_pod
from lithify.resources.compaction import Reason
from lithify.resources.names import ANNOTATION_PROGRESS, ObjectKey
from support.launching.orders import order
from support.operators.driver_pods import IMAGE, Podding, podding_in
from support.operators.kubelet import Kubelet
from support.operators.objects import NO_RETRIES, QUIET, catalog, compaction, lake_table, policy
from support.operators.scene import message
from support.operators.server import COMPACTIONS, PODS, Object, Refused
from support.small_tables import SmallTable

TABLES = ("mad", "calm", "spark-pi", "last", "upgraded", "selected")
DEADLINES = {"schedulingSeconds": 600, "lostSeconds": 10}


class HostilePods(Podding):
    """The same, with a table for each test."""

    def run(self, name: str) -> Kubelet:
        """A run of a table of its own, and the kubelet of its driver's pod."""
        table = lake_table(name, catalog="lake", policy="default", identifier=f"db.{name}")
        self.stage.kubectl.apply(table, compaction(name, name))
        return self.kubelet(name)

    def pod(self, name: str) -> Object | None:
        """A pod as the API server has it now."""
        try:
            return self.stage.server.get(PODS, name)
        except Refused:
            return None


@pytest.fixture(scope="module")
def podding(cluster: Cluster, port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostilePods]:
    folder = tmp_path_factory.mktemp("hostile")
    for each in TABLES:
        SmallTable(folder / "warehouse", f"db.{each}").create().append()
    with ExitStack() as stack:
        podding = podding_in(stack, cluster, port, "hostile", folder)
        podding.stage.kubectl.apply(
            catalog("lake", folder / "warehouse"),
            policy("default", triggers=QUIET, retries=NO_RETRIES, deadlines=DEADLINES),
        )
        yield HostilePods(podding.stage, podding.story, podding.node)


@pytest.fixture
def tidy(podding: HostilePods) -> Iterator[HostilePods]:
    """The same; nothing holds the namespace afterwards."""
    yield podding
    podding.stage.server.delete(COMPACTIONS)
    for pod in podding.stage.server.list(PODS):
        name = pod["metadata"]["name"]
        with suppress(Refused):  # gone meanwhile
            podding.stage.server.release(PODS, name)
        podding.stage.server.delete(PODS, name, grace=0)


def test_a_pod_that_says_absurd_things_costs_only_its_own_run(tidy: HostilePods) -> None:
    stage, mad, calm = tidy.stage, tidy.run("mad"), tidy.run("calm")
    for kubelet in (mad, calm):
        kubelet.takes()
        kubelet.runs()
    absurd = {"metadata": {"annotations": {ANNOTATION_PROGRESS: "[" * 200_000}}}
    stage.server.patch(PODS, mad.pod, absurd)
    stage.server.delete(PODS, mad.pod, grace=10**12)  # its end is in the year 33658
    stage.operator.stop()
    stage.operator.restart()

    calm.ends_with(Reason.NOTHING_TO_DO, stage.server.get(COMPACTIONS, "calm")["metadata"]["uid"])
    stage.stands("calm", Reason.NOTHING_TO_DO)
    calm.until_let_go()

    mad.ends(0, "[" * 4000, "Completed")
    ended = stage.ended("mad")
    assert message(ended)
    mad.until_let_go()
    assert stage.operator.is_running


def foreign(name: str, **metadata: Any) -> Object:
    container = {"name": "main", "image": IMAGE}
    spec = {"containers": [container], "nodeSelector": {"no": "where"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"spark-role": "driver"}, id="another's"),
        pytest.param({"lithify.dev/compaction": "spark-pi"}, id="with our label"),
    ],
)
def test_a_pod_of_a_drivers_name_is_left_alone_and_told_of(tidy: HostilePods, labels: dict[str, str]) -> None:
    stage, server = tidy.stage, tidy.stage.server
    names = ("spark-pi-lithify", "spark-pi-driver")
    stage.kubectl.apply(*(foreign(name, labels=labels) for name in names))
    uids = [server.get(PODS, name)["metadata"]["uid"] for name in names]
    tidy.run("spark-pi")
    stage.stands("spark-pi", Reason.SUBMITTING, "left alone")

    server.patch(COMPACTIONS, "spark-pi", {"spec": {"cancel": True}})
    stage.ended("spark-pi")
    stage.stands("spark-pi", Reason.CANCELLED)
    server.delete(COMPACTIONS, "spark-pi")
    stage.story.until_gone(COMPACTIONS, "spark-pi")
    server.patch(PODS, names[0], {"metadata": {"annotations": {"seen": "again"}}})
    last = tidy.run("last")
    last.takes()  # by now the operator has looked at what was deleted before

    found = [server.get(PODS, name)["metadata"] for name in names]
    assert [pod["uid"] for pod in found] == uids
    assert not any("deletionTimestamp" in pod for pod in found)


def test_a_driver_that_an_older_release_started_is_found_and_finished(tidy: HostilePods) -> None:
    stage, name = tidy.stage, "upgraded"
    stage.operator.stop()
    stage.kubectl.apply(
        lake_table(name, catalog="lake", policy="default", identifier=f"db.{name}"), compaction(name, name)
    )
    uid = stage.server.get(COMPACTIONS, name)["metadata"]["uid"]
    key = ObjectKey(stage.server.namespace, name)
    made = driver_pod(order(key=key, uid=uid, lake_table=name), PodSettings(image=IMAGE))
    made["metadata"]["name"] = f"{name}-driver"
    stage.kubectl("create", "-f", "-", stdin=json.dumps(made))

    class Older(Kubelet):
        @property
        def pod(self) -> str:
            return f"{self.run}-driver"

    kubelet = Older(stage, tidy.story, name, tidy.node)
    kubelet.takes()
    kubelet.runs()
    stage.operator.restart()
    stage.stands(name, Reason.RUNNING)
    kubelet.ends_with(Reason.NOTHING_TO_DO, uid)
    stage.stands(name, Reason.NOTHING_TO_DO)
    kubelet.until_let_go()
    assert tidy.pod(f"{name}-lithify") is None


def test_executors_of_others_stay(tidy: HostilePods) -> None:
    """Spark's own label may stand on any pod; only the owner says whose it is."""
    stage, run = tidy.stage, tidy.run("selected")
    driver = run.takes()
    app = driver["metadata"]["labels"]["spark-app-selector"]
    labels = {"spark-app-selector": app, "spark-role": "executor"}
    stage.kubectl.apply(foreign("bystander", labels=labels))
    run.runs()
    run.ends_with(Reason.NOTHING_TO_DO, stage.server.get(COMPACTIONS, "selected")["metadata"]["uid"])
    stage.stands("selected", Reason.NOTHING_TO_DO)
    run.until_let_go()
    bystander = tidy.pod("bystander")
    assert bystander is not None
    assert "deletionTimestamp" not in bystander["metadata"]
