"""The driver's pod: an order as a manifest, and the template that Spark makes executors from.

Pure; called by `kubernetes`. The pod's name follows from the Compaction's, so the API server itself refuses a
second driver. Credentials are mounted from their Secret by the kubelet and appear nowhere in the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from lithify.controller.deciding.names import label_value
from lithify.controller.driver import DriverOrder
from lithify.controller.launching.instructions import (
    POD_ADDRESS_VARIABLE,
    POD_NAME_VARIABLE,
    POD_NAMESPACE_VARIABLE,
    SECRETS_VARIABLE,
    VARIABLE,
    instructions_of,
    write_instructions,
)
from lithify.controller.launching.spark_conf import cluster_conf, conf_problem, mebibytes
from lithify.controller.launching.template import CONTAINER, RESTRICTED, Plain, completed
from lithify.errors import InvalidOption
from lithify.resources.names import (
    API_VERSION,
    COMPACTION,
    FINALIZER_DRIVER,
    LABEL_ATTEMPT,
    LABEL_COMPACTION,
    LABEL_TABLE,
    ObjectKey,
)
from lithify.resources.policy import SparkTemplate
from lithify.resources.quantities import quantity_bytes

LABEL_ROLE = "app.kubernetes.io/component"
LABEL_MANAGER = "app.kubernetes.io/managed-by"
MANAGER = "lithify"
DRIVER_ROLE = "driver"
EXECUTOR_ROLE = "executor"
DRIVER_LABELS = f"{LABEL_MANAGER}={MANAGER},{LABEL_ROLE}={DRIVER_ROLE}"
"""Selects the pods of all drivers."""

_SUFFIX = "-driver"
_NAME_LENGTH = 253
_HASH_LENGTH = 8
_LARGEST_ORDER = 120_000
"""Bytes; Linux passes no longer single variable to a process than 128 KiB."""
_SECRETS_FOLDER = "/var/run/lithify/secrets"
_SECRETS_VOLUME = "lithify-secrets"
_SPARK_CONTAINER = "spark-kubernetes-executor"


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What the operator was started with.

    Attributes:
        image: of drivers and executors, where a policy names none; None if it has to.
        command: what the driver's container runs.
        master: how drivers reach the API server, as Spark wants it.
        grace_seconds: how long a driver that was asked to end may take.
    """

    image: str | None = None
    command: tuple[str, ...] = ("lithify", "drive")
    master: str = "k8s://https://kubernetes.default.svc"
    grace_seconds: int = 60


def pod_key(compaction: ObjectKey) -> ObjectKey:
    """The driver pod of a Compaction."""
    return ObjectKey(compaction.namespace, _shortened(compaction.name, _NAME_LENGTH - len(_SUFFIX)) + _SUFFIX)


def _shortened(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    digest = sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: length - _HASH_LENGTH - 1].rstrip('-.')}-{digest}"


def driver_pod(order: DriverOrder, settings: PodSettings) -> Plain:
    """The manifest of the driver's pod.

    Raises:
        InvalidOption: the policy cannot be used; the message says why.
    """
    problem = conf_problem(order.spark)
    if problem is not None:
        raise InvalidOption("spark", problem)
    spark = order.spark
    image = spark.image or _template_image(spark) or settings.image
    if image is None:
        raise InvalidOption("spark.image", "it has to be set, because the operator was started without one")
    pod = completed(
        "spark.driver.podTemplate",
        spark.driver.pod_template,
        pod={"metadata": _metadata(order), "spec": _spec(order)},
        container=_container(order, settings, image),
    )
    pod["spec"].setdefault("terminationGracePeriodSeconds", settings.grace_seconds)
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _template_image(spark: SparkTemplate) -> str | None:
    template = spark.driver.pod_template or {}
    containers = template.get("spec", {}).get("containers", [])
    named = [one for one in containers if one.get("name") == CONTAINER]
    image: str | None = next((one.get("image") for one in named or containers), None)
    return image


