"""What the pods of a run may reach, and the special addresses that wide rules do not open."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.controller.launching.egress import egress_rules
from support.cases import case
from support.reachable import SPECIAL_ADDRESSES, is_reachable

PORTS = [{"port": 443, "protocol": "TCP"}]


def block(cidr: str, *excepted: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": cidr, **({"except": [*excepted]} if excepted else {})}}


@pytest.mark.parametrize("address", SPECIAL_ADDRESSES)
@pytest.mark.parametrize(
    "rule",
    [
        case({"ports": PORTS}, id="no destinations"),
        case({"ports": PORTS, "to": []}, id="an empty list of destinations"),
        case({}, id="nothing"),
        case({"to": [block("0.0.0.0/0"), block("::/0")]}, id="all addresses"),
        case({"to": [block("0.0.0.0/0", "10.0.0.0/8"), block("::/0", "fc00::/7")]}, id="with exceptions"),
        case({"to": [block("fd00::/8"), block("160.0.0.0/3"), block("64:ff9b::/96")]}, id="networks"),
    ],
)
def test_wide_rules_do_not_open_special_addresses(rule: dict[str, Any], address: str) -> None:
    assert not is_reachable(egress_rules([rule]), address, 443)


@pytest.mark.parametrize("address", ["93.184.216.34", "10.1.2.3", "2606:2800:220:1::1", "fd12::1"])
def test_other_addresses_stay_reachable(address: str) -> None:
    for rule in ({}, {"to": [block("0.0.0.0/0"), block("::/0")]}):
        assert is_reachable(egress_rules([rule]), address, 443)


@pytest.mark.parametrize("cidr", ["169.254.169.254/32", "169.254.0.0/16", "fd00:ec2::/64", "10.20.0.0/16"])
def test_what_a_rule_names_is_open(cidr: str) -> None:
    rule = {"ports": PORTS, "to": [block(cidr), {"podSelector": {"matchLabels": {"app": "minio"}}}]}
    assert egress_rules([rule]) == [rule]


def test_pods_are_destinations_of_a_rule_without_any() -> None:
    (rule,) = egress_rules([{"ports": PORTS}])
    assert {"namespaceSelector": {}} in rule["to"]
    assert rule["ports"] == PORTS


def test_what_is_no_block_is_left_to_the_api_server() -> None:
    rules = [{"to": [block("everything")]}]
    assert egress_rules(rules) == rules
