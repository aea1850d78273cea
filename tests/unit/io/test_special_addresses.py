"""One list of special addresses, for Catalogs, for the pods of runs and for the chart."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.io.addresses import read_policy
from lithify.io.special_addresses import (
    SPECIAL,
    chart_copy,
    exceptions,
    is_special,
)
from support.cases import case

CHART = Path(__file__).resolve().parents[3] / "charts" / "lithify"
EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))


def test_the_charts_copy_is_current() -> None:
    assert (CHART / "files" / "special-addresses.json").read_text() == chart_copy(), "run `make chart`"


def test_no_network_contains_another_one() -> None:
    of_one_version = ((one, two) for one, two in permutations(SPECIAL, 2) if one.version == two.version)
    assert not any(one.subnet_of(two) for one, two in of_one_version)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        case("10.0.0.0/8", [], id="private"),
        case("169.254.0.0/17", [], id="itself special"),
        case("169.254.0.0/16", [], id="just that"),
        case("64:ff9b::a9fe:a9fe/128", [], id="special behind NAT64"),
        case("168.0.0.0/8", ["168.63.129.16/32"], id="one in it"),
        case("fd00:ec0::/28", ["fd00:ec2::/64"], id="IPv6"),
    ],
)
def test_exceptions_of_a_network(network: str, expected: list[str]) -> None:
    assert exceptions(ip_network(network)) == expected


@given(st.ip_addresses() | st.sampled_from(SPECIAL).flatmap(lambda one: st.ip_addresses(network=one)))
def test_exceptions_of_everything_are_what_no_wide_entry_opens(address: object) -> None:
    there = ip_address(str(address))
    excepted = any(
        there in ip_network(one)
        for network in EVERYTHING
        for one in exceptions(network)
        if network.version == there.version
    )
    policy = read_policy(["0.0.0.0/0", "::/0"])
    assert not (excepted and policy.allows(there))
    assert excepted or not is_special(ip_network(there))
