"""Discovery: which LakeTables to create for the tables that a catalog lists.

Used by `reconciling` after it has listed a catalog's tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.controller.deciding.names import label_value, table_object_name
from lithify.controller.deciding.seen_tables import digest_of, remembered
from lithify.resources.catalog import MOST_REMEMBERED, Catalog, Discovery, Recreate
from lithify.resources.names import ANNOTATION_DISCOVERED, LABEL_CATALOG, LAKE_TABLE
from lithify.resources.table import LakeTable


@dataclass(frozen=True, slots=True)
class Found:
    """Result of discovery for a list of tables.

    Attributes:
        bodies: the LakeTables to create, as objects for the API server.
        left_out: number of wanted tables that get none, because the catalog has reached its limit.
        declined: tables that get none, because a user has deleted the one that they had.
        having: tables that have one already, without those of `bodies`.
    """

    bodies: tuple[dict[str, Any], ...] = ()
    left_out: int = 0
    declined: tuple[str, ...] = ()
    having: frozenset[str] = frozenset()


def discover(
    names: Sequence[str], wanted: int, most: int, catalog: Catalog, existing: Iterable[LakeTable]
) -> Found:
    """Returns the LakeTables to create.

    They have no owner: deleting or re-creating a Catalog must not delete the history of its tables.

    Args:
        names: wanted tables of the catalog, as `database.table`, each once.
        wanted: number of wanted tables; more than `names` if their list was cut.
        most: the most LakeTables that the catalog may have.
        catalog: the Catalog.
        existing: all LakeTables of its namespace, whether discovery made them or not.
    """
    discovery = catalog.spec.discovery
    if discovery is None:
        return Found()
    name = catalog.metadata.name
    taken, known = set(), set()
    for table in existing:
        taken.add(table.metadata.name)
        if table.spec.catalog_ref.name == name:
            known.add(table.spec.identifier)
    absent = [identifier for identifier in names if identifier not in known]
    memory = remembered(catalog) if discovery.recreate is Recreate.NEVER else frozenset()
    declined = tuple(each for each in absent if memory and digest_of(catalog, each) in memory)
    kept_away = frozenset(declined)
    new = [identifier for identifier in absent if identifier not in kept_away]
    if discovery.recreate is Recreate.NEVER:
        most = min(most, MOST_REMEMBERED)
    bodies = []
    for identifier in new[: max(0, most - len(known))]:
        object_name = table_object_name(name, identifier, taken)
        taken.add(object_name)
        bodies.append(_body(catalog, discovery, identifier, object_name))
    left_out = len(new) - len(bodies) + wanted - len(names)
    return Found(tuple(bodies), left_out, declined, frozenset(known))


def _body(catalog: Catalog, discovery: Discovery, identifier: str, object_name: str) -> dict[str, Any]:
    return {
        "apiVersion": LAKE_TABLE.api_version,
        "kind": LAKE_TABLE.name,
        "metadata": {
            "name": object_name,
            "namespace": catalog.metadata.namespace,
            "labels": {LABEL_CATALOG: label_value(catalog.metadata.name)},
            "annotations": {ANNOTATION_DISCOVERED: discovery.policy_ref.name},
        },
        "spec": {
            "catalogRef": {"name": catalog.metadata.name},
            "identifier": identifier,
            "policyRef": {"name": discovery.policy_ref.name},
        },
    }
