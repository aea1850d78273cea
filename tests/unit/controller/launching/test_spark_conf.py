"""Spark settings: what a policy may say, and how executors are sized."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launching.orders import KEY, order
from lithify.controller.launching.spark_conf import (
    EXECUTOR_HEAP,
    cluster_conf,
    conf_problem,
    executor_count,
    executor_prefix,
    local_conf,
    local_master,
)
from lithify.resources.names import ObjectKey
from lithify.resources.objects import Reference
from lithify.resources.policy import DriverPod, ExecutorPods, PullPolicy, SparkTemplate
from lithify.resources.quantities import quantity_bytes
from support.cases import case

IMAGE = "registry/spark:1"
GIB = 1 << 30


@pytest.mark.parametrize(
    "key",
    [
        "spark.master",
        "spark.submit.deployMode",
        "spark.kubernetes.namespace",
        "spark.kubernetes.driver.pod.name",
        "spark.kubernetes.driver.podTemplateFile",
        "spark.kubernetes.authenticate.driver.serviceAccountName",
        "spark.kubernetes.authenticate.executor.serviceAccountName",
        "spark.kubernetes.container.image",
        "spark.kubernetes.executor.podTemplateFile",
        "spark.driver.host",
        "spark.driver.bindAddress",
        "spark.driver.extraClassPath",
        "spark.executor.extraClassPath",
        "spark.executor.memoryOverhead",
        "spark.speculation",
        "spark.jars",
        "spark.jars.packages",
        "spark.plugins",
    ],
)
def test_setting_that_is_not_a_policys_is_named(key: str) -> None:
    problem = conf_problem(SparkTemplate(conf={"spark.ui.enabled": "true", key: "x"}))
    assert problem is not None
    assert key in problem


@pytest.mark.parametrize(
    "spark",
    [
        case(SparkTemplate(), id="defaults"),
        case(SparkTemplate(conf={"spark.task.maxFailures": "8", "spark.eventLog.dir": "/l"}), id="tuning"),
        case(SparkTemplate(executor=ExecutorPods(cores=4, memory="2Gi")), id="just enough memory"),
        case(SparkTemplate(driver=DriverPod(pod_template={"spec": {}})), id="a template"),
    ],
)
def test_what_a_policy_may_say(spark: SparkTemplate) -> None:
    assert conf_problem(spark) is None


@pytest.mark.parametrize(
    ("spark", "word"),
    [
        case(SparkTemplate(executor=ExecutorPods(cores=5, memory="2Gi")), "executor.memory", id="memory"),
        case(SparkTemplate(driver=DriverPod(pod_template={"spec": 7})), "driver.podTemplate", id="driver"),
        case(
            SparkTemplate(executor=ExecutorPods(pod_template={"spec": {"containers": {}}})),
            "executor.podTemplate",
            id="executor",
        ),
    ],
)
def test_what_cannot_work_is_named(spark: SparkTemplate, word: str) -> None:
    problem = conf_problem(spark)
    assert problem is not None
    assert word in problem


@pytest.mark.parametrize(
    ("factor", "master"),
    [case(1.0, "local[*]", id="all"), case(1.5, "local[5]", id="fewer"), case(99.0, "local[1]", id="one")],
)
def test_local_drivers_use_the_machine(factor: float, master: str) -> None:
    assert local_master(order(memory_factor=factor), cores=8) == master
    assert local_conf(order(spark=SparkTemplate(conf={"spark.a": "b"}))) == {"spark.a": "b"}


def test_pods_have_what_the_policy_says() -> None:
    spark = SparkTemplate(
        image_pull_policy=PullPolicy.NEVER,
        image_pull_secrets=(Reference(name="one"), Reference(name="two")),
        service_account_name="spark",
        driver=DriverPod(memory="4Gi"),
        executor=ExecutorPods(cores=2, memory="3Gi"),
        conf={"spark.eventLog.enabled": "true"},
    )
    conf = cluster_conf(order(spark=spark), pod="the-driver", image=IMAGE)
    assert conf == {
        "spark.eventLog.enabled": "true",
        "spark.kubernetes.namespace": KEY.namespace,
        "spark.kubernetes.driver.pod.name": "the-driver",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.kubernetes.container.image": IMAGE,
        "spark.kubernetes.container.image.pullPolicy": "Never",
        "spark.kubernetes.container.image.pullSecrets": "one,two",
        "spark.kubernetes.executor.podNamePrefix": conf["spark.kubernetes.executor.podNamePrefix"],
        "spark.kubernetes.executor.deleteOnTermination": "true",
        "spark.driver.memory": "2048m",
        "spark.executor.instances": "1",
        "spark.executor.cores": "2",
        "spark.executor.memory": "512m",
        "spark.executor.memoryOverhead": "2560m",
    }


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
    conf = cluster_conf(order(spark=spark, memory_factor=factor), pod="p", image=IMAGE)
    overhead = int(conf["spark.executor.memoryOverhead"].removesuffix("m")) << 20
    assert overhead >= cores * int((task << 20) * factor)
    assert overhead + EXECUTOR_HEAP >= int(quantity_bytes(executor.memory) * factor)


@pytest.mark.parametrize(
    ("planned", "cores", "count"),
    [
        case(0, 1, 2, id="unknown"),
        case(GIB, 1, 2, id="little"),
        case(5 * GIB, 1, 5, id="so much a slot"),
        case(5 * GIB + 1, 1, 6, id="and a byte"),
        case(12 * GIB, 4, 3, id="slots of larger executors"),
        case(1 << 50, 1, 9, id="much"),
    ],
)
def test_as_many_executors_as_there_is_to_read(planned: int, cores: int, count: int) -> None:
    spark = SparkTemplate(executor=ExecutorPods(min_instances=2, max_instances=9, cores=cores))
    assert executor_count(order(spark=spark, planned_bytes=planned)) == count


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
