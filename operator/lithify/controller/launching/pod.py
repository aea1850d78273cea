"""The driver's pod: its manifest, made from an order, and the template that Spark makes executors from.

Pure; called by `kubernetes`. The pod's name follows from the Compaction's, so the API server itself refuses a
second driver. The kubelet mounts credentials from their Secret; the manifest contains none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from lithify.contract.executors import ExecutorSizing, executor_count
from lithify.contract.order import (
    POD_ADDRESS_VARIABLE,
    POD_NAME_VARIABLE,
    POD_NAMESPACE_VARIABLE,
    SECRETS_VARIABLE,
    VARIABLE,
    write_instructions,
)
from lithify.controller.deciding.names import label_value
from lithify.controller.driver import DriverOrder
from lithify.controller.launching.kueue import driver_marks, executor_marks, is_group
from lithify.controller.launching.ordering import instructions_of, shared_instructions, task_memory
from lithify.controller.launching.ownership import mapping_in, metadata_of, text_in
from lithify.controller.launching.sizing import (
    driver_cpu_request,
    driver_memory,
    executor_memory,
    mebibytes,
    sizing_of,
)
from lithify.controller.launching.spark_conf import cluster_conf, conf_problem, executor_prefix
from lithify.controller.launching.template import RESTRICTED, Plain, completed
from lithify.errors import InvalidOption
from lithify.resources.names import (
    ANNOTATION_MEMBERS,
    API_VERSION,
    COMPACTION,
    FINALIZER_DRIVER,
    LABEL_ATTEMPT,
    LABEL_COMPACTION,
    LABEL_SHARED,
    LABEL_TABLE,
    ObjectKey,
)
from lithify.resources.quantities import quantity_bytes

LABEL_ROLE = "app.kubernetes.io/component"
LABEL_MANAGER = "app.kubernetes.io/managed-by"
MANAGER = "lithify"
DRIVER_ROLE = "driver"
EXECUTOR_ROLE = "executor"
DRIVER_LABELS = f"{LABEL_MANAGER}={MANAGER},{LABEL_ROLE}={DRIVER_ROLE}"
"""Selects the pods of all drivers."""

_SUFFIX = "-lithify"
"""A suffix that other tools do not use; Spark's own drivers end with `-driver`. Host names have 63
characters."""
_SHARED_SUFFIX = "-shared-lithify"
_HOST_LENGTH = 63
_NAME_LENGTH = 253
_HASH_LENGTH = 8
_LARGEST_ORDER = 120_000
"""Bytes; Linux limits a single environment variable of a process to 128 KiB."""
_SECRETS_FOLDER = "/var/run/lithify/secrets"
_SECRETS_VOLUME = "lithify-secrets"
_SPARK_CONTAINER = "spark-kubernetes-executor"
_SCRATCH_VOLUME = "spark-local-dir-1"
"""With this name, Spark uses it for its own temporary files, too; a template's volume of the name replaces
it."""
_SCRATCH_FOLDER = "/tmp"  # noqa: S108  # a volume of the pod's own
_USER = 185
"""The user of our images. A template may name another one, as OpenShift requires."""
APP_LABEL = "spark-app-selector"
_ROLE_LABEL = "spark-role"
"""Spark's own labels: tools that know them, for example YuniKorn, group driver and executors by them."""


@dataclass(frozen=True, slots=True)
class PodSettings:
    """The operator's settings for pods.

    Attributes:
        image: of drivers and executors, where a policy names none; None if each policy must.
        command: what the driver's container runs.
        master: URL of the API server for drivers, in Spark's form.
        grace_seconds: time between the request to end a driver and its kill.
        host_access: whether pod templates may reach out of their pods.
        isolated: whether each run gets a NetworkPolicy.
        egress: what pods of a run may reach, as rules of that policy; None if it is not limited.
    """

    image: str | None = None
    command: tuple[str, ...] = ("/usr/bin/tini", "--", "lithify", "drive")
    master: str = "k8s://https://kubernetes.default.svc"
    grace_seconds: int = 60
    host_access: bool = False
    isolated: bool = False
    egress: Sequence[Mapping[str, Any]] | None = None


def pod_key(compaction: ObjectKey) -> ObjectKey:
    """The driver pod of a Compaction."""
    return ObjectKey(compaction.namespace, _shortened(compaction.name, _NAME_LENGTH - len(_SUFFIX)) + _SUFFIX)


def shared_pod_key(lead: ObjectKey) -> ObjectKey:
    """The pod of the driver that several Compactions share; named after one of them."""
    name = _shortened(lead.name, _HOST_LENGTH - len(_SHARED_SUFFIX))
    return ObjectKey(lead.namespace, name + _SHARED_SUFFIX)


