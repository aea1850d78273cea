"""The Pod Security Standards' baseline as pod templates, and what Lithify refuses beyond it.

Follows https://kubernetes.io/docs/concepts/security/pod-security-standards/ control by control. Unit tests
hold our checks against it, `hostile` a real API server.
"""

from __future__ import annotations

from typing import Any

from lithify.resources.pod_template.volumes import CONTAINED, OF_THE_NODE

Template = dict[str, Any]


def pod(**spec: Any) -> Template:
    return {"spec": spec}


def of_pod(**context: Any) -> Template:
    return pod(securityContext=context)


def containers(**fields: Any) -> list[Template]:
    """The fields in our container, in one beside it, and in one before them."""
    sidecar = {"name": "sidecar", **fields}
    return [
        pod(containers=[{"name": "lithify", **fields}]),
        pod(containers=[{"name": "lithify"}, sidecar]),
        pod(initContainers=[sidecar]),
    ]


def contexts(**context: Any) -> list[Template]:
    """A security context in each kind of container."""
    return containers(securityContext=context)


def everywhere(**context: Any) -> list[Template]:
    """A security context of the pod, and in each kind of container."""
    return [of_pod(**context), *contexts(**context)]


def beside(**fields: Any) -> list[Template]:
    """The fields in containers that are not ours."""
    return containers(**fields)[1:]


def annotated(name: str, value: str) -> list[Template]:
    return [{"metadata": {"annotations": {name: value}}}]


def profile(kind: str, name: str) -> list[Template]:
    place = {"localhostProfile": "team.json"} if name == "Localhost" else {}
    return everywhere(**{kind: {"type": name, **place}})


def probed(host: Template) -> list[Template]:
    """A host in each probe and each hook."""
    actions = [{"httpGet": {"port": 1, **host}}, {"tcpSocket": {"port": "http", **host}}]
    return [
        *(each for name in PROBES for action in actions for each in containers(**{name: action})),
        *(each for name in HOOKS for action in actions for each in beside(lifecycle={name: action})),
    ]


def each_volume(*kinds: str) -> list[Template]:
    return [pod(volumes=[{"name": "any", kind: VOLUMES[kind]}]) for kind in kinds]


VOLUMES: dict[str, Template] = {
    "configMap": {"name": "any"},
    "csi": {"driver": "csi.example.com"},
    "downwardAPI": {},
    "emptyDir": {},
    "ephemeral": {
        "volumeClaimTemplate": {
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        }
    },
    "fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0},
    "flexVolume": {"driver": "example.com/any"},
    "hostPath": {"path": "/"},
    "image": {"reference": "example.com/model:1", "pullPolicy": "Always"},
    "iscsi": {"targetPortal": "10.0.2.15:3260", "iqn": "iqn.2001-04.com.example:any", "lun": 0},
    "nfs": {"server": "nfs", "path": "/"},
    "persistentVolumeClaim": {"claimName": "any"},
    "projected": {"sources": [{"serviceAccountToken": {"path": "token", "audience": "sts.amazonaws.com"}}]},
    "secret": {"secretName": "any"},
}


PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/sidecar"
SECCOMP = ("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/x")
SYSCTLS_ALLOWED = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
)
SYSCTLS_FORBIDDEN = ("kernel.msgmax", "net.core.somaxconn", "vm.swappiness", "", "kernel/shm_rmid_forced")

BASELINE: list[tuple[str, list[Template], list[Template]]] = [
    (
        "HostProcess",
        everywhere(windowsOptions={"hostProcess": True}),
        everywhere(windowsOptions={"hostProcess": False}),
    ),
    (
        "Host Namespaces",
        [pod(hostNetwork=True), pod(hostPID=True), pod(hostIPC=True)],
        [pod(hostNetwork=False, hostPID=False, hostIPC=False)],
    ),
    ("Privileged Containers", contexts(privileged=True), contexts(privileged=False)),
    (
        "Capabilities",
        contexts(capabilities={"add": ["SYS_ADMIN"]}),
        contexts(capabilities={"drop": ["ALL"], "add": []}),
    ),
    ("HostPath Volumes", each_volume("hostPath"), each_volume(*CONTAINED)),
    (
        "Host Ports",
        containers(ports=[{"containerPort": 1}, {"containerPort": 2, "hostPort": 80}]),
        containers(ports=[{"containerPort": 1, "hostPort": 0}]),
    ),
    (
        "Host Probes / Lifecycle Hooks",
        probed({"host": "169.254.169.254"}),
        [*probed({}), *probed({"host": ""})],
    ),
    (
        "AppArmor",
        [*profile("appArmorProfile", "Unconfined"), *annotated(APP_ARMOR, "unconfined")],
        [
            *profile("appArmorProfile", "RuntimeDefault"),
            *profile("appArmorProfile", "Localhost"),
            *annotated(APP_ARMOR, "runtime/default"),
            *annotated(APP_ARMOR, "localhost/team"),
        ],
    ),
    (
        "SELinux",
        [
            *everywhere(seLinuxOptions={"type": "spc_t"}),
            *everywhere(seLinuxOptions={"user": "system_u"}),
            *everywhere(seLinuxOptions={"role": "system_r"}),
        ],
        [
            each
            for kind in ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
            for each in everywhere(seLinuxOptions={"type": kind, "level": "s0:c1,c2", "user": "", "role": ""})
        ],
    ),
    ("/proc Mount Type", contexts(procMount="Unmasked"), contexts(procMount="Default")),
    (
        "Seccomp",
        profile("seccompProfile", "Unconfined"),
        [*profile("seccompProfile", "RuntimeDefault"), *profile("seccompProfile", "Localhost")],
    ),
    (
        "Sysctls",
        [of_pod(sysctls=[{"name": name, "value": "1"}]) for name in SYSCTLS_FORBIDDEN],
        [of_pod(sysctls=[{"name": name, "value": "1"} for name in SYSCTLS_ALLOWED])],
    ),
]
MORE: list[tuple[str, list[Template], list[Template]]] = [
    (
        "seccomp of releases before 1.27",
        [each for name in SECCOMP for each in annotated(name, "unconfined")],
        annotated(SECCOMP[0], "runtime/default"),
    ),
    ("volumes that the node mounts", each_volume(*OF_THE_NODE), []),
    (
        "priority of the system",
        [pod(priorityClassName=name) for name in ("system-node-critical", "system-cluster-critical")],
        [pod(priorityClassName="batch", preemptionPolicy="Never")],
    ),
    ("root", everywhere(runAsUser=0), everywhere(runAsUser=1000650000, runAsGroup=0)),
    ("maybe root", everywhere(runAsNonRoot=False), everywhere(runAsNonRoot=True)),
    (
        "escalation",
        contexts(allowPrivilegeEscalation=True),
        contexts(allowPrivilegeEscalation=False),
    ),
    (
        "what stays in the pod",
        [],
        [
            pod(hostUsers=False, shareProcessNamespace=True, automountServiceAccountToken=True),
            of_pod(fsGroup=0, supplementalGroups=[0, 7], supplementalGroupsPolicy="Strict"),
            pod(volumes=[{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]),
            pod(runtimeClassName="gvisor", tolerations=[{"operator": "Exists"}]),
        ],
    ),
]
"""What Lithify refuses beyond the baseline, and what it does not."""
