"""Spark settings of a run: allowed settings of a policy, derived ones, and fixed ones.

Pure. Called by the launchers, and by the controller, which reports mistakes in a policy's status.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.amounts import count_of
from lithify.contract.executors import ExecutorSizing, executor_conf
from lithify.controller.driver import DriverOrder
from lithify.controller.launching.isolation import Bounds
from lithify.controller.launching.kueue import is_group
from lithify.controller.launching.ordering import task_memory
from lithify.controller.launching.sizing import (
    EXECUTOR_HEAP,
    driver_heap,
    driver_memory,
    executor_cpu_request,
    executor_memory,
    least_executor_memory,
    mebibytes,
)
from lithify.controller.launching.spark_settings import reason_against
from lithify.controller.launching.template import template_problem
from lithify.resources.quantities import quantity_bytes
from lithify.resources.spark_template import SparkTemplate

DRIVER_PORT = 7078
"""Port of the driver for executors. Ports are fixed, so that a NetworkPolicy can name them."""
BLOCK_PORT = 7079
"""Port over which driver and executors exchange blocks too large for a message."""
_PREFIX_LENGTH = 40
"""Spark allows 47 characters for the prefix of executors' names."""
_GRACE = "60s"
"""Time for an executor that must leave to end its tasks, for example on spot nodes that are removed."""
_LOSSES = 3
"""Failures per executor before Spark gives up; tasks that fail repeatedly end the run sooner."""
_LEAST_LOSSES = 12


def conf_problem(spec: SparkTemplate, *, host_access: bool = False) -> str | None:
    """Why a policy's Spark template cannot start a driver, all reasons in one text; None if it can.

    Args:
        spec: the template.
        host_access: whether pod templates may reach out of their pods.
    """
    bounds = Bounds(spec.service_account_name, host_access)
    problems = [
        *_key_problems(spec),
        *_size_problems(spec),
        template_problem("spec.spark.driver.podTemplate", spec.driver.pod_template, bounds),
        template_problem("spec.spark.executor.podTemplate", spec.executor.pod_template, bounds),
    ]
    return "; ".join(problem for problem in problems if problem is not None) or None


def _key_problems(spec: SparkTemplate) -> Iterator[str]:
    for key in sorted(spec.conf):
        reason = reason_against(key)
        if reason is not None:
            yield f"spec.spark.conf must not hold {key}: {reason}"


def _size_problems(spec: SparkTemplate) -> Iterator[str]:
    if spec.executor.min_instances > spec.executor.max_instances:
        yield "spec.spark.executor.minInstances is above maxInstances"
    needed = least_executor_memory(spec.executor.cores, quantity_bytes(spec.task_memory))
    if quantity_bytes(spec.executor.memory) < needed:
        cores = count_of(spec.executor.cores, "core")
        yield (
            f"spec.spark.executor.memory is {spec.executor.memory}, but {cores} with a "
            f"taskMemory of {spec.task_memory} each, and a JVM, take at least {mebibytes(needed)}Mi"
        )


def local_conf(order: DriverOrder) -> dict[str, str]:
    """Settings for a driver that runs its tasks itself."""
    return dict(order.spark.conf)


def local_master(order: DriverOrder, cores: int) -> str:
    """All cores, but fewer after an attempt that ran out of memory: the machine's memory is fixed.

    Args:
        order: the attempt.
        cores: of the machine.
    """
    return "local[*]" if order.memory_factor <= 1 else f"local[{max(1, int(cores / order.memory_factor))}]"


def cluster_conf(order: DriverOrder, sizing: ExecutorSizing, *, pod: str, image: str) -> dict[str, str]:
    """Settings for a driver pod that has Spark make executor pods; a policy may replace some of them."""
    return {
        **_defaults(order, sizing),
        **order.spark.conf,
        **_place(order, pod, image),
        **_amounts(order, sizing),
    }


def _defaults(order: DriverOrder, sizing: ExecutorSizing) -> dict[str, str]:
    # Kueue counts a group in whole cores, driver and executors alike.
    cores = order.spark.executor.cores
    request = str(cores) if is_group(order.spark.kueue) else executor_cpu_request(cores)
    return {
        "spark.kubernetes.executor.request.cores": request,
        # Tasks do not wait until all executors have started: the largest go to the first ones.
        "spark.scheduler.minRegisteredResourcesRatio": "0.0",
        # Spark requests pods in batches of twenty, with this delay between them; its default is one second.
        "spark.kubernetes.allocation.batch.delay": "250ms",
        "spark.decommission.enabled": "true",
        "spark.storage.decommission.enabled": "false",
        "spark.executor.maxNumFailures": str(max(_LEAST_LOSSES, _LOSSES * sizing.most)),
        "spark.executor.failuresValidityInterval": "1h",
        "spark.kubernetes.executor.terminationGracePeriodSeconds": _GRACE,
    }


def _place(order: DriverOrder, pod: str, image: str) -> dict[str, str]:
    """Namespace, account, image and names of a run's pods, and their clean-up."""
    spark = order.spark
    pull = {} if spark.image_pull_policy is None else {"pullPolicy": spark.image_pull_policy.value}
    secrets = ",".join(secret.name for secret in spark.image_pull_secrets)
    if secrets:
        pull["pullSecrets"] = secrets
    return {
        "spark.app.id": executor_prefix(order),
        "spark.driver.port": str(DRIVER_PORT),
        "spark.driver.blockManager.port": str(BLOCK_PORT),
        "spark.blockManager.port": str(BLOCK_PORT),
        "spark.kubernetes.namespace": order.key.namespace,
        "spark.kubernetes.driver.pod.name": pod,
        "spark.kubernetes.authenticate.driver.serviceAccountName": spark.service_account_name,
        "spark.kubernetes.authenticate.executor.serviceAccountName": spark.service_account_name,
        "spark.kubernetes.container.image": image,
        **{f"spark.kubernetes.container.image.{name}": value for name, value in pull.items()},
        "spark.kubernetes.executor.podNamePrefix": executor_prefix(order),
        "spark.kubernetes.executor.deleteOnTermination": "true",
        # Otherwise Spark requests services, claims and ConfigMaps, which the driver may not access.
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.service.deleteOnTermination": "false",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
        # Tasks carry the credentials of their storage.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.saslFallback": "false",
        "spark.io.encryption.enabled": "true",
    }


def _amounts(order: DriverOrder, sizing: ExecutorSizing) -> dict[str, str]:
    spark = order.spark
    memory = executor_memory(spark, order.memory_factor, task_memory(order))
    heap = driver_heap(driver_memory(spark, order.memory_factor))
    return executor_conf(sizing, order.planned_bytes) | {
        "spark.driver.memory": f"{mebibytes(heap)}m",
        "spark.executor.cores": str(spark.executor.cores),
        "spark.executor.memory": f"{mebibytes(EXECUTOR_HEAP)}m",
        "spark.executor.memoryOverhead": f"{mebibytes(memory - EXECUTOR_HEAP)}m",
    }


def executor_prefix(order: DriverOrder) -> str:
    """Prefix of the names of executor pods, and Spark's id of the run: a label, unique to each attempt."""
    name = order.key.name.replace(".", "-")[: _PREFIX_LENGTH - 12].strip("-")
    letters = "".join(letter for letter in order.uid if letter.isalnum())[:6].lower()
    return f"c-{name}-{letters}-{order.attempt}"[:_PREFIX_LENGTH]