def _shortened(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    digest = sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: length - _HASH_LENGTH - 1].rstrip('-.')}-{digest}"


def driver_pod(order: DriverOrder, settings: PodSettings, members: Sequence[DriverOrder] = ()) -> Plain:
    """The manifest of the driver's pod.

    Args:
        order: what the driver runs.
        settings: the operator's.
        members: the orders of all that share it, if several do; `order` is the first of them.

    Raises:
        InvalidOption: the policy cannot be used; the message says why.
    """
    problem = conf_problem(order.spark, host_access=settings.host_access)
    if problem is not None:
        raise InvalidOption("the CompactionPolicy", problem)
    image = order.spark.image or settings.image
    if image is None:
        problem = "it must be set, because the operator has no default image"
        raise InvalidOption("spec.spark.image", problem)
    if members:
        order = replace(order, planned_bytes=sum(one.planned_bytes for one in members))
    sizing = _sizing(order)
    defaults = _defaults(order.spark.driver.scratch_size)
    defaults["spec"]["terminationGracePeriodSeconds"] = settings.grace_seconds
    pod = completed(
        "spec.spark.driver.podTemplate",
        order.spark.driver.pod_template,
        pod={"metadata": _metadata(order, sizing, members), "spec": _spec(order)},
        container=_container(order, settings, image, sizing, members),
        defaults=defaults,
    )
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _sizing(order: DriverOrder) -> ExecutorSizing:
    """The sizing of a run; a group of Kueue's cannot grow after admission."""
    sizing = sizing_of(order.spark, order.bytes_per_second)
    if not is_group(order.spark.kueue):
        return sizing
    count = executor_count(sizing, order.planned_bytes)
    return replace(sizing, fewest=min(sizing.fewest, count), most=count)


