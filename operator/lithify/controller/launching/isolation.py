"""Fields that a policy's pod template must not hold: those that reach out of the pod, and those Lithify sets.

Pure; used by `template`. A field that Lithify would replace is refused by name rather than ignored. The API
server and the cluster's admission check the rest of a template. `pod_security` lists what reaches out of a
pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lithify.controller.launching.pod_security import Plain, Refusal, violations
from lithify.resources.names import GROUP
from lithify.resources.pod_template.volumes import FORMER

_OWN_METADATA = {
    "name": "pods are named after their Compaction",
    "generateName": "pods are named after their Compaction",
    "namespace": "pods are in the namespace of their Compaction",
    "ownerReferences": "pods belong to their Compaction",
    "finalizers": "a finalizer would keep ended pods",
}
_OWN_SPEC = {
    "nodeName": "it bypasses the scheduler; use nodeSelector or affinity",
    "ephemeralContainers": "Kubernetes refuses new pods with them",
    "hostname": "Spark names the host",
    "hostnameOverride": "Spark names the host",
    "priority": "Kubernetes takes it from priorityClassName; set that instead",
    "activeDeadlineSeconds": "set spec.deadlines of the policy instead",
}
_OWN_CONTAINER = {
    "image": "set spec.spark.image of the policy instead",
    "command": "Lithify sets it",
    "args": "Lithify sets it",
    "terminationMessagePath": "Lithify reads results from the default path",
    "terminationMessagePolicy": "Lithify reads results from the default path",
    "lifecycle": "Spark sets the hooks of a pod",
    "restartPolicy": "Lithify itself starts a new pod for each attempt",
    "restartPolicyRules": "Lithify itself starts a new pod for each attempt",
}
_AMOUNTS = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What templates may do.

    Attributes:
        service_account: the only one that pods may run as.
        host_access: whether they may reach out of their pod.
    """

    service_account: str
    host_access: bool = False


def refusals(template: Plain, container: Plain, bounds: Bounds) -> Iterator[Refusal]:
    """Returns all forbidden fields of a template.

    Args:
        template: of the shape that its schema gives it.
        container: name of its container that becomes ours; empty if there is none.
        bounds: what is allowed.
    """
    metadata, spec = template.get("metadata", {}), template.get("spec", {})
    yield from _own_fields(metadata, spec, container)
    yield from _own_values(metadata, spec, bounds)
    yield from _amounts("spec.containers.resources", container.get("resources", {}))
    yield from _amounts("spec.resources", spec.get("resources", {}))
    for index, volume in enumerate(spec.get("volumes", ())):
        for kind in FORMER:
            if kind in volume:
                yield f"spec.volumes[{index}].{kind}", "use a persistentVolumeClaim instead"
    if not bounds.host_access:
        yield from violations(metadata, spec)


def _own_fields(metadata: Plain, spec: Plain, container: Plain) -> Iterator[Refusal]:
    for path, found, own in (
        ("metadata", metadata, _OWN_METADATA),
        ("spec", spec, _OWN_SPEC),
        ("spec.containers", container, _OWN_CONTAINER),
    ):
        for name, why in own.items():
            if name in found:
                yield f"{path}.{name}", why


def _own_values(metadata: Plain, spec: Plain, bounds: Bounds) -> Iterator[Refusal]:
    for kind in ("labels", "annotations"):
        for name in metadata.get(kind, {}):
            if name.startswith(f"{GROUP}/"):
                yield f"metadata.{kind}[{name}]", "the operator identifies its pods by names with this prefix"
    if spec.get("restartPolicy", "Never") != "Never":
        yield "spec.restartPolicy", "it must be Never, because a pod is one attempt"
    for name in ("serviceAccountName", "serviceAccount"):
        if spec.get(name, bounds.service_account) != bounds.service_account:
            yield f"spec.{name}", "set spec.spark.serviceAccountName of the policy instead"


def _amounts(field: str, resources: Plain) -> Iterator[Refusal]:
    for kind in ("requests", "limits"):
        for name in _AMOUNTS:
            if name in resources.get(kind, {}):
                yield f"{field}.{kind}.{name}", "set cores and memory in the policy instead"
