"""Which Spark settings a policy may hold. Pure; used by `spark_conf`.

Below `spark.kubernetes.` only the settings named here are allowed: they define pods, so those of later Spark
releases are refused until they have been reviewed. Elsewhere all settings are allowed except those named.
docs/design/0011-driver-pods.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

KUBERNETES = "spark.kubernetes."

ALLOWED = frozenset(
    {
        "spark.kubernetes.allocation.batch.delay",
        "spark.kubernetes.allocation.batch.size",
        "spark.kubernetes.allocation.driver.readinessTimeout",
        "spark.kubernetes.allocation.executor.timeout",
        "spark.kubernetes.allocation.maxPendingPods",
        "spark.kubernetes.allocation.maxPendingPodsPerRp",
        "spark.kubernetes.driver.connectionTimeout",
        "spark.kubernetes.driver.requestTimeout",
        "spark.kubernetes.dynamicAllocation.deleteGracePeriod",
        "spark.kubernetes.executor.apiPollingInterval",
        "spark.kubernetes.executor.checkAllContainers",
        "spark.kubernetes.executor.deletedExecutorsCacheTimeout",
        "spark.kubernetes.executor.enableApiPolling",
        "spark.kubernetes.executor.enableApiWatcher",
        "spark.kubernetes.executor.enablePollingWithResourceVersion",
        "spark.kubernetes.executor.eventProcessingInterval",
        "spark.kubernetes.executor.limit.cores",
        "spark.kubernetes.executor.missingPodDetectDelta",
        "spark.kubernetes.executor.podDeletionCost",
        "spark.kubernetes.executor.request.cores",
        "spark.kubernetes.executor.terminationGracePeriodSeconds",
        "spark.kubernetes.executorSnapshotsSubscribersShutdownGracePeriod",
    }
)
"""Spark settings of executor pods that a policy may set."""

_WHERE = "it sets the cluster, account or identity of the run"
_CODE = "it loads code into the run; build an image that contains the code instead"
_TEMPLATE = "set it in spark.driver.podTemplate or spec.spark.executor.podTemplate of the policy instead"
_IMAGE = "set spec.spark.image, imagePullPolicy or imagePullSecrets of the policy instead"
_MEMORY = "Lithify computes memory from spec.spark.driver and spec.spark.executor of the policy"
_COUNT = "set minInstances, maxInstances (spec.spark.executor) and spec.spark.dynamicAllocation of the policy"
_ADDRESS = "executors find their driver by it"
_SECRECY = "it protects the credentials that tasks carry"
_SCRATCH = "temporary files are in /tmp, see scratchSize in the policy"
_TWICE = "a killed copy of a task would leave files behind"
_CLEAN_UP = "the objects that Spark creates for a run must end with it"
_OURS = "Lithify starts the driver itself"

_REFUSED_POD_SETTINGS: Mapping[str, str] = {
    "spark.kubernetes.namespace": _WHERE,
    "spark.kubernetes.context": _WHERE,
    "spark.kubernetes.trust.certificates": _WHERE,
    "spark.kubernetes.authenticate.": "set spec.spark.serviceAccountName of the policy instead",
    "spark.kubernetes.driver.master": _WHERE,
    "spark.kubernetes.driver.pod.name": _WHERE,
    "spark.kubernetes.executor.podNamePrefix": _WHERE,
    "spark.kubernetes.executor.useDriverPodIP": _ADDRESS,
    "spark.kubernetes.container.image": _IMAGE,
    "spark.kubernetes.driver.container.image": _IMAGE,
    "spark.kubernetes.executor.container.image": _IMAGE,
    "spark.kubernetes.executor.deleteOnTermination": _CLEAN_UP,
    "spark.kubernetes.driver.service.": _CLEAN_UP,
    "spark.kubernetes.driver.ownPersistentVolumeClaim": _CLEAN_UP,
    "spark.kubernetes.local.dirs.tmpfs": _SCRATCH,
    "spark.kubernetes.memoryOverheadFactor": _MEMORY,
    "spark.kubernetes.allocation.maximum": _COUNT,
    "spark.kubernetes.file.upload.path": _CODE,
    "spark.kubernetes.executor.pod.": _CODE,
    "spark.kubernetes.driver.pod.": _CODE,
    "spark.kubernetes.decommission.script": _CODE,
    "spark.kubernetes.executor.podTemplate": _TEMPLATE,
    "spark.kubernetes.driver.podTemplate": _TEMPLATE,
    "spark.kubernetes.submi": _OURS,
}
"""Specific messages for some refused settings, instead of the general one."""

_REFUSED: Mapping[str, str] = {
    "spark.master": _WHERE,
    "spark.remote": _WHERE,
    "spark.api.mode": _WHERE,
    "spark.submit.": _WHERE,
    "spark.app.id": _WHERE,
    "spark.app.attempt.id": _WHERE,
    "spark.home": _WHERE,
    "spark.executor.id": _WHERE,
    "spark.driver.host": _ADDRESS,
    "spark.driver.port": _ADDRESS,
    "spark.driver.bindAddress": _ADDRESS,
    "spark.driver.blockManager.port": _ADDRESS,
    "spark.blockManager.port": _ADDRESS,
    "spark.port.maxRetries": _ADDRESS,
    "spark.driver.memory": "set spec.spark.driver.memory of the policy instead",
    "spark.driver.minMemoryOverhead": _MEMORY,
    "spark.driver.cores": "set spec.spark.driver.cores of the policy instead",
    "spark.driver.resource": _TEMPLATE,
    "spark.driver.supervise": _OURS,
    "spark.driver.timeout": "set spec.deadlines of the policy instead",
    "spark.executor.instances": _COUNT,
    "spark.executor.cores": "set spec.spark.executor.cores of the policy instead",
    "spark.executor.memory": "set spec.spark.executor.memory of the policy instead",
    "spark.executor.minMemoryOverhead": _MEMORY,
    "spark.executor.pyspark.memory": _MEMORY,
    "spark.executor.resource.": _TEMPLATE,
    "spark.executorEnv.": _TEMPLATE,
    "spark.memory.offHeap.": _MEMORY,
    "spark.task.cpus": "a task has one core; set spec.spark.executor.cores of the policy instead",
    "spark.task.resource.": _TEMPLATE,
    "spark.dynamicAllocation.enabled": _COUNT,
    "spark.dynamicAllocation.minExecutors": _COUNT,
    "spark.dynamicAllocation.maxExecutors": _COUNT,
    "spark.dynamicAllocation.initialExecutors": _COUNT,
    "spark.dynamicAllocation.shuffleTracking.enabled": _COUNT,
    "spark.dynamicAllocation.testing": _COUNT,
    "spark.shuffle.service.": "there is no shuffle, and no service for it",
    "spark.speculation": _TWICE,
    "spark.local.dir": _SCRATCH,
    "spark.authenticate": _SECRECY,
    "spark.network.crypto.": _SECRECY,
    "spark.io.encryption.": _SECRECY,
    "spark.io.crypto.": _SECRECY,
    "spark.ssl.": _SECRECY,
    "spark.driver.extraClassPath": _CODE,
    "spark.driver.defaultExtraClassPath": _CODE,
    "spark.driver.userClassPathFirst": _CODE,
    "spark.driver.extraJavaOptions": _CODE,
    "spark.driver.defaultJavaOptions": _CODE,
    "spark.driver.extraLibraryPath": _CODE,
    "spark.executor.extraClassPath": _CODE,
    "spark.executor.defaultExtraClassPath": _CODE,
    "spark.executor.userClassPathFirst": _CODE,
    "spark.executor.extraJavaOptions": _CODE,
    "spark.executor.defaultJavaOptions": _CODE,
    "spark.executor.extraLibraryPath": _CODE,
    "spark.executor.allowSparkContext": _CODE,
    "spark.jars": _CODE,
    "spark.files": _CODE,
    "spark.archives": _CODE,
    "spark.plugins": _CODE,
    "spark.extraListeners": _CODE,
    "spark.pyspark.": _CODE,
    "spark.python.daemon.module": _CODE,
    "spark.python.worker.module": _CODE,
    "spark.python.use.daemon": _CODE,
    "spark.resources.discoveryPlugin": _CODE,
    "spark.testing": "it is for Spark's own tests",
}
"""Settings, or prefixes of settings, that a policy must not hold, and why."""


def reason_against(key: str) -> str | None:
    """Why a policy must not hold a setting; None if it may."""
    if not key.startswith(KUBERNETES):
        return _first(_REFUSED, key)
    return None if key in ALLOWED else _first(_REFUSED_POD_SETTINGS, key) or _TEMPLATE


def _first(reasons: Mapping[str, str], key: str) -> str | None:
    # Other settings with the same prefix, for example spark.speculation.quantile, have no effect alone.
    return next((reason for name, reason in reasons.items() if key.startswith(name)), None)