def _defaults(scratch: str | None) -> Plain:
    """Defaults that a template may replace."""
    empty = {} if scratch is None else {"sizeLimit": _quantity(quantity_bytes(scratch))}
    identity = {"runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER}
    return {
        "spec": {
            "securityContext": {**identity, "fsGroupChangePolicy": "OnRootMismatch"},
            "volumes": [{"name": _SCRATCH_VOLUME, "emptyDir": empty}],
        },
        "container": {"volumeMounts": [{"name": _SCRATCH_VOLUME, "mountPath": _SCRATCH_FOLDER}]},
    }


def _key(order: DriverOrder, members: Sequence[DriverOrder]) -> ObjectKey:
    return shared_pod_key(order.key) if members else pod_key(order.key)


def _metadata(order: DriverOrder, sizing: ExecutorSizing, members: Sequence[DriverOrder]) -> Plain:
    key = _key(order, members)
    marks = driver_marks(order.spark.kueue, executor_prefix(order), sizing.most)
    spark = {APP_LABEL: executor_prefix(order), _ROLE_LABEL: DRIVER_ROLE}
    shared = {LABEL_SHARED: label_value(order.key.name)} if members else {}
    annotations = {**marks.annotations, **_shared_by(members)}
    return {
        "name": key.name,
        "namespace": key.namespace,
        "labels": {
            **_labels(order, DRIVER_ROLE, members),
            LABEL_COMPACTION: label_value(order.key.name),
            **shared,
            **spark,
            **marks.labels,
        },
        **({"annotations": annotations} if annotations else {}),
        "ownerReferences": [_owner(one, is_alone=not members) for one in members or (order,)],
        "finalizers": [FINALIZER_DRIVER],
    }


def _owner(order: DriverOrder, *, is_alone: bool) -> Plain:
    return {
        "apiVersion": API_VERSION,
        "kind": COMPACTION.name,
        "name": order.key.name,
        "uid": order.uid,
        "controller": is_alone,
        "blockOwnerDeletion": False,
    }


def _shared_by(members: Sequence[DriverOrder]) -> dict[str, str]:
    if not members:
        return {}
    names = [[one.key.name, one.uid] for one in members]
    return {ANNOTATION_MEMBERS: json.dumps(names, separators=(",", ":"))}


def _labels(order: DriverOrder, role: str, members: Sequence[DriverOrder]) -> dict[str, str]:
    """Labels of drivers and executors; `LABEL_COMPACTION` delivers a pod's events, so executors lack it.

    A pod that several tables share has no table's name.
    """
    table = {} if members else {LABEL_TABLE: label_value(order.lake_table)}
    return {LABEL_MANAGER: MANAGER, LABEL_ROLE: role, LABEL_ATTEMPT: str(order.attempt), **table}


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
    reference = order.secret_ref
    if reference is not None:
        keys = sorted(set(reference.options.values()))
        # Optional, or a pod without the key would wait without a message; the driver reports what is missing.
        secret = {
            "secretName": reference.name,
            "optional": True,
            "defaultMode": 0o444,
            "items": [{"key": key, "path": key} for key in keys],
        }
        spec["volumes"] = [{"name": _SECRETS_VOLUME, "secret": secret}]
    return spec


def _container(
    order: DriverOrder,
    settings: PodSettings,
    image: str,
    sizing: ExecutorSizing,
    members: Sequence[DriverOrder],
) -> Plain:
    amounts = _amounts(order)
    container: Plain = {
        "image": image,
        "command": list(settings.command),
        "args": [],
        "env": _environment(order, settings, image, sizing, members),
        "resources": {"requests": {**amounts, "cpu": _cpu_request(order, amounts)}, "limits": amounts},
        "securityContext": dict(RESTRICTED),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    if order.spark.image_pull_policy is not None:
        container["imagePullPolicy"] = order.spark.image_pull_policy.value
    if order.secret_ref is not None:
        mount = {"name": _SECRETS_VOLUME, "mountPath": _SECRETS_FOLDER, "readOnly": True}
        container["volumeMounts"] = [mount]
    return container


def _amounts(order: DriverOrder) -> dict[str, str]:
    """Resources of the driver's container; at least those of the group's pods, which Kueue counts like it."""
    spark = order.spark
    cores, memory = spark.driver.cores, driver_memory(spark, order.memory_factor)
    if is_group(spark.kueue):
        cores = max(cores, spark.executor.cores)
        memory = max(memory, executor_memory(spark, order.memory_factor, task_memory(order)))
    return {"cpu": str(cores), "memory": _quantity(memory)}


def _cpu_request(order: DriverOrder, amounts: Mapping[str, str]) -> str:
    """The driver's CPU request; equals its limit where Kueue counts it."""
    is_counted = is_group(order.spark.kueue)
    return amounts["cpu"] if is_counted else driver_cpu_request(order.spark.driver.cores)


def _quantity(size: int) -> str:
    return f"{mebibytes(size)}Mi"


def _environment(
    order: DriverOrder,
    settings: PodSettings,
    image: str,
    sizing: ExecutorSizing,
    members: Sequence[DriverOrder],
) -> list[Plain]:
    instructions = instructions_of(
        order,
        master=settings.master,
        conf=cluster_conf(order, sizing, pod=_key(order, members).name, image=image),
        executor_template=executor_template(order, sizing, members),
        sizing=sizing,
    )
    if members:
        instructions = shared_instructions(instructions, members)
    text = _without_dollars(write_instructions(instructions))
    if len(text.encode()) > _LARGEST_ORDER:
        problem = "partitions, options and templates together are too long to be passed to a driver"
        raise InvalidOption("spec.partitions", problem)
    from_pod = {
        POD_NAME_VARIABLE: "metadata.name",
        POD_NAMESPACE_VARIABLE: "metadata.namespace",
        POD_ADDRESS_VARIABLE: "status.podIP",
    }
    return [
        {"name": VARIABLE, "value": text},
        {"name": SECRETS_VARIABLE, "value": _SECRETS_FOLDER},
        *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in from_pod.items()),
    ]


def _without_dollars(text: str) -> str:
    """JSON with an escape in place of each dollar: the kubelet replaces $(NAME) and $$ in values."""
    return text.replace("$", "\\u0024")


def executor_template(
    order: DriverOrder, sizing: ExecutorSizing, members: Sequence[DriverOrder] = ()
) -> Plain:
    """The template that Spark makes executor pods from; Spark adds name, image, memory and the like."""
    marks = executor_marks(order.spark.kueue, executor_prefix(order), sizing.most)
    metadata: Plain = {"labels": {**_labels(order, EXECUTOR_ROLE, members), **marks.labels}}
    if marks.annotations:
        metadata["annotations"] = marks.annotations
    spec = {
        "enableServiceLinks": False,
        "serviceAccountName": order.spark.service_account_name,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    defaults = _defaults(order.spark.executor.scratch_size)
    defaults["spec"]["automountServiceAccountToken"] = False  # only drivers talk to the API server
    template = completed(
        "spec.spark.executor.podTemplate",
        order.spark.executor.pod_template,
        pod={"metadata": metadata, "spec": spec},
        container={"securityContext": dict(RESTRICTED)},
        defaults=defaults,
    )
    template["spec"]["containers"][0]["name"] = _SPARK_CONTAINER
    return {"apiVersion": "v1", "kind": "Pod", **template}


def executors_of(driver: Mapping[str, Any]) -> str:
    """Selects the executors of a driver's pod; empty if the pod lacks the labels."""
    app = text_in(mapping_in(metadata_of(driver), "labels"), APP_LABEL)
    return f"{APP_LABEL}={app},{_ROLE_LABEL}={EXECUTOR_ROLE}" if app else ""
