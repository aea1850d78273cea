"""Addresses that may be connected to on behalf of a Catalog. Pure.

Built by `lithify operator` from its flags; enforced by `guard` in the observing workers. Global addresses are
allowed unless they are special; every other address needs an entry, a special one an entry for such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from lithify.io.special_addresses import NAT64, Network, is_special

Address = IPv4Address | IPv6Address

_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_INTERNAL = (".localhost", ".svc", ".cluster.local", ".local")
_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Addresses that are allowed in addition to global ones.

    Attributes:
        networks: networks allowed by address, whatever the host name.
        names: host names that are allowed; `*.suffix` stands for every name below the suffix.
        closed: addresses that only an entry for exactly that address opens, such as the API server's.
    """

    networks: tuple[Network, ...] = ()
    names: frozenset[str] = frozenset()
    closed: frozenset[Address] = frozenset()

    def names_host(self, host: str) -> bool:
        """Whether an entry allows a host by name; such a host may have a private address."""
        name = _plain(host)
        labels = name.split(".")
        suffixes = (f"*.{'.'.join(labels[start:])}" for start in range(1, len(labels)))
        return name in self.names or any(suffix in self.names for suffix in suffixes)

    def allows_host(self, host: str) -> bool:
        """Whether a name may be resolved; cluster-internal names need an entry."""
        if as_address(host) is not None or self.names_host(host):
            return True
        name = _plain(host)
        return "." in name and not name.endswith(_INTERNAL) and ".svc." not in name

    def allows(self, address: Address, *, is_named: bool = False) -> bool:
        """Whether an address may be connected to; `is_named` if its host name is allowed."""
        there = _unwrapped(address)
        if there in self.closed:
            return any(there in network and network.num_addresses == 1 for network in self.networks)
        if is_special(ip_network(there)):
            return any(there in network and is_special(network) for network in self.networks)
        if any(there in network for network in self.networks):
            return True
        is_odd = there.is_multicast or there.is_reserved
        return not is_odd and (there.is_global or is_named)


def as_address(host: str) -> Address | None:
    """Parses a host as an address; None if it is a name."""
    try:
        return ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def read_policy(entries: Iterable[str], api_server: str = "") -> AddressPolicy:
    """Parses entries: networks, addresses, names and `*.suffix`.

    Raises:
        ValueError: an entry is none of these.
    """
    networks: list[Network] = []
    names: set[str] = set()
    for entry in entries:
        text = entry.strip().lower()
        if text == "localhost":
            networks += _LOOPBACK
            names.add(text)
        elif (network := _network(text)) is not None:
            networks.append(network)
        elif _NAME.fullmatch(text) and not text[-1].isdigit():
            names.add(text)
        else:
            raise ValueError(f"'{entry}' is no network, address, host name or *.suffix")
    server = as_address(api_server)
    return AddressPolicy(
        tuple(networks), frozenset(names), frozenset() if server is None else frozenset({_unwrapped(server)})
    )


def _network(text: str) -> Network | None:
    try:
        found = ip_network(text.strip("[]"))
    except ValueError:
        return None
    if isinstance(found, IPv6Network) and found.prefixlen >= 96 and found.network_address.ipv4_mapped:
        return IPv4Network((found.network_address.ipv4_mapped, found.prefixlen - 96))
    return found


def _plain(host: str) -> str:
    return host.lower().rstrip(".")


def _unwrapped(address: Address) -> Address:
    """The IPv4 address behind an IPv6 address that embeds one; other addresses unchanged."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address in NAT64:
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    return inner or IPv6Address(int(address))  # drops the zone: with one, addresses do not compare equal
