"""Nodes on one machine have nothing in common."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

from infrastructure.cluster.slots import SLOTS, Slot

ALL = [Slot(number) for number in range(SLOTS)]


def test_no_two_networks_overlap_and_all_are_set_aside_for_tests() -> None:
    networks = [network for slot in ALL for network in (slot.link, slot.pods, slot.services)]
    assert not [pair for pair in combinations(networks, 2) if pair[0].overlaps(pair[1])]
    assert all(network.subnet_of(IPv4Network("198.18.0.0/15")) for network in networks)


def test_both_ends_of_a_wire_are_different_hosts_of_its_network() -> None:
    assert all({slot.host_address, slot.address} == set(slot.link.hosts()) for slot in ALL)


def test_names_differ_and_are_short_enough_for_a_network_device() -> None:
    names = {slot.name for slot in ALL}
    assert len(names) == SLOTS
    assert max(map(len, names)) <= 15
