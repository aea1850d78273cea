"""Reconciles CompactionPolicies: reports whether each one is valid, and how many tables use it.

Called by `loop`. When a policy changes, `intake` requeues its tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.controller.deciding.references import policy_status
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.status import write_status
from lithify.resources.names import POLICY, ObjectKey


@dataclass(frozen=True, slots=True)
class Policies:
    """Reconciles CompactionPolicies.

    Attributes:
        context: what the reconcilers share.
    """

    context: Context

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Updates the policy's status."""
        store = self.context.store
        policy = store.policies.get(key)
        if policy is None:
            return None
        problem = self.context.policy_problem(policy.spec)
        tables = len(store.tables.using("policy", key))
        status = policy_status(policy, problem, tables, self.context.now())
        written = await write_status(self.context.api, POLICY, policy, status)
        if written is not None:
            store.policies.put(written)
        return None
