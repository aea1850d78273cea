"""Reconciles CompactionPolicies and Catalogs: their status, and whom a change of theirs concerns.

Called by `loop`.
"""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from lithify.controller.deciding.conditions import catalog_status, policy_status, problem_of
from lithify.controller.deciding.discovery import discover
from lithify.controller.deciding.schedule import policy_problem
from lithify.controller.observing.request import TableTarget
from lithify.controller.reconciling.secrets import catalog_options
from lithify.controller.reconciling.status import write_status
from lithify.controller.reconciling.world import World
from lithify.errors import ClusterExists, LithifyError
from lithify.resources.catalog import Catalog
from lithify.resources.names import CATALOG, LAKE_TABLE, POLICY, ObjectKey

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policies:
    """Reconciles CompactionPolicies.

    Attributes:
        world: what it works with.
    """

    world: World

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Says whether the policy can be followed, and how many tables do."""
        store = self.world.store
        policy = store.policies.get(key)
        if policy is None:
            return None
        problem = policy_problem(policy.spec) or self.world.conf_problem(policy.spec.spark)
        status = policy_status(policy, problem, len(store.tables.using("policy", key)), self.world.now())
        written = await write_status(self.world.api, POLICY, policy, status)
        if written is not None:
            store.policies.put(written)
        return None


@dataclass(slots=True)
class Catalogs:
    """Reconciles Catalogs.

    Attributes:
        world: what it works with.
        ticks: seconds that only ever grow.
    """

    world: World
    ticks: object = monotonic
    _found: dict[str, tuple[float, Sequence[str]]] = field(default_factory=dict)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Discovers tables where that is wanted, and says whether the catalog answers."""
        catalog = self.world.store.catalogs.get(key)
        return None if catalog is None else await self._reconcile(catalog)

    async def _reconcile(self, catalog: Catalog) -> float | None:
        raise NotImplementedError
