"""Discovery: which LakeTables to create for the tables that a catalog was found to have.

Used by `reconciling` after it has listed a catalog's tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from lithify.controller.deciding.names import label_value, table_object_name
from lithify.resources.catalog import Catalog, Discovery
from lithify.resources.names import LABEL_CATALOG, LAKE_TABLE
from lithify.resources.table import IDENTIFIER, LakeTable

_IDENTIFIER = re.compile(IDENTIFIER)
_MOST_LENGTH = 512


def is_wanted(identifier: str, discovery: Discovery) -> bool:
    """Whether a table (`database.table`) is one that discovery is for; `exclude` wins."""
    if any(fnmatchcase(identifier, pattern) for pattern in discovery.exclude):
        return False
    return any(fnmatchcase(identifier, pattern) for pattern in discovery.include)


def wanted_tables(found: Iterable[str], discovery: Discovery) -> list[str]:
    """Those of the found tables that discovery is for and a LakeTable can name, sorted, each once."""
    named = (name for name in set(found) if len(name) <= _MOST_LENGTH and _IDENTIFIER.match(name))
    return sorted(name for name in named if is_wanted(name, discovery))


def discover(found: Sequence[str], catalog: Catalog, existing: Iterable[LakeTable]) -> list[dict[str, Any]]:
    """The LakeTables to create, as objects for the API server.

    They have no owner: deleting or re-creating a Catalog must not take the history of its tables with it.

    Args:
        found: the tables of the catalog, as `database.table`.
        catalog: the Catalog.
        existing: all LakeTables of its namespace, whoever has made them.
    """
    discovery = catalog.spec.discovery
    if discovery is None:
        return []
    name = catalog.metadata.name
    taken, known = set(), set()
    for table in existing:
        taken.add(table.metadata.name)
        if table.spec.catalog_ref.name == name:
            known.add(table.spec.identifier)
    bodies = []
    for identifier in wanted_tables(found, discovery):
        if identifier not in known:
            object_name = table_object_name(name, identifier, taken)
            taken.add(object_name)
            bodies.append(_body(catalog, discovery, identifier, object_name))
    return bodies


def _body(catalog: Catalog, discovery: Discovery, identifier: str, object_name: str) -> dict[str, Any]:
    return {
        "apiVersion": LAKE_TABLE.api_version,
        "kind": LAKE_TABLE.name,
        "metadata": {
            "name": object_name,
            "namespace": catalog.metadata.namespace,
            "labels": {LABEL_CATALOG: label_value(catalog.metadata.name)},
        },
        "spec": {
            "catalogRef": {"name": catalog.metadata.name},
            "identifier": identifier,
            "policyRef": {"name": discovery.policy_ref.name},
        },
    }
