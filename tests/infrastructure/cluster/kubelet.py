"""What makes a machine a node: the settings of the kubelet, of kube-proxy and of the cluster's DNS.

Used by the node's supervisor, inside the node's namespaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from infrastructure.cluster.containerd import SOCKET
from infrastructure.cluster.credentials import Credentials
from infrastructure.cluster.slots import Slot

NAME = "node"
"""The node's name."""
DOMAIN = "cluster.local"
ROOT = "/var/lib/kubelet"
"""Short, because sockets in it have names of limited length."""
DNS_READY = 8181
COREFILE = """
{domain} {{
  ready 127.0.0.1:{port}
  errors
  kubernetes {domain} {{
    kubeconfig {kubeconfig}
    ttl 1
  }}
}}
"""


def kubelet(state: Path, slot: Slot, kubeconfig: Path, credentials: Credentials) -> Sequence[str]:
    """Writes the kubelet's settings, and returns its options."""
    resolv, config = state / "resolv.conf", state / "kubelet.yaml"
    resolv.write_text(f"nameserver {slot.address}\n")
    config.write_text(yaml.safe_dump(_configuration(state, slot, resolv, credentials)))
    return (
        f"--config={config}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={ROOT}",
        f"--cert-dir={state / 'kubelet-credentials'}",
        f"--hostname-override={NAME}",
        f"--node-ip={slot.address}",
    )


def kube_proxy(slot: Slot, kubeconfig: Path) -> Sequence[str]:
    """The options of kube-proxy."""
    return (
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={NAME}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={slot.pods}",
        # Answers between pods of one bridge come back through the node, whether bridges are filtered or not.
        "--masquerade-all",
        "--iptables-min-sync-period=100ms",
        # Limits of connections are of the whole machine, and are left as they are.
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
    )


def dns(state: Path, kubeconfig: Path) -> Sequence[str]:
    """Writes the settings of CoreDNS, and returns its options."""
    corefile = state / "Corefile"
    corefile.write_text(COREFILE.format(domain=DOMAIN, port=DNS_READY, kubeconfig=kubeconfig))
    return (f"-conf={corefile}",)


def _configuration(state: Path, slot: Slot, resolv: Path, credentials: Credentials) -> Mapping[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(credentials.authority)},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{slot.name}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [str(slot.address)],
        "clusterDomain": DOMAIN,
        "resolvConf": str(resolv),
        "podLogsDir": str(state / "logs" / "pods"),
        "volumePluginDir": str(state / "volume-plugins"),
        # Pods are not evicted because the machine's disk is full of other things, nor are images removed.
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        # What the cluster's own programs and the tests need themselves.
        "systemReserved": {"memory": "2Gi"},
        "syncFrequency": "10s",
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
    }
