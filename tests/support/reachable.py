"""What egress rules of NetworkPolicies open, by addresses alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

SPECIAL_ADDRESSES = (
    *("127.0.0.1", "169.254.169.254", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *("::1", "::a9fe:a9fe", "fe80::a9fe:a9fe", "fec0::1", "64:ff9b::a9fe:a9fe", "64:ff9b::a83f:8110"),
    *(
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "fd00:42::42",
        "fd00:a9fe:a9fe::1",
    ),
)
"""Those at which clouds serve identities, and a machine itself."""


def is_reachable(rules: Sequence[Mapping[str, Any]], address: str, port: int) -> bool:
    """Whether a rule lets pods connect to an address that is no pod's."""
    return any(_is_port(rule, port) and _is_place(rule, address) for rule in rules)


def _is_port(rule: Mapping[str, Any], port: int) -> bool:
    ports = rule.get("ports")
    return not ports or any(one["port"] == port for one in ports)


def _is_place(rule: Mapping[str, Any], address: str) -> bool:
    places = rule.get("to")
    return not places or any(_is_in(one["ipBlock"], address) for one in places if "ipBlock" in one)


def _is_in(block: Mapping[str, Any], address: str) -> bool:
    there = ip_address(address)
    excepted = any(there in ip_network(one) for one in block.get("except", ()))
    return there in ip_network(block["cidr"]) and not excepted
