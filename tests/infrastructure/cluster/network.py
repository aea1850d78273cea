"""The wire between this machine and a test node, and the network that its pods are given.

Nothing leads out: the node knows the way to this machine's end of the wire, and to nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from infrastructure.cluster.namespaces import run
from infrastructure.cluster.slots import Slot

DEVICE = "eth0"
BRIDGE = "pods"


def connect(slot: Slot, outside: int, environment: Mapping[str, str]) -> None:
    """Makes the wire, from inside; `outside` is a descriptor of this machine's network.

    Raises:
        OSError: it cannot be made.
    """
    machine = f"/proc/self/fd/{outside}"

    def inside(*command: str) -> None:
        run("ip", *command, environment=environment, keep=(outside,))

    def on_machine(*command: str) -> None:
        run("nsenter", f"--net={machine}", "ip", *command, environment=environment, keep=(outside,))

    inside("link", "set", "lo", "up")
    inside("link", "add", DEVICE, "type", "veth", "peer", "name", slot.name, "netns", machine)
    inside("address", "add", f"{slot.address}/{slot.link.prefixlen}", "dev", DEVICE)
    inside("link", "set", DEVICE, "up")
    on_machine("address", "add", f"{slot.host_address}/{slot.link.prefixlen}", "dev", slot.name)
    on_machine("link", "set", slot.name, "up")
    for network in (slot.pods, slot.services):
        on_machine("route", "add", str(network), "via", str(slot.address))
    # A process of the node that calls a service needs a way to it before kube-proxy finds a better one.
    inside("route", "add", str(slot.services), "dev", DEVICE)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def disconnect(environment: Mapping[str, str]) -> None:
    """Removes the wire, and with it its other end and all routes, without waiting for the kernel to do it."""
    run("ip", "link", "delete", DEVICE, environment=environment)


def write_pod_network(slot: Slot, folder: Path, data: Path) -> None:
    """Writes how pods are connected: a bridge, addresses from one range, no translation."""
    folder.mkdir(parents=True, exist_ok=True)
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": str(slot.pods)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(data),
        },
    }
    content = {"cniVersion": "0.4.0", "name": "lithify", "plugins": [bridge]}
    (folder / "10-lithify.conflist").write_text(json.dumps(content))
