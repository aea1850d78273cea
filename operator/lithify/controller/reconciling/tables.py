"""Reconciles one LakeTable: requests observations, decides, writes status, creates the due Compaction.

Called by `loop`. It never waits for an observation; `observation_scheduler` requeues the table when one ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from lithify.controller.deciding.blocked import held_by
from lithify.controller.deciding.conditions import is_initial, table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.decision_input import Decision, DecisionInput, Due
from lithify.controller.deciding.due_compactions import handled_request
from lithify.controller.deciding.failing import failure_of_attempts
from lithify.controller.deciding.history import active_of, after_runs
from lithify.controller.deciding.names import label_value, run_name
from lithify.controller.deciding.problems import TableProblem, TableReason, is_unsupported, problem_of
from lithify.controller.deciding.rolled_back import is_rolled_back
from lithify.controller.deciding.sentences import due_text
from lithify.controller.deciding.sharing import shared_bytes
from lithify.controller.deciding.table_events import table_events
from lithify.controller.reconciling.addressing import address_of, poll_intervals, request_of
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.duplicates import older_duplicate
from lithify.controller.reconciling.observation_scheduler import TableState
from lithify.controller.reconciling.queue import Item
from lithify.controller.reconciling.secrets import KEPT_SECONDS, SUSPECT_SECONDS
from lithify.controller.reconciling.status import write_status
from lithify.controller.running.retention import retention
from lithify.controller.telemetry.logs import shown
from lithify.errors import ClusterExists, ClusterRefused, UserError
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import AutomaticRun, Compaction, CompactionSpec
from lithify.resources.maintenance import RunKind
from lithify.resources.modelling import MESSAGE_LENGTH, plain, read
from lithify.resources.names import (
    ANNOTATION_COMMITTED,
    ANNOTATION_REQUESTED,
    ANNOTATION_STRATEGY,
    CATALOG,
    COMPACTION,
    LABEL_TABLE,
    LAKE_TABLE,
    ObjectKey,
)
from lithify.resources.objects import READY, ConditionStatus, Reference, condition_of
from lithify.resources.policy import Approval, CompactionPolicySpec
from lithify.resources.table import LakeTable, LakeTableStatus

_NO_OBSERVATION = object()
_TOGETHER = 1.0
"""Seconds by which requeuing a Catalog is delayed, so that changes of many tables requeue it once."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Reconciles LakeTables.

    Attributes:
        context: what the reconcilers share.
    """

    context: Context
    _endings: dict[ObjectKey, TableProblem | None] = field(default_factory=dict)
    _finished: dict[ObjectKey, frozenset[str]] = field(default_factory=dict)
    """The uids of each table's finished Compactions when it was last reconciled."""
    _announced: dict[ObjectKey, str] = field(default_factory=dict)
    """The snapshot that a writer of each table has announced last."""

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Updates status and starts a due run; returns the seconds until the table is to be requeued."""
        context = self.context
        table = context.store.tables.get(key)
        if table is None:
            self._forget(key)
            return None
        policy = context.store.policy_of(table)
        spec = policy.spec if policy else None
        generation = policy.metadata.generation if policy else 0
        rules = context.store.rules_of(table)
        runs = context.store.runs_of(key)
        now = context.now()
        self._observe_after_runs(key, runs)
        self._observe_announced(table)
        counted = replace(table, status=after_runs(table, runs, rules, generation))
        missing, next_observation = await self._observe(counted, spec, context.store.catalog_of(table), runs)
        decision_input = self._gather(counted, spec, runs, missing)
        decision_input = replace(decision_input, policy_generation=generation)
        decision_input, decision = self._decide(decision_input, now)
        status = table_status(decision_input, decision, now)
        if decision.start is not None:
            status = await self._start(decision_input, status, decision.start)
        await self._write(table, status)
        self._tell_catalog(table)
        self._tell_rolled_back(key, runs)
        expires = await self._tidy(runs, rules, now)
        seen = decision_input.observation
        moments = [decision.wake, seen.next_trigger if seen is not None else None]
        waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
        return min((wait for wait in (*waits, next_observation, expires) if wait is not None), default=None)

    def _forget(self, key: ObjectKey) -> None:
        self.context.scheduler.forget(key)
        self._endings.pop(key, None)
        self._finished.pop(key, None)
        self._announced.pop(key, None)
        self.context.slots.leave(key, LAKE_TABLE)
        self.context.metrics.table_changed(key, None)

    def _observe_after_runs(self, key: ObjectKey, runs: list[Compaction]) -> None:
        """Requests an observation if a run has ended: until then nothing is decided by the earlier one.

        It compares the very runs that the decision sees, so that none can end unnoticed between the two. The
        cause of a failure may escape incremental observations: a table dropped or created again.
        """
        over = {run.metadata.uid: run.reason.status for run in runs if run.is_over}
        new = over.keys() - self._finished.get(key, over.keys())
        self._finished[key] = frozenset(over)
        if new:
            has_failed = any(over[uid] is ConditionStatus.FALSE for uid in new)
            self.context.scheduler.want(key, full=has_failed)

    def _observe_announced(self, table: LakeTable) -> None:
        """Requests an observation if a writer has announced a commit that the last one did not see.

        Each announcement counts once. The first observation sees whatever was announced before it, and one
        that is under way is followed by another, since it may have begun before the commit. Ids have no order
        here: an older snapshot costs an observation that finds nothing new.
        """
        key, announced = table.metadata.key, table.metadata.annotations.get(ANNOTATION_COMMITTED, "")
        if announced == self._announced.get(key, ""):
            return
        self._announced[key] = announced
        seen = self.context.scheduler.seen(key)
        has_begun = seen.is_known or seen.underway
        if announced and has_begun and (seen.observation is None or announced != seen.observation.snapshot):
            self.context.scheduler.want(key, outdates=False)

    def _tell_catalog(self, table: LakeTable) -> None:
        """Requeues the catalog if the last observation has news about it; once for all tables."""
        context, key = self.context, table.metadata.key
        seen, catalog = context.scheduler.seen(key), context.store.catalog_of(table)
        problem = problem_of(seen.failure) if seen.failure else None
        if catalog is None or not seen.is_known or self._endings.get(key, _NO_OBSERVATION) == problem:
            return
        before, now = _blamed(self._endings.get(key)), _blamed(problem)
        self._endings[key] = problem
        ready = condition_of(catalog.status.conditions, READY)
        if ready is None or ready.reason != now or before != now:
            context.queue.add_after(Item(CATALOG.name, catalog.metadata.key), _TOGETHER)

    def _tell_rolled_back(self, key: ObjectKey, runs: list[Compaction]) -> None:
        """Requeues the runs that the last observation of their table found rolled back."""
        seen = self.context.scheduler.seen(key).observation
        for run in runs:
            if is_rolled_back(run, seen):
                self.context.queue.add(COMPACTION, run.metadata.key)

    def _decide(self, decision_input: DecisionInput, now: datetime) -> tuple[DecisionInput, Decision]:
        """Decides, and asks for a slot if nothing else is in the way."""
        decision = decide(decision_input, now)
        key = decision_input.table.metadata.key
        if decision.start is None:
            self.context.slots.leave(key, LAKE_TABLE)
            return decision_input, decision
        shared = self._shared_bytes(decision_input, decision.start)
        limit = self.context.slots.limit_of_table(decision_input.table, decision.start.bytes, now, shared)
        if limit is not None:
            decision_input = replace(decision_input, limit=limit)
            decision = decide(decision_input, now)
        return decision_input, decision

    def _shared_bytes(self, decision_input: DecisionInput, due: Due) -> int | None:
        runs = self.context.store.runs_of(decision_input.table.metadata.key)
        return shared_bytes(decision_input.table, decision_input.policy, runs, due)

    async def _observe(
        self,
        table: LakeTable,
        policy: CompactionPolicySpec | None,
        catalog: Catalog | None,
        runs: list[Compaction],
    ) -> tuple[TableProblem | None, float | None]:
        """Requests an observation if one is due; returns what prevents it, and seconds until the next one."""
        context, key = self.context, table.metadata.key
        if catalog is None:
            return TableProblem.catalog_missing(table), None
        seen = context.scheduler.seen(key)
        is_suspect = seen.failure is not None and problem_of(seen.failure).reason.blames_catalog
        try:
            options = await context.secrets.of_catalog(
                catalog, SUSPECT_SECONDS if is_suspect else KEPT_SECONDS
            )
        except (UserError, ClusterRefused) as error:
            seen.unasked = error
            return problem_of(error), poll_intervals(table, policy, catalog.spec, context.limits).retry
        seen.unasked = None
        address = address_of(table, policy, catalog, options, context.reach(key.namespace))
        intervals = poll_intervals(table, policy, catalog.spec, context.limits, seen.observation)
        due = seen.observation.next_trigger if seen.observation is not None else None
        since = due if due is not None and due <= context.now() else None
        request = request_of(table, policy, address, runs)
        return None, context.scheduler.ask(key, request, intervals, since=since)

    def _gather(
        self,
        table: LakeTable,
        policy: CompactionPolicySpec | None,
        runs: list[Compaction],
        missing: TableProblem | None,
    ) -> DecisionInput:
        seen: TableState = self.context.scheduler.seen(table.metadata.key)
        active = active_of(runs)
        told = seen.answered.wanted.selection.held if seen.answered is not None else {}
        # An observation requested before a bucket was blocked counts that bucket as due.
        is_informed = told == held_by(table.status)
        return DecisionInput(
            table=table,
            policy=policy,
            policy_name=table.spec.policy_ref.name,
            observation=seen.observation if is_informed and not seen.outdated else None,
            held=told,
            policy_problem=None if policy is None else self.context.policy_problem(policy),
            problem=missing or (problem_of(seen.error) if seen.error else None),
            active=active.metadata.name if active else None,
            failing=failure_of_attempts(active) if active else None,
            requested=table.metadata.annotations.get(ANNOTATION_REQUESTED),
            requested_strategy=table.metadata.annotations.get(ANNOTATION_STRATEGY),
            duplicate_of=older_duplicate(self.context.store, table),
        )

    async def _start(
        self, decision_input: DecisionInput, status: LakeTableStatus, due: Due
    ) -> LakeTableStatus:
        """Creates the due Compaction, never twice: its name is derived from the table and its run count."""
        context, table = self.context, decision_input.table
        name = run_name(table.metadata.name, table.status.runs + 1, table.metadata.uid)
        approval = decision_input.policy.approval if decision_input.policy else Approval.AUTOMATIC
        body = _body(table, name, due, approval if due.kind is RunKind.COMPACT else Approval.AUTOMATIC)
        record = AutomaticRun(shared_bytes=self._shared_bytes(decision_input, due))
        try:
            await self._create(ObjectKey(table.metadata.namespace, name), body, record)
        except ClusterExists:
            # Created before a crash, perhaps over by now: its number is used; its event brings the rest.
            return replace(status, runs=table.status.runs + 1)
        context.slots.leave(table.metadata.key, LAKE_TABLE)  # from now on the run itself has the slot
        request = _requested_by(table, due)
        return replace(
            status,
            runs=table.status.runs + 1,
            active_compaction=name,
            handled_request=handled_request(request) if request else status.handled_request,
        )

    async def _create(self, key: ObjectKey, body: dict[str, Any], record: AutomaticRun) -> None:
        """Creates a Compaction, and records in its status that it is the operator's own.

        Nothing is decided about it before: without the record it would count as a person's.

        Raises:
            ClusterExists: there is a Compaction of this name.
        """
        context = self.context
        context.creating.add(key)
        try:
            made = read(Compaction, await context.api.create(COMPACTION, key.namespace, body))
            status = replace(made.status, automatic=record)
            recorded = await write_status(context.api, COMPACTION, made, status)
            context.store.compactions.put(recorded or made)
        finally:
            context.creating.discard(key)
            context.queue.add(COMPACTION, key)

    async def _write(self, table: LakeTable, status: LakeTableStatus) -> None:
        is_known = is_initial(table.status, status)
        written = table if is_known else await write_status(self.context.api, LAKE_TABLE, table, status)
        if written is not None and written is not table:
            self.context.store.tables.put(written)
            for severity, reason, message in table_events(table.status, written.status):
                await self.context.recorder.post(LAKE_TABLE, written.metadata, severity, reason, message)
        if _counts_differently(table.status, status):
            catalog = ObjectKey(table.metadata.namespace, table.spec.catalog_ref.name)
            self.context.queue.add_after(Item(CATALOG.name, catalog), _TOGETHER)
        self.context.metrics.table_changed(table.metadata.key, status, table.spec.identifier)

    async def _tidy(
        self, runs: list[Compaction], policy: CompactionPolicySpec, now: datetime
    ) -> float | None:
        """Deletes Compactions whose retention has ended; returns the seconds until the next deletion."""
        kept = retention(runs, policy, now)
        problem: ClusterRefused | None = None
        for run in runs:
            if run.metadata.key not in kept.delete:
                continue
            try:
                await self.context.api.delete(COMPACTION, run.metadata.key, uid=run.metadata.uid)
            except ClusterRefused as error:
                problem = error  # one refusal must not keep the others
        if problem is not None:
            raise problem
        return None if kept.wake is None else (kept.wake - now).total_seconds()


def _blamed(problem: TableProblem | None) -> str:
    """The reason of a problem if it concerns the table's catalog, else that of a catalog that works."""
    return problem.reason if problem is not None and problem.reason.blames_catalog else READY


