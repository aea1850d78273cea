"""Reconciles CompactionPolicies: says whether they can be followed, and by how many tables they are.

Called by `loop`. That tables are looked at again when their policy changes is `intake`'s doing.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.controller.deciding.references import policy_status
from lithify.controller.deciding.schedule import policy_problem
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.status import write_status
from lithify.resources.names import POLICY, ObjectKey


@dataclass(frozen=True, slots=True)
class Policies:
    """Reconciles CompactionPolicies.

    Attributes:
        context: what it works with.
    """

    context: Context

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Makes status true."""
        store = self.context.store
        policy = store.policies.get(key)
        if policy is None:
            return None
        problem = policy_problem(policy.spec) or self.context.conf_problem(policy.spec.spark)
        tables = len(store.tables.using("policy", key))
        status = policy_status(policy, problem, tables, self.context.now())
        written = await write_status(self.context.api, POLICY, policy, status)
        if written is not None:
            store.policies.put(written)
        return None
