"""A first start: one Catalog discovers all tables, beside tables of a catalog that never answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.api import Api
from lithify.resources.names import CATALOG, LAKE_TABLE, POLICY
from many_tables.dead import dead_tables
from many_tables.objects import POLICY_NAME, made
from many_tables.process import OperatorProcess

TABLES = "lithify_tables"
WRITES = "lithify_api_writes_total"


@dataclass(frozen=True, slots=True)
class FirstStart:
    """How it went, in seconds since the process was started.

    Attributes:
        tables: healthy tables, all of them discovered.
        dead: LakeTables of the catalog that never answers.
        first: until the first healthy table was Ready.
        last: until all of them were.
        table_writes: writes of LakeTables until then, those that created them among them.
        catalog_writes: writes of Catalogs until then.
    """

    tables: int
    dead: int
    first: float
    last: float
    table_writes: int
    catalog_writes: int

    @property
    def text(self) -> str:
        """The figures as lines."""
        return (
            f"{self.tables:,} discovered tables beside {self.dead} of a dead catalog\n"
            f"first table Ready after {self.first:.1f} s, the last after {self.last:.1f} s: "
            f"{self.tables / self.last:.1f} tables a second\n"
            f"{self.table_writes:,} writes of LakeTables, {self.table_writes / self.tables:.2f} a table; "
            f"{self.catalog_writes:,} writes of Catalogs"
        )


async def first_start(
    kubectl: Kubectl, api: Api, namespace: str, folder: Path, tables: int, dead: int, timeout: float
) -> FirstStart:
    """Starts an operator for a Catalog with discovery, and waits until all tables of it are Ready."""
    async with dead_tables(api, namespace, dead):
        await api.create(POLICY, namespace, made(POLICY, POLICY_NAME, {}))
        found = {"include": ["*.*"], "policyRef": {"name": POLICY_NAME}}
        spec = {"warehouse": str(folder / "warehouse"), "discovery": found}
        await api.create(CATALOG, namespace, made(CATALOG, "lake", spec))
        with OperatorProcess(kubectl.kubeconfig, folder / "state", namespace, only=True) as operator:
            first = await operator.until(TABLES, lambda total: total > 0, timeout, reason="Ready")
            last = await operator.until(TABLES, lambda total: total >= tables, timeout, reason="Ready")
            shown = operator.metrics()
            assert shown is not None
            writes = [round(shown.total(WRITES, kind=kind.name)) for kind in (LAKE_TABLE, CATALOG)]
    return FirstStart(tables, dead, first, last, *writes)
