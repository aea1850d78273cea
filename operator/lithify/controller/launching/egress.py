"""Egress rules of a run's NetworkPolicy without the special addresses that they do not name.

Pure; used by `network_policy`. The rules come from the operator's flags, and no flag means to open a cloud's
metadata service by `0.0.0.0/0`, or by a rule without destinations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from lithify.controller.launching.ownership import mapping_in, mappings_in, text_in, texts_in
from lithify.io.special_addresses import exceptions

Plain = dict[str, Any]

_ANYWHERE: Sequence[Plain] = (
    {"namespaceSelector": {}},  # pods: some network plugins do not count them among addresses
    {"ipBlock": {"cidr": "0.0.0.0/0"}},
    {"ipBlock": {"cidr": "::/0"}},
)


def egress_rules(rules: Sequence[Mapping[str, Any]]) -> list[Plain]:
    """The rules with exceptions in each block of addresses that contains special ones."""
    return [{**rule, "to": list(_destinations(rule))} for rule in rules]


def _destinations(rule: Mapping[str, Any]) -> Iterator[Plain]:
    for place in mappings_in(rule, "to") or _ANYWHERE:
        block = mapping_in(place, "ipBlock")
        excepted = sorted({*texts_in(block, "except"), *_special(text_in(block, "cidr"))})
        yield {**place, "ipBlock": {**block, "except": excepted}} if excepted else dict(place)


def _special(cidr: str) -> list[str]:
    """The special networks in a block; none if it is no block, which the API server refuses."""
    try:
        return exceptions(ip_network(cidr, strict=False))
    except ValueError:
        return []
