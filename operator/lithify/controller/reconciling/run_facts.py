"""Gathers the facts for a run's state machine: its table, driver and lock, and what keeps it from starting.

Used by `compactions`. Only reads from the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lithify.contract.undoing import undo_sentence
from lithify.controller.deciding.rolled_back import is_rolled_back
from lithify.controller.deciding.sentences import limit_text
from lithify.controller.reconciling.addressing import address_of
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.locking import LockView, TableLocking
from lithify.controller.reconciling.run_memory import RunMemory
from lithify.controller.reconciling.sharing import SharedView, Sharing
from lithify.controller.running.facts import UNKNOWN, Lock, Problem, RunFacts, Unknown
from lithify.controller.running.failures import rules_of_run
from lithify.controller.running.reconcile_input import is_planned_here
from lithify.errors import ClusterRefused, ClusterUnavailable, UserError
from lithify.formats.adapters import can_roll_back, format_titled
from lithify.formats.protocol.model import SnapshotId
from lithify.io.access_policy import NOWHERE
from lithify.resources.catalog import Catalog, catalog_options
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.names import SERVICE_ACCOUNT, ObjectKey
from lithify.resources.table import LakeTable


@dataclass(frozen=True, slots=True)
class RunFactsGatherer:
    """Gathers the facts of runs.

    Attributes:
        context: what the reconcilers share.
        sharing: the runs that share drivers.
        locking: the locks of tables.
    """

    context: Context
    sharing: Sharing
    locking: TableLocking

    async def gather(self, run: Compaction, memory: RunMemory) -> RunFacts:
        """The facts of a run now; findings that later steps need are stored in its memory."""
        context, store = self.context, self.context.store
        if run.status.shared_run is not None:
            memory.lead = ObjectKey(run.metadata.namespace, run.status.shared_run.lead)
        table = store.table_of(run)
        catalog = store.catalog_of(table) if table else None
        is_planned = is_planned_here(run)
        is_waiting = run.reason.is_waiting or (is_planned and run.reason.has_driver)
        problem = await self._problem(run, table, catalog) if is_waiting else None
        if problem is None and memory.missing is not None:
            problem = await self._account(memory, is_waiting=is_waiting)
        if memory.refusal is not None and memory.refusal[0] == run.status.attempts:
            problem = Problem(Reason.INVALID_SPEC, memory.refusal[1], may_pass=False)
        seen = await self._lock(run, memory)
        may_ask = is_waiting and not is_planned
        limit = context.slots.limit_of_run(run, context.now()) if may_ask else None
        view = await self._view(run)
        may_start = is_waiting and limit is None and problem is None and seen.lock is Lock.OURS
        has_wishes = run.spec.cancel or run.spec.suspend or run.metadata.deletion_timestamp is not None
        sharing = self.sharing.join(run, context.now()) if may_start and not has_wishes else None
        failed_runs = table.status.consecutive_failures if table else 0
        return RunFacts(
            policy=rules_of_run(run, store.rules_of(table), failed_runs),
            identifier=table.spec.identifier if table else None,
            table_uuid=table.status.table_uuid if table else None,
            driver=view.driver if isinstance(view, SharedView) else view,
            lock=seen.lock,
            lock_holder=seen.holder,
            admitted=limit is None,
            hold="" if limit is None else limit_text(limit),
            problem=problem,
            delay=memory.delay[1] if memory.delay and memory.delay[0] == run.status.attempts else "",
            found=memory.search.found,
            plan=memory.planning.outcome,
            deleted=run.metadata.deletion_timestamp is not None,
            sharing=sharing,
            stranded=view.stranded if isinstance(view, SharedView) else "",
            undo=_undo(table, catalog),
            rolled_back=self.is_rolled_back(run),
        )

    def is_rolled_back(self, run: Compaction) -> bool:
        """Whether the last observation of a compacted run's table found that it was rolled back."""
        table = self.context.store.table_of(run)
        return table is not None and is_rolled_back(
            run, self.context.scheduler.seen(table.metadata.key).observation
        )

    async def _view(self, run: Compaction) -> SharedView | Unknown:
        """The driver in a run's status: its own or a shared one."""
        try:
            if run.status.shared_run is not None:
                return await self.sharing.view(run)
            return SharedView(await self.context.launcher.observe(run.metadata.key))
        except ClusterUnavailable:
            return UNKNOWN

    async def _problem(
        self, run: Compaction, table: LakeTable | None, catalog: Catalog | None
    ) -> Problem | None:
        """The problem that keeps a run without a driver from starting one."""
        namespace = run.metadata.namespace
        if table is None:
            missing = f"there is no LakeTable {run.spec.table_ref.name} in namespace {namespace}"
            return Problem(Reason.INVALID_SPEC, missing, may_pass=True)
        if catalog is None:
            missing = f"there is no Catalog {table.spec.catalog_ref.name} in namespace {namespace}"
            return Problem(Reason.INVALID_SPEC, missing, may_pass=True)
        try:
            await self.context.secrets.of_catalog(catalog)
        except UserError as error:
            return Problem(Reason.INVALID_SPEC, str(error), may_pass=True)
        except ClusterRefused as error:
            return Problem(Reason.ACCESS_DENIED, str(error), may_pass=True)
        return None

    async def _account(self, memory: RunMemory, *, is_waiting: bool) -> Problem | None:
        """The problem to report while the service account is missing; None once it exists."""
        missing = memory.missing
        if missing is None:
            return None
        if is_waiting and await self._may_exist(ObjectKey(missing.namespace, missing.account)):
            memory.missing = None
            return None
        return Problem(Reason.INVALID_SPEC, missing.problem, may_pass=True, ends_attempt=True)

    async def _may_exist(self, account: ObjectKey) -> bool:
        """Whether a service account exists; asks the API server. True if the operator may not read it."""
        try:
            return await self.context.api.get(SERVICE_ACCOUNT, account) is not None
        except ClusterRefused:
            return True

    async def _lock(self, run: Compaction, memory: RunMemory) -> LockView:
        if memory.lock is None:
            memory.lock = self.locking.name_for(run)
        if memory.lock is None:
            return LockView(Lock.FREE if run.is_over else Lock.UNKNOWN)
        seen = await self.locking.view(memory.lock, run)
        memory.former = seen.former
        return seen


def _undo(table: LakeTable | None, catalog: Catalog | None) -> Callable[[SnapshotId], str] | None:
    """Says how to go back to a snapshot of a table; None if its objects are missing, or its format cannot.

    Facts are gathered at every step of a run, and the sentence is needed at the end of one that committed.
    """
    if table is None or catalog is None or not can_roll_back(format_titled(catalog.spec.format)):
        return None
    return partial(_undo_sentence, table, catalog)


def _undo_sentence(table: LakeTable, catalog: Catalog, before: SnapshotId) -> str:
    secret = catalog.spec.secret_ref
    unknown = dict.fromkeys(secret.options, "") if secret is not None else {}
    address = address_of(table, None, catalog, catalog_options(catalog.spec, unknown), NOWHERE)
    return undo_sentence(address, before, [*unknown])