def _counts_differently(before: LakeTableStatus, after: LakeTableStatus) -> bool:
    """Whether a table became, or ceased to be, unsupported or missing: its Catalog reports this and acts."""
    old, new = (condition_of(status.conditions, READY) for status in (before, after))
    reasons = {each.reason if each is not None else "" for each in (old, new)}
    return len(reasons) > 1 and any(
        reason == TableReason.TABLE_NOT_FOUND or is_unsupported(reason) for reason in reasons
    )


def _requested_by(table: LakeTable, due: Due) -> str | None:
    """The request that a run answers; None for none. Maintenance answers no request for a compaction."""
    return table.metadata.annotations.get(ANNOTATION_REQUESTED) if due.kind is RunKind.COMPACT else None


def _body(table: LakeTable, name: str, due: Due, approval: Approval) -> dict[str, Any]:
    """The body of a Compaction owned by its LakeTable, with which it is deleted."""
    meta = table.metadata
    request = _requested_by(table, due)
    annotations = {ANNOTATION_REQUESTED: handled_request(request)} if request else {}
    owner = {
        "apiVersion": LAKE_TABLE.api_version,
        "kind": LAKE_TABLE.name,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    spec = CompactionSpec(
        table_ref=Reference(name=meta.name),
        kind=due.kind,
        orphans=due.orphans,
        strategy=due.strategy,
        partitions=due.partitions,
        approval=approval,
        cause=shown(due_text(due), MESSAGE_LENGTH),
    )
    return {
        "apiVersion": COMPACTION.api_version,
        "kind": COMPACTION.name,
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": {LABEL_TABLE: label_value(meta.name)},
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": plain(spec),
    }
