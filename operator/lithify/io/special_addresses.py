"""Addresses that lead to a machine itself, to its links, or to what a cloud serves its machines.

`addresses` refuses them to Catalogs, `controller.launching.egress` to the pods of runs, the chart to the
operator's pods. `python -m lithify.io.special_addresses` prints the chart's copy (`make chart`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network

NAT64 = IPv6Network("64:ff9b::/96")
SPECIAL: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "127.0.0.0/8", "::/96"),  # this machine; the last one also holds IPv4 addresses
        *("169.254.0.0/16", "fe80::/10"),  # link-local: metadata services of most clouds
        "fec0::/10",  # site-local, which Python takes for global
        "192.0.0.0/24",  # protocols' own; Oracle Cloud's platform services
        "168.63.129.16/32",  # Azure's platform services
        "100.100.100.200/32",  # Alibaba Cloud's metadata service
        "fd00:ec2::/64",  # AWS: metadata service, identities of pods
        "fd20:ce::/64",  # Google Cloud's metadata service
        "fd00:c1::/64",  # Oracle Cloud's metadata service
        "fd00:42::/64",  # Scaleway's metadata service
        "fd00:a9fe:a9fe::/64",  # Akamai's metadata service
    )
)
"""No network here contains another one."""


def exceptions(network: Network) -> list[str]:
    """The special networks inside of a network, those behind NAT64 included; none if it is itself special."""
    if any(_is_within(network, special) for special in _everywhere()):
        return []
    return [str(special) for special in _everywhere() if _is_within(special, network)]


def _everywhere() -> Iterable[Network]:
    yield from SPECIAL
    for special in SPECIAL:
        if isinstance(special, IPv4Network):
            address = int(NAT64.network_address) | int(special.network_address)
            yield IPv6Network((address, NAT64.prefixlen + special.prefixlen))


def is_special(network: Network) -> bool:
    """Whether a network, or a single address, lies within a special one."""
    return any(_is_within(network, special) for special in SPECIAL)


def _is_within(inner: Network, outer: Network) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def chart_copy() -> str:
    """The exceptions of the chart's NetworkPolicies as JSON, by version of IP."""
    found = {"ipv4": exceptions(IPv4Network("0.0.0.0/0")), "ipv6": exceptions(IPv6Network("::/0"))}
    return json.dumps(found, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(chart_copy())
