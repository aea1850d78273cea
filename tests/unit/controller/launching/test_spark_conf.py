"""Spark settings: what a policy may say, and what a run is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.controller.driver import DriverOrder
from lithify.controller.launching.sizing import EXECUTOR_HEAP, sizing_of, worker_memory
from lithify.controller.launching.spark_conf import (
    _amounts,
    _place,
    cluster_conf,
    conf_problem,
    executor_prefix,
    local_conf,
    local_master,
)
from lithify.controller.launching.spark_settings import reason_against
from lithify.resources.names import ObjectKey
from lithify.resources.objects import Reference
from lithify.resources.quantities import quantity_bytes
from lithify.resources.spark_template import (
    DriverPod,
    ExecutorPods,
    KueueTemplate,
    PullPolicy,
    QueueAdmission,
    SparkTemplate,
)
from support.cases import case
from support.launching.orders import KEY, order

IMAGE = "registry/spark:1"


@pytest.mark.parametrize("key", ["spark.master", "spark.kubernetes.namespace", "spark.jars"])
def test_setting_that_is_not_a_policys_is_named(key: str) -> None:
    problem = conf_problem(SparkTemplate(conf={"spark.ui.enabled": "true", key: "x"}))
    assert problem is not None
    assert key in problem


@pytest.mark.parametrize(
    "spark",
    [
        case(SparkTemplate(), id="defaults"),
        case(SparkTemplate(conf={"spark.task.maxFailures": "8", "spark.eventLog.dir": "/l"}), id="tuning"),
        case(SparkTemplate(executor=ExecutorPods(cores=4, memory="3456Mi")), id="just enough memory"),
        case(SparkTemplate(driver=DriverPod(pod_template={"spec": {}})), id="a template"),
    ],
)
def test_what_a_policy_may_say(spark: SparkTemplate) -> None:
    assert conf_problem(spark) is None


@pytest.mark.parametrize(
    ("spark", "word"),
    [
        case(
            SparkTemplate(executor=ExecutorPods(cores=4, memory="3455Mi")), "executor.memory", id="executors"
        ),
        case(SparkTemplate(driver=DriverPod(pod_template={"spec": 7})), "driver.podTemplate", id="template"),
        case(
            SparkTemplate(executor=ExecutorPods(pod_template={"spec": {"containers": {}}})),
            "executor.podTemplate",
            id="executors' template",
        ),
    ],
)
def test_what_cannot_work_is_named(spark: SparkTemplate, word: str) -> None:
    problem = conf_problem(spark)
    assert problem is not None
    assert word in problem


def test_all_mistakes_are_named() -> None:
    spark = SparkTemplate(
        conf={"spark.master": "yarn", "spark.driver.host": "elsewhere"},
        executor=ExecutorPods(cores=1, memory="100Mi"),
        driver=DriverPod(pod_template={"spec": 7}),
    )
    problem = conf_problem(spark) or ""
    words = ("spark.master", "spark.driver.host", "but 1 core with", "driver.podTemplate")
    assert [word for word in words if word not in problem] == []


def test_reaching_out_of_pods_is_the_operators_to_allow() -> None:
    spark = SparkTemplate(executor=ExecutorPods(pod_template={"spec": {"hostNetwork": True}}))
    problem = conf_problem(spark)
    assert problem is not None
    assert "spec.spark.executor.podTemplate.spec.hostNetwork" in problem
    assert conf_problem(spark, host_access=True) is None


@pytest.mark.parametrize(
    ("factor", "master"),
    [case(1.0, "local[*]", id="all"), case(1.5, "local[5]", id="fewer"), case(99.0, "local[1]", id="one")],
)
def test_local_drivers_use_the_machine(factor: float, master: str) -> None:
    assert local_master(order(memory_factor=factor), cores=8) == master
    assert local_conf(order(spark=SparkTemplate(conf={"spark.a": "b"}))) == {"spark.a": "b"}


def conf_of(ordered: DriverOrder) -> dict[str, str]:
    sizing = sizing_of(ordered.spark, ordered.bytes_per_second)
    return cluster_conf(ordered, sizing, pod="the-driver", image=IMAGE)


def test_pods_have_what_the_policy_says() -> None:
    spark = SparkTemplate(
        image_pull_policy=PullPolicy.NEVER,
        image_pull_secrets=(Reference(name="one"), Reference(name="two")),
        service_account_name="spark",
        driver=DriverPod(memory="4Gi"),
        executor=ExecutorPods(cores=2, memory="3Gi"),
        conf={"spark.eventLog.enabled": "true"},
    )
    conf = conf_of(order(spark=spark))
    prefix = "c-orders-1-x7k2p-0b5f6c-1"
    assert (
        conf.items()
        >= {
            "spark.eventLog.enabled": "true",
            "spark.app.id": prefix,
            "spark.kubernetes.namespace": KEY.namespace,
            "spark.kubernetes.driver.pod.name": "the-driver",
            "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
            "spark.kubernetes.authenticate.executor.serviceAccountName": "spark",
            "spark.kubernetes.container.image": IMAGE,
            "spark.kubernetes.container.image.pullPolicy": "Never",
            "spark.kubernetes.container.image.pullSecrets": "one,two",
            "spark.kubernetes.executor.podNamePrefix": prefix,
            "spark.driver.memory": "1024m",
            "spark.executor.instances": "1",
            "spark.executor.cores": "2",
            "spark.executor.memory": "512m",
            "spark.executor.memoryOverhead": "2560m",
        }.items()
    )


@pytest.mark.parametrize(
    ("kueue", "millicores"),
    [
        case(None, 500, id="fits on a node of two with driver and operator"),
        case(KueueTemplate(queue_name="lake"), 1000, id="a group that a queue counts"),
        case(KueueTemplate(queue_name="lake", admission=QueueAdmission.DRIVER), 500, id="driver in a queue"),
    ],
)
def test_what_executors_reserve(kueue: KueueTemplate | None, millicores: int) -> None:
    reserved = conf_of(order(spark=SparkTemplate(kueue=kueue)))["spark.kubernetes.executor.request.cores"]
    found = int(reserved[:-1]) if reserved.endswith("m") else 1000 * int(reserved)
    assert found == millicores


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        case("spark.kubernetes.executor.deleteOnTermination", "true", id="executors go in the end"),
        case("spark.kubernetes.executor.disableConfigMap", "true", id="no ConfigMap"),
        case("spark.kubernetes.driver.ownPersistentVolumeClaim", "false", id="no claims"),
        case("spark.kubernetes.driver.service.deleteOnTermination", "false", id="no services"),
        case("spark.decommission.enabled", "true", id="nodes that are taken away announce it"),
        case("spark.authenticate", "true", id="nobody else talks to executors"),
        case("spark.network.crypto.enabled", "true", id="nobody listens"),
        case("spark.io.encryption.enabled", "true", id="nothing is on disk in clear"),
        case("spark.driver.port", "7078", id="a port that a policy of the network can name"),
        case("spark.blockManager.port", "7079", id="another one"),
    ],
)
def test_run_is_kept_apart_and_cleared_away(setting: str, value: str) -> None:
    assert conf_of(order())[setting] == value


@pytest.mark.parametrize(
    "setting",
    [
        "spark.decommission.enabled",
        "spark.executor.maxNumFailures",
        "spark.kubernetes.executor.request.cores",
    ],
)
def test_what_is_only_a_default_a_policy_may_change(setting: str) -> None:
    spark = SparkTemplate(conf={setting: "theirs"})
    assert conf_problem(spark) is None
    assert conf_of(order(spark=spark))[setting] == "theirs"


def test_what_is_only_allowed_changes_nothing_that_is_ours() -> None:
    """Whatever a policy may say by Spark settings, none of them is one that is set for every run."""
    fixed = _place(order(), "p", IMAGE) | _amounts(order(), sizing_of(order().spark, None))
    assert [name for name in fixed if reason_against(name) is None] == []


@pytest.mark.parametrize(
    ("most", "losses"),
    [case(1, "12", id="few"), case(4, "12", id="some"), case(50, "150", id="many")],
)
def test_lost_executors_end_a_run_later_than_a_task_that_always_fails(most: int, losses: str) -> None:
    spark = SparkTemplate(executor=ExecutorPods(max_instances=most))
    assert conf_of(order(spark=spark))["spark.executor.maxNumFailures"] == losses


@settings(deadline=None)
@given(
    cores=st.integers(1, 64),
    memory=st.integers(1, 512),
    task=st.integers(1, 4096),
    factor=st.floats(1.0, 12.0),
)
def test_executors_have_room_for_a_task_in_each_slot(
    cores: int, memory: int, task: int, factor: float
) -> None:
    executor = ExecutorPods(cores=cores, memory=f"{memory}Gi")
    spark = SparkTemplate(executor=executor, task_memory=f"{task}Mi")
    conf = conf_of(order(spark=spark, memory_factor=factor))
    overhead = int(conf["spark.executor.memoryOverhead"].removesuffix("m")) << 20
    assert overhead >= cores * worker_memory(int((task << 20) * factor))
    assert overhead + EXECUTOR_HEAP >= int(quantity_bytes(executor.memory) * factor)


@settings(deadline=None)
@given(
    name=st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True),
    attempt=st.integers(1, 60),
)
def test_executors_are_called_as_spark_allows(name: str, attempt: int) -> None:
    changes: dict[str, Any] = {"key": ObjectKey("shop", name), "attempt": attempt}
    prefix = executor_prefix(order(**changes))
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", prefix)
    assert len(prefix) <= 47
    assert prefix.endswith(f"-{attempt}")
