"""The examples for Kueue, Volcano and YuniKorn are valid, and put on pods what these schedulers look for."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from infrastructure.chart.rendering import CHART
from lithify.contract.order import read_instructions
from lithify.controller.launching.pod import PodSettings, driver_pod
from lithify.controller.launching.spark_conf import conf_problem
from lithify.resources.modelling import read
from lithify.resources.names import API_VERSION, POLICY
from lithify.resources.policy import CompactionPolicy
from lithify.resources.quantities import quantity_bytes
from lithify.resources.spark_template import SparkTemplate
from lithify.resources.validating import validated
from support.launching.orders import order

FOLDER = CHART.parents[1] / "examples" / "batch-schedulers"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
PLANNED = 100 << 30
"""Bytes of a run that takes all executors that it may have."""
Pod = dict[str, Any]


def spark_of(example: str) -> SparkTemplate:
    text = (FOLDER / f"{example}.yaml").read_text(encoding="utf-8")
    (body,) = [one for one in yaml.safe_load_all(text) if one["apiVersion"] == API_VERSION]
    metadata = {"namespace": "lake", "uid": "1", "creationTimestamp": "2026-05-04T11:00:00Z"}
    body["metadata"] |= metadata
    return read(CompactionPolicy, validated(POLICY, body)).spec.spark


def pods_of(example: str) -> tuple[Pod, Pod, dict[str, str]]:
    """The driver, the template of executors, and the Spark settings."""
    pod = driver_pod(order(spark=spark_of(example), planned_bytes=PLANNED), PodSettings(image="lithify:1"))
    variables = {one["name"]: one.get("value") for one in container_of(pod)["env"]}
    told = read_instructions(variables["LITHIFY_ORDER"])
    assert told.executor_template is not None
    return pod, dict(told.executor_template), dict(told.conf)


def container_of(pod: Pod) -> Pod:
    found: Pod = pod["spec"]["containers"][0]
    return found


def amounts_of(pod: Pod) -> tuple[str, int]:
    requests = container_of(pod)["resources"]["requests"]
    return requests["cpu"], quantity_bytes(requests["memory"])


@pytest.mark.parametrize("example", EXAMPLES)
def test_policies_can_be_followed(example: str) -> None:
    assert conf_problem(spark_of(example)) is None


def test_kueue_admits_driver_and_executors_together() -> None:
    driver, executor, conf = pods_of("kueue")
    count = int(conf["spark.executor.instances"])
    for pod in (driver, executor):
        assert pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "compaction"
        assert pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] == str(1 + count)
    groups = {pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] for pod in (driver, executor)}
    assert len(groups) == 1
    assert count == spark_of("kueue").executor.max_instances


@pytest.mark.parametrize("example", ["volcano", "yunikorn"])
def test_the_scheduler_gets_all_pods(example: str) -> None:
    driver, executor, _ = pods_of(example)
    assert {driver["spec"]["schedulerName"], executor["spec"]["schedulerName"]} == {example}


def test_volcano_finds_the_queue() -> None:
    for pod in pods_of("volcano")[:2]:
        assert pod["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] == "compaction"


def test_yunikorn_keeps_room_for_pods_as_large_as_they_are() -> None:
    driver, executor, conf = pods_of("yunikorn")
    notes = driver["metadata"]["annotations"]
    groups = {one["name"]: one for one in json.loads(notes["yunikorn.apache.org/task-groups"])}
    kept = {
        name: (one["minResource"]["cpu"], quantity_bytes(one["minResource"]["memory"]))
        for name, one in groups.items()
    }
    assert kept[notes["yunikorn.apache.org/task-group-name"]] == amounts_of(driver)
    spark = spark_of("yunikorn")
    size = sum(
        int(conf[name].removesuffix("m")) << 20
        for name in ("spark.executor.memory", "spark.executor.memoryOverhead")
    )
    executors = executor["metadata"]["annotations"]["yunikorn.apache.org/task-group-name"]
    assert kept[executors] == (conf["spark.kubernetes.executor.request.cores"], size)
    assert groups[executors]["minMember"] == spark.executor.min_instances


def test_yunikorn_sees_one_application() -> None:
    """By Spark's label, which Spark itself gives executors."""
    driver, _, conf = pods_of("yunikorn")
    assert driver["metadata"]["labels"]["spark-app-selector"] == conf["spark.app.id"]
