"""Spark settings of a run: what a policy may say, what follows from its fields, and what nobody may change.

Pure. Called by the launchers, and by the controller to tell in a policy's status what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.controller.driver import DriverOrder
from lithify.controller.launching.instructions import task_memory
from lithify.controller.launching.template import template_problem
from lithify.resources.policy import SparkTemplate
from lithify.resources.quantities import quantity_bytes

EXECUTOR_HEAP = 512 << 20
"""Bytes: data never passes through a JVM, so it stays small and the rest is for Python."""
_SLOT_BYTES = 1 << 30
"""About how much one task slot should read in all before another executor pays."""
_PREFIX_LENGTH = 40
"""Spark allows 47 for the names of executors up to their numbers."""

_ISOLATION = "it decides where the run takes place and as whom"
_CODE = "it brings code into the run; build an image with it instead"
_FORBIDDEN: Mapping[str, str] = {
    "spark.master": _ISOLATION,
    "spark.submit.": _ISOLATION,
    "spark.app.id": _ISOLATION,
    "spark.kubernetes.namespace": _ISOLATION,
    "spark.kubernetes.context": _ISOLATION,
    "spark.kubernetes.driver.": "set spark.driver in the policy instead",
    "spark.kubernetes.authenticate.": "set spark.serviceAccountName in the policy instead",
    "spark.kubernetes.container.image": "set spark.image, imagePullPolicy or imagePullSecrets instead",
    "spark.kubernetes.executor.container.image": "set spark.image in the policy instead",
    "spark.kubernetes.executor.podTemplate": "set spark.executor.podTemplate in the policy instead",
    "spark.kubernetes.executor.podNamePrefix": _ISOLATION,
    "spark.kubernetes.file.upload.path": _CODE,
    "spark.driver.host": _ISOLATION,
    "spark.driver.bindAddress": _ISOLATION,
    "spark.driver.memory": "set spark.driver.memory in the policy instead",
    "spark.driver.cores": "set spark.driver.cores in the policy instead",
    "spark.executor.instances": "set spark.executor.minInstances and maxInstances instead",
    "spark.executor.cores": "set spark.executor.cores in the policy instead",
    "spark.executor.memory": "set spark.executor.memory in the policy instead",
    "spark.dynamicAllocation.": "set spark.executor.minInstances and maxInstances instead",
    "spark.task.cpus": "it would undo the reckoning of memory; set spark.executor.cores instead",
    "spark.speculation": "a copy of a task that is killed would leave files behind",
    "spark.driver.extraClassPath": _CODE,
    "spark.driver.extraJavaOptions": _CODE,
    "spark.driver.extraLibraryPath": _CODE,
    "spark.executor.extraClassPath": _CODE,
    "spark.jars": _CODE,
    "spark.files": _CODE,
    "spark.archives": _CODE,
    "spark.plugins": _CODE,
    "spark.extraListeners": _CODE,
    "spark.pyspark.": _CODE,
}
"""Settings, and those below them, that a policy must not hold, and why."""


def conf_problem(spec: SparkTemplate) -> str | None:
    """Why no driver can be started by a policy's Spark template, as a sentence; None if it can."""
    for key in sorted(spec.conf):
        reason = _reason_against(key)
        if reason is not None:
            return f"spark.conf must not hold {key}: {reason}"
    if spec.executor.min_instances > spec.executor.max_instances:
        return "spark.executor.minInstances is above maxInstances"
    needed = EXECUTOR_HEAP + spec.executor.cores * quantity_bytes(spec.task_memory)
    if quantity_bytes(spec.executor.memory) < needed:
        return (
            f"spark.executor.memory is {spec.executor.memory}, but {spec.executor.cores} cores with a "
            f"taskMemory of {spec.task_memory} each, and a JVM, take at least {mebibytes(needed)}Mi"
        )
    return template_problem("spark.driver.podTemplate", spec.driver.pod_template) or template_problem(
        "spark.executor.podTemplate", spec.executor.pod_template
    )


def _reason_against(key: str) -> str | None:
    # What only begins alike, such as spark.speculation.quantile, means nothing without what is refused.
    return next((reason for name, reason in _FORBIDDEN.items() if key.startswith(name)), None)


def local_conf(order: DriverOrder) -> dict[str, str]:
    """Settings for a driver that runs its tasks itself."""
    return dict(order.spark.conf)


def local_master(order: DriverOrder, cores: int) -> str:
    """All cores, but fewer after an attempt that ran out of memory: the machine does not grow.

    Args:
        order: the attempt.
        cores: of the machine.
    """
    return "local[*]" if order.memory_factor <= 1 else f"local[{max(1, int(cores / order.memory_factor))}]"


def cluster_conf(order: DriverOrder, *, pod: str, image: str) -> dict[str, str]:
    """Settings for a driver pod that has Spark make executor pods."""
    spark, executor = order.spark, order.spark.executor
    total = max(
        int(quantity_bytes(executor.memory) * order.memory_factor),
        EXECUTOR_HEAP + executor.cores * task_memory(order),
    )
    driver_heap = max(512 << 20, int(quantity_bytes(spark.driver.memory) * order.memory_factor) // 2)
    pull = {} if spark.image_pull_policy is None else {"pullPolicy": spark.image_pull_policy.value}
    secrets = ",".join(secret.name for secret in spark.image_pull_secrets)
    if secrets:
        pull["pullSecrets"] = secrets
    return {
        **spark.conf,
        "spark.kubernetes.namespace": order.key.namespace,
        "spark.kubernetes.driver.pod.name": pod,
        "spark.kubernetes.authenticate.driver.serviceAccountName": spark.service_account_name,
        "spark.kubernetes.container.image": image,
        **{f"spark.kubernetes.container.image.{name}": value for name, value in pull.items()},
        "spark.kubernetes.executor.podNamePrefix": executor_prefix(order),
        "spark.kubernetes.executor.deleteOnTermination": "true",
        "spark.driver.memory": f"{mebibytes(driver_heap)}m",
        "spark.executor.instances": str(executor_count(order)),
        "spark.executor.cores": str(executor.cores),
        "spark.executor.memory": f"{mebibytes(EXECUTOR_HEAP)}m",
        "spark.executor.memoryOverhead": f"{mebibytes(total - EXECUTOR_HEAP)}m",
    }


def executor_count(order: DriverOrder) -> int:
    """How many executors: by what is to be read, within the policy's bounds; the fewest if unknown."""
    executor = order.spark.executor
    wanted = -(-order.planned_bytes // (_SLOT_BYTES * executor.cores))
    return max(executor.min_instances, min(executor.max_instances, wanted))


def executor_prefix(order: DriverOrder) -> str:
    """What the names of executor pods begin with: a DNS label, unique to the attempt."""
    name = order.key.name.replace(".", "-")[: _PREFIX_LENGTH - 12].strip("-")
    letters = "".join(letter for letter in order.uid if letter.isalnum())[:6].lower()
    return f"c-{name}-{letters}-{order.attempt}"[:_PREFIX_LENGTH]


def mebibytes(size: int) -> int:
    """A size in whole MiB, rounded up."""
    return -(-size // (1 << 20))
