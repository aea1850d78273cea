"""What a policy's pod template must not hold: what leaves the pod, and what Lithify sets itself.

Pure; used by `template`. A field that would be replaced in silence is refused as well, by name. What else a
template says, the API server and the cluster's admission judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HOST = "it reaches out of the pod; an operator started with --allow-host-access lets it pass"

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_HOST_SPACES = ("hostNetwork", "hostPID", "hostIPC")
_OWN_METADATA = {
    "name": "pods are named after their Compaction",
    "generateName": "pods are named after their Compaction",
    "namespace": "pods are in the namespace of their Compaction",
    "ownerReferences": "pods belong to their Compaction",
    "finalizers": "pods have to be free to go",
}
_OWN_SPEC = {
    "nodeName": "it goes past the scheduler; use nodeSelector or affinity",
    "hostname": "Spark names the host",
    "activeDeadlineSeconds": "set deadlines in the policy instead",
}
_OWN_CONTAINER = {
    "image": "set spark.image of the policy instead",
    "command": "it is what Lithify runs",
    "args": "it is what Lithify runs",
    "terminationMessagePath": "results are read from the usual place",
    "terminationMessagePolicy": "results are read from the usual place",
    "lifecycle": "Spark sets what happens at the end of a pod",
    "restartPolicy": "Lithify starts pods anew itself",
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


Refusal = tuple[str, str]
"""A field, below that of the template, and why it must not be there."""


def refusals(template: Mapping[str, Any], container: Mapping[str, Any], bounds: Bounds) -> Iterator[Refusal]:
    """Everything in a template that must not be there.

    Args:
        template: of the shape of a pod.
        container: which of its containers becomes ours; empty if there is none.
        bounds: what is allowed.
    """
    spec = template.get("spec") or {}
    yield from _set_by_us(template, spec, container, bounds)
    if not bounds.host_access:
        yield from _reaching_out(spec)


def _set_by_us(
    template: Mapping[str, Any], spec: Mapping[str, Any], container: Mapping[str, Any], bounds: Bounds
) -> Iterator[Refusal]:
    for name, why in _OWN_METADATA.items():
        if name in (template.get("metadata") or {}):
            yield f"metadata.{name}", why
    for name, why in _OWN_SPEC.items():
        if name in spec:
            yield f"spec.{name}", why
    if spec.get("restartPolicy", "Never") != "Never":
        yield "spec.restartPolicy", "a pod is one attempt, so it is Never"
    for name in ("serviceAccountName", "serviceAccount"):
        if spec.get(name, bounds.service_account) != bounds.service_account:
            yield f"spec.{name}", "set spark.serviceAccountName of the policy instead"
    for name, why in _OWN_CONTAINER.items():
        if name in container:
            yield f"spec.containers.{name}", why
    yield from _amounts(container)


def _amounts(container: Mapping[str, Any]) -> Iterator[Refusal]:
    resources = container.get("resources") or {}
    for kind in ("requests", "limits"):
        for name in _AMOUNTS:
            if isinstance(resources, Mapping) and name in (resources.get(kind) or {}):
                why = "set cores and memory in the policy instead"
                yield f"spec.containers.resources.{kind}.{name}", why


def _reaching_out(spec: Mapping[str, Any]) -> Iterator[Refusal]:
    for name in _HOST_SPACES:
        if spec.get(name):
            yield f"spec.{name}", HOST
    for index, volume in enumerate(_items(spec.get("volumes"))):
        if "hostPath" in volume:
            yield f"spec.volumes[{index}].hostPath", HOST
    yield from _privileges("spec.securityContext", spec.get("securityContext"))
    for kind in _CONTAINERS:
        for index, container in enumerate(_items(spec.get(kind))):
            field = f"spec.{kind}[{index}]"
            yield from _privileges(f"{field}.securityContext", container.get("securityContext"))
            if any(port.get("hostPort") for port in _items(container.get("ports"))):
                yield f"{field}.ports", HOST


def _privileges(field: str, context: object) -> Iterator[Refusal]:
    if not isinstance(context, Mapping):
        return
    found = {
        "privileged": bool(context.get("privileged")),
        "allowPrivilegeEscalation": bool(context.get("allowPrivilegeEscalation")),
        "capabilities.add": bool(_mapping(context.get("capabilities")).get("add")),
        "procMount": context.get("procMount", "Default") != "Default",
        "runAsNonRoot": context.get("runAsNonRoot") is False,
        "runAsUser": context.get("runAsUser") == 0,
        "seccompProfile": _mapping(context.get("seccompProfile")).get("type") == "Unconfined",
        "appArmorProfile": _mapping(context.get("appArmorProfile")).get("type") == "Unconfined",
        "windowsOptions.hostProcess": bool(_mapping(context.get("windowsOptions")).get("hostProcess")),
    }
    for name, is_there in found.items():
        if is_there:
            yield f"{field}.{name}", HOST


def _items(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [one for one in value if isinstance(one, Mapping)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
