"""Which Spark settings a policy may hold."""

from __future__ import annotations

import pytest

from lithify.controller.launching.spark_settings import ALLOWED, reason_against
from support.cases import case
from support.spark_settings import POD_SETTING_TREES, POD_SETTINGS


def test_of_the_settings_that_make_pods_exactly_those_pass_that_are_named() -> None:
    assert {key for key in POD_SETTINGS if reason_against(key) is None} == ALLOWED


@pytest.mark.parametrize("key", [*(f"{tree}x" for tree in POD_SETTING_TREES), "spark.kubernetes.of.tomorrow"])
def test_of_the_others_that_make_pods_none_passes(key: str) -> None:
    assert reason_against(key) is not None


REFUSED = {
    "it sets the cluster, account or identity": (
        "spark.master",
        "spark.submit.deployMode",
        "spark.remote",
        "spark.api.mode",
        "spark.app.id",
        "spark.kubernetes.namespace",
        "spark.kubernetes.context",
        "spark.kubernetes.driver.pod.name",
        "spark.kubernetes.executor.podNamePrefix",
    ),
    "serviceAccountName": (
        "spark.kubernetes.authenticate.driver.serviceAccountName",
        "spark.kubernetes.authenticate.oauthToken",
    ),
    "spark.image": ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image"),
    "executors find their driver by it": (
        "spark.driver.host",
        "spark.driver.port",
        "spark.driver.bindAddress",
        "spark.blockManager.port",
    ),
    "build an image": (
        "spark.jars",
        "spark.jars.packages",
        "spark.files",
        "spark.archives",
        "spark.plugins",
        "spark.extraListeners",
        "spark.driver.extraClassPath",
        "spark.driver.extraJavaOptions",
        "spark.driver.defaultJavaOptions",
        "spark.executor.extraClassPath",
        "spark.executor.extraJavaOptions",
        "spark.executor.extraLibraryPath",
        "spark.pyspark.python",
        "spark.python.worker.module",
        "spark.python.daemon.module",
        "spark.kubernetes.executor.pod.featureSteps",
        "spark.kubernetes.decommission.script",
        "spark.kubernetes.file.upload.path",
    ),
    "podTemplate": (
        "spark.kubernetes.executor.podTemplateFile",
        "spark.kubernetes.driver.podTemplateFile",
        "spark.kubernetes.executor.volumes.hostPath.x.mount.path",
        "spark.kubernetes.driver.volumes.hostPath.x.mount.path",
        "spark.kubernetes.executor.secrets.keys",
        "spark.kubernetes.executor.label.team",
        "spark.kubernetes.scheduler.name",
        "spark.executorEnv.LD_PRELOAD",
        "spark.executor.resource.gpu.amount",
    ),
    "memory": (
        "spark.driver.memory",
        "spark.driver.memoryOverhead",
        "spark.executor.memory",
        "spark.executor.memoryOverheadFactor",
        "spark.executor.pyspark.memory",
        "spark.memory.offHeap.size",
        "spark.kubernetes.memoryOverheadFactor",
    ),
    "spark.executor.cores": ("spark.executor.cores", "spark.task.cpus"),
    "minInstances": ("spark.executor.instances", "spark.dynamicAllocation.maxExecutors"),
    "credentials": (
        "spark.authenticate",
        "spark.authenticate.secret",
        "spark.network.crypto.enabled",
        "spark.io.encryption.enabled",
        "spark.ssl.enabled",
    ),
    "/tmp": ("spark.local.dir", "spark.kubernetes.local.dirs.tmpfs"),
    "end with it": ("spark.kubernetes.executor.deleteOnTermination",),
    "leave files behind": ("spark.speculation", "spark.speculation.quantile"),
}


@pytest.mark.parametrize(
    ("key", "word"), [case(key, word, id=key) for word, keys in REFUSED.items() for key in keys]
)
def test_refused_with_what_to_do_instead(key: str, word: str) -> None:
    assert word in str(reason_against(key))


@pytest.mark.parametrize(
    "key",
    [
        "spark.ui.enabled",
        "spark.eventLog.dir",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.task.maxFailures",
        "spark.excludeOnFailure.enabled",
        "spark.decommission.enabled",
        "spark.executor.maxNumFailures",
        "spark.executor.heartbeatInterval",
        "spark.network.timeout",
        "spark.dynamicAllocation.executorIdleTimeout",
        "spark.kubernetes.allocation.batch.size",
        "spark.kubernetes.executor.request.cores",
        "spark.scheduler.minRegisteredResourcesRatio",
        "spark.log.level",
    ],
)
def test_settings_that_tune_are_allowed(key: str) -> None:
    assert reason_against(key) is None