def _metadata(order: DriverOrder) -> Plain:
    key = pod_key(order.key)
    owner = {
        "apiVersion": API_VERSION,
        "kind": COMPACTION.name,
        "name": order.key.name,
        "uid": order.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {
        "name": key.name,
        "namespace": key.namespace,
        "labels": {
            LABEL_MANAGER: MANAGER,
            LABEL_ROLE: DRIVER_ROLE,
            LABEL_COMPACTION: label_value(order.key.name),
            LABEL_ATTEMPT: str(order.attempt),
            LABEL_TABLE: label_value(order.lake_table),
        },
        "ownerReferences": [owner],
        "finalizers": [FINALIZER_DRIVER],
    }


def _spec(order: DriverOrder) -> Plain:
    spec: Plain = {
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "serviceAccountName": order.spark.service_account_name,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    secrets = [{"name": secret.name} for secret in order.spark.image_pull_secrets]
    if secrets:
        spec["imagePullSecrets"] = secrets
    reference = order.catalog.secret_ref
    if reference is not None:
        keys = sorted(set(reference.options.values()))
        # Optional, or a pod without the key would wait for it in silence; the driver says what is missing.
        secret = {
            "secretName": reference.name,
            "optional": True,
            "defaultMode": 0o444,
            "items": [{"key": key, "path": key} for key in keys],
        }
        spec["volumes"] = [{"name": _SECRETS_VOLUME, "secret": secret}]
    return spec


def _container(order: DriverOrder, settings: PodSettings, image: str) -> Plain:
    spark = order.spark
    memory = f"{mebibytes(int(quantity_bytes(spark.driver.memory) * order.memory_factor))}Mi"
    amounts = {"cpu": str(spark.driver.cores), "memory": memory}
    container: Plain = {
        "image": image,
        "command": list(settings.command),
        "args": [],
        "env": _environment(order, settings, image),
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": dict(RESTRICTED),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    if spark.image_pull_policy is not None:
        container["imagePullPolicy"] = spark.image_pull_policy.value
    if order.catalog.secret_ref is not None:
        mount = {"name": _SECRETS_VOLUME, "mountPath": _SECRETS_FOLDER, "readOnly": True}
        container["volumeMounts"] = [mount]
    return container


def _environment(order: DriverOrder, settings: PodSettings, image: str) -> list[Plain]:
    instructions = instructions_of(
        order,
        master=settings.master,
        conf=cluster_conf(order, pod=pod_key(order.key).name, image=image),
        executor_template=executor_template(order),
    )
    text = write_instructions(instructions)
    if len(text.encode()) > _LARGEST_ORDER:
        problem = "partitions, options and templates are too long together to be passed to a driver"
        raise InvalidOption("partitions", problem)
    from_pod = {
        POD_NAME_VARIABLE: "metadata.name",
        POD_NAMESPACE_VARIABLE: "metadata.namespace",
        POD_ADDRESS_VARIABLE: "status.podIP",
    }
    return [
        {"name": VARIABLE, "value": _unexpanded(text)},
        {"name": SECRETS_VARIABLE, "value": _SECRETS_FOLDER},
        *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in from_pod.items()),
    ]


def _unexpanded(text: str) -> str:
    """The kubelet replaces $(NAME) in values unless the dollar is doubled."""
    return text.replace("$(", "$$(")


def executor_template(order: DriverOrder) -> Plain:
    """What Spark makes executor pods from; it adds name, image, memory and the like by itself."""
    labels = {
        LABEL_MANAGER: MANAGER,
        LABEL_ROLE: EXECUTOR_ROLE,
        LABEL_ATTEMPT: str(order.attempt),
        LABEL_TABLE: label_value(order.lake_table),
    }
    spec = {
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    template = completed(
        "spark.executor.podTemplate",
        order.spark.executor.pod_template,
        pod={"metadata": {"labels": labels}, "spec": spec},
        container={"securityContext": dict(RESTRICTED)},
    )
    template["spec"]["containers"][0]["name"] = _SPARK_CONTAINER
    return {"apiVersion": "v1", "kind": "Pod", **template}


def owner_of(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The reference to the Compaction that a pod belongs to."""
    owners = pod.get("metadata", {}).get("ownerReferences") or []
    return next((one for one in owners if one.get("kind") == COMPACTION.name and one.get("controller")), None)
