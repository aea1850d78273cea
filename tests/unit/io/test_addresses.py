"""Which addresses may be connected to, beside which entries."""

from __future__ import annotations

import pickle
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.io.addresses import AddressPolicy, as_address, read_policy
from support.cases import case

API_SERVER = "10.96.0.1"
OWN = ["127.0.0.1", "127.8.9.10", "0.0.0.0", "169.254.169.254", "100.100.100.200"]
OWN += ["::1", "::", "fe80::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe"]
OWN += ["168.63.129.16", "192.0.0.192", "fec0::1", "::a9fe:a9fe", "64:ff9b::a9fe:a9fe", "fd00:a9fe:a9fe::1"]
PRIVATE = ["10.1.2.3", "172.20.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "198.18.0.1"]
ODD = ["224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1", "64:ff9b:1::1"]
WIDE = ["0.0.0.0/0", "::/0", "10.0.0.0/8", "fd00::/8", "168.0.0.0/8"]


def allows(policy: AddressPolicy, text: str, *, is_named: bool = False) -> bool:
    return policy.allows(ip_address(text), is_named=is_named)


@pytest.mark.parametrize("text", [*OWN, *PRIVATE, *ODD, API_SERVER])
def test_only_global_addresses_are_allowed_without_entries(text: str) -> None:
    assert not allows(read_policy([], API_SERVER), text)


@pytest.mark.parametrize("text", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_global_addresses_are(text: str) -> None:
    assert allows(read_policy([]), text)


@pytest.mark.parametrize("text", [*OWN, API_SERVER])
def test_wide_entries_and_names_open_neither_this_machine_nor_the_api_server(text: str) -> None:
    assert not allows(read_policy(WIDE, API_SERVER), text)
    assert not allows(read_policy(WIDE, API_SERVER), text, is_named=True)


@pytest.mark.parametrize("text", PRIVATE)
def test_a_network_or_a_name_opens_what_is_private(text: str) -> None:
    assert allows(read_policy(["0.0.0.0/0", "::/0"]), text)
    assert allows(read_policy([]), text, is_named=True)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        case("127.0.0.0/8", "127.0.0.1", id="loopback"),
        case("localhost", "::1", id="by its name"),
        case("169.254.169.254", "169.254.169.254", id="metadata"),
        case("fe80::/64", "fe80::1", id="a link"),
        case("168.63.129.16", "168.63.129.16", id="Azure"),
        case("fd00:ec2::23/128", "fd00:ec2::23", id="pod identity"),
        case(API_SERVER, API_SERVER, id="API server"),
        case("240.0.0.0/4", "240.0.0.1", id="reserved"),
    ],
)
def test_what_an_entry_means_is_opened(entry: str, text: str) -> None:
    assert allows(read_policy([entry], API_SERVER), text)


@given(st.ip_addresses(v=4))
def test_an_address_in_disguise_is_judged_like_itself(address: IPv4Address) -> None:
    policy = read_policy(["10.2.0.0/16"], API_SERVER)
    number = int(address)
    disguises = [0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80 | 1]
    for disguise in map(IPv6Address, disguises):
        assert policy.allows(disguise) == policy.allows(address)


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        case("store.example.org", True, id="public"),
        case("minio.storage.svc", False, id="a Service"),
        case("minio.storage.svc.cluster.local.", False, id="in full"),
        case("minio.storage.svc.corp.example", False, id="of another domain"),
        case("MINIO", False, id="one label"),
        case("localhost", False, id="this machine"),
        case("metadata.localhost", False, id="this machine, too"),
        case("a.lake.svc", True, id="a name below an entry"),
        case("lake.svc", False, id="the entry's suffix itself"),
        case("minio.lake", True, id="two labels, decided by the address"),
        case("nexus", True, id="an entry"),
    ],
)
def test_hosts_are_allowed_by_name_and_pattern(host: str, is_allowed: bool) -> None:
    assert read_policy(["*.lake.svc", "Nexus"]).allows_host(host) == is_allowed


@pytest.mark.parametrize(
    "entry", ["", "*", "http://minio", "minio:9000", "10.0.0.1/8", "a b", "10.0", "*.*.x"]
)
def test_entries_that_are_none(entry: str) -> None:
    with pytest.raises(ValueError, match="network"):
        read_policy([entry])


@pytest.mark.parametrize("host", ["[::1]", "fe80::1%eth0", "::ffff:127.0.0.1"])
def test_hosts_that_are_addresses(host: str) -> None:
    address = as_address(host)
    assert address is not None
    assert not read_policy([]).allows(address)


def test_can_be_sent_to_workers() -> None:
    policy = read_policy(["10.0.0.0/8", "*.svc", "fd00::/8"], API_SERVER)
    assert pickle.loads(pickle.dumps(policy)) == policy
