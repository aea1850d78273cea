"""Fields of a pod template that reach out of the pod: the controls of the Pod Security Standards, and more.

Pure; called by `isolation`, for templates whose shape has been checked. Includes all that the baseline level
forbids, and beyond it: added capabilities, root and escalation, volumes that the node itself mounts, and
priority classes of the system, which evict other pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lithify.resources.pod_template.volumes import OF_THE_NODE
from lithify.settings import HOST_ACCESS

HOST = f"it reaches out of the pod; administrators of the operator can allow that with {HOST_ACCESS.field}"

Refusal = tuple[str, str]
"""A field, below that of the template, and why it must not be there."""
Plain = Mapping[str, Any]

_HOST_SPACES = ("hostNetwork", "hostPID", "hostIPC")
_CONTAINERS = ("containers", "initContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_SYSTEM_PRIORITY = "system-"
"""Kubernetes reserves names with this prefix."""
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP = ("seccomp.security.alpha.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/")
_SAFE_PROFILES = ("", "runtime/default", "docker/default")
_SAFE_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})


def violations(metadata: Plain, spec: Plain) -> Iterator[Refusal]:
    """Every field of a template that reaches out of the pod."""
    for path in _paths(metadata, spec):
        yield path, HOST


def _paths(metadata: Plain, spec: Plain) -> Iterator[str]:
    yield from (f"spec.{name}" for name in _HOST_SPACES if spec.get(name))
    if str(spec.get("priorityClassName", "")).startswith(_SYSTEM_PRIORITY):
        yield "spec.priorityClassName"
    yield from _annotations(metadata.get("annotations", {}))
    for index, volume in enumerate(spec.get("volumes", ())):
        yield from (f"spec.volumes[{index}].{kind}" for kind in OF_THE_NODE if kind in volume)
    yield from _pod_context(spec.get("securityContext", {}))
    for kind in _CONTAINERS:
        for index, container in enumerate(spec.get(kind, ())):
            yield from _container(f"spec.{kind}[{index}]", container)


def _annotations(annotations: Mapping[str, str]) -> Iterator[str]:
    """Annotations that set profiles in older releases of Kubernetes."""
    for name, profile in annotations.items():
        is_safe = profile in _SAFE_PROFILES or profile.startswith("localhost/")
        if name.startswith((_APP_ARMOR, *_SECCOMP)) and not is_safe:
            yield f"metadata.annotations[{name}]"


def _pod_context(context: Plain) -> Iterator[str]:
    field = "spec.securityContext"
    yield from _shared_context(field, context)
    for index, sysctl in enumerate(context.get("sysctls", ())):
        if sysctl.get("name") not in _SAFE_SYSCTLS:
            yield f"{field}.sysctls[{index}]"


def _container(field: str, container: Plain) -> Iterator[str]:
    context = container.get("securityContext", {})
    yield from _shared_context(f"{field}.securityContext", context)
    found = {
        "privileged": context.get("privileged"),
        "allowPrivilegeEscalation": context.get("allowPrivilegeEscalation"),
        "capabilities.add": context.get("capabilities", {}).get("add"),
        "procMount": context.get("procMount", "Default") != "Default",
    }
    yield from (f"{field}.securityContext.{name}" for name, is_there in found.items() if is_there)
    if any(port.get("hostPort") for port in container.get("ports", ())):
        yield f"{field}.ports"
    yield from _other_hosts(field, container)


def _other_hosts(field: str, container: Plain) -> Iterator[str]:
    """Probes and hooks that make the kubelet connect to hosts of the template's choice."""
    lifecycle = container.get("lifecycle", {})
    actions = {name: container.get(name, {}) for name in _PROBES}
    actions |= {f"lifecycle.{name}": lifecycle.get(name, {}) for name in _HOOKS}
    for name, action in actions.items():
        for kind in ("httpGet", "tcpSocket"):
            if action.get(kind, {}).get("host"):
                yield f"{field}.{name}.{kind}.host"


def _shared_context(field: str, context: Plain) -> Iterator[str]:
    """Checks of the fields that security contexts of pods and of containers share."""
    se_linux = context.get("seLinuxOptions", {})
    found = {
        "runAsNonRoot": context.get("runAsNonRoot") is False,
        "runAsUser": context.get("runAsUser") == 0,
        "seccompProfile": context.get("seccompProfile", {}).get("type") == "Unconfined",
        "appArmorProfile": context.get("appArmorProfile", {}).get("type") == "Unconfined",
        "windowsOptions.hostProcess": bool(context.get("windowsOptions", {}).get("hostProcess")),
        "seLinuxOptions.type": se_linux.get("type", "") not in _SELINUX_TYPES,
        "seLinuxOptions.user": bool(se_linux.get("user")),
        "seLinuxOptions.role": bool(se_linux.get("role")),
    }
    yield from (f"{field}.{name}" for name, is_there in found.items() if is_there)
