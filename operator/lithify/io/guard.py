"""Keeps this process from connecting to addresses that its policy does not allow.

Installed once by an observing worker, permanently; called by code that connects on behalf of a Catalog. Every
Python socket is checked when it connects, whoever opened it, so a name that later resolves to another address
gains nothing. Libraries that open sockets themselves go through `io.objects.gate`, or are only checked in
advance (`admit`).
"""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass, field
from typing import Any

from lithify.errors import OutOfReach
from lithify.io.addresses import Address, AddressPolicy, as_address
from lithify.settings import ALLOWED_ADDRESSES

_REMEMBERED = 4096


@dataclass(slots=True)
class _Guard:
    """The policy, and the resolved addresses of allowed names, most recent last."""

    policy: AddressPolicy
    named: dict[Address, None] = field(default_factory=dict)

    def admit(self, host: str, port: int) -> tuple[str, ...]:
        policy = self.policy
        if not policy.allows_host(host):
            raise refusal(host)
        is_named = policy.names_host(host)
        found = []
        for text in _resolved(host, port):
            address = as_address(text)
            if address is None or not policy.allows(address, is_named=is_named):
                raise refusal(host)
            found.append(text)
            if is_named:
                self._remember(address)
        return tuple(found)

    def _remember(self, address: Address) -> None:
        self.named.pop(address, None)
        self.named[address] = None
        if len(self.named) > _REMEMBERED:
            del self.named[next(iter(self.named))]

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "socket.connect":
            return
        where = arguments[1]
        host = str(where[0]) if isinstance(where, tuple) and where else ""
        address = as_address(host)
        if address is None:
            raise refusal(host or "a local socket")
        if not self.policy.allows(address, is_named=address in self.named):
            raise refusal(host)


_guards: list[_Guard] = []


def guard(policy: AddressPolicy) -> None:
    """Restricts this process to the addresses a policy allows, for good. The policy cannot be changed."""
    if _guards:
        raise RuntimeError("this process is guarded already")
    _guards.append(_Guard(policy))
    sys.addaudithook(_guards[0].hear)


def is_guarded() -> bool:
    """Whether this process has a policy."""
    return bool(_guards)


def admit(host: str, port: int) -> tuple[str, ...]:
    """Resolves a host and checks all its addresses; empty without a policy, or if the host has none.

    Raises:
        OutOfReach: the policy does not allow the host, or one of its addresses.
    """
    return _guards[0].admit(host, port) if _guards else ()


def refusal(host: str) -> OutOfReach:
    """The error for a host that is not allowed. It does not reveal whether the host exists or listens."""
    problem = (
        "the operator connects only to public addresses on behalf of Catalogs; who runs it can allow this "
        "one with "
    )
    return OutOfReach(host, problem, ALLOWED_ADDRESSES)


def _resolved(host: str, port: int) -> tuple[str, ...]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(where[4][0]) for where in found))
