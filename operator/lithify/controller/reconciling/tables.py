"""Reconciles one LakeTable: has it looked at, decides, writes status, creates the Compaction that is due.

Called by `loop`. It never waits for a look; `looks` tells the queue when one has ended.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from lithify.controller.deciding.conditions import TableProblem, problem_of, table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.history import active_of, after_runs
from lithify.controller.deciding.names import run_name
from lithify.controller.deciding.schedule import policy_problem
from lithify.controller.deciding.situation import Decision, Due, Situation
from lithify.controller.reconciling.looks import Seen
from lithify.controller.reconciling.secrets import catalog_options
from lithify.controller.reconciling.status import write_status
from lithify.controller.reconciling.targets import request_of, rhythm_of, target_of
from lithify.controller.reconciling.world import World
from lithify.controller.running.retention import retained
from lithify.errors import ClusterExists, ClusterRefused, LithifyError, NotAllowed, NotFound
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction
from lithify.resources.modelling import MESSAGE_LENGTH, plain, read
from lithify.resources.names import (
    ANNOTATION_REQUESTED,
    COMPACTION,
    LABEL_TABLE,
    LAKE_TABLE,
    ObjectKey,
)
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable, LakeTableStatus

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tables:
    """Reconciles LakeTables.

    Attributes:
        world: what it works with.
    """

    world: World

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Makes status true and starts what is due; returns the seconds until it is to be asked again."""
        world = self.world
        table = world.store.tables.get(key)
        if table is None:
            world.looks.forget(key)
            world.room.forget(key)
            world.metrics.table_gone(key)
            return None
        policy = world.store.policy_of(table)
        spec = policy.spec if policy else None
        catalog = world.store.catalog_of(table)
        missing, next_look = await self._look(table, spec, catalog)
        runs = world.store.runs_of(key)
        now = world.now()
        counted = replace(table, status=after_runs(table, runs, spec or CompactionPolicySpec(), now))
        situation = self._situation(counted, spec, runs, missing)
        decision = decide(situation, now)
        if decision.due is not None and decision.hold is None:
            situation, decision = self._queue(situation, decision, policy_name=situation.policy_name)
        status = table_status(situation, decision, now)
        if decision.start is not None:
            status = await self._start(counted, status, decision.start)
        await self._write(table, status)
        expires = await self._tidy(key, runs, spec or CompactionPolicySpec())
        waits = [next_look, expires, (decision.wake - now).total_seconds() if decision.wake else None]
        return min((wait for wait in waits if wait is not None), default=None)

    async def _look(
        self, table: LakeTable, policy: CompactionPolicySpec | None, catalog: Catalog | None
    ) -> tuple[TableProblem | None, float | None]:
        """Has the table looked at if it is time; what is missing for that, and when the next look is due."""
        world, key = self.world, table.metadata.key
        if catalog is None:
            return TableProblem.catalog_missing(table), None
        secret = catalog.spec.secret_ref
        seen = world.looks.seen(key)
        if isinstance(seen.error, NotAllowed):
            world.secrets.forget(key.namespace, secret)
        try:
            values = await world.secrets.options(key.namespace, secret) if secret else {}
        except (NotFound, ClusterRefused) as error:
            return problem_of(error), rhythm_of(table, policy, catalog.spec).retry
        options = catalog_options(catalog.spec, values)
        target = target_of(table, policy, options, catalog.spec.warehouse)
        rhythm = rhythm_of(table, policy, catalog.spec)
        return None, world.looks.ask(key, request_of(table, policy, target), rhythm)

    def _situation(
        self,
        table: LakeTable,
        policy: CompactionPolicySpec | None,
        runs: list[Compaction],
        missing: TableProblem | None,
    ) -> Situation:
        seen: Seen = self.world.looks.seen(table.metadata.key)
        active = active_of(runs)
        return Situation(
            table=table,
            policy=policy,
            policy_name=table.spec.policy_ref.name,
            observation=seen.observation,
            policy_problem=policy and (policy_problem(policy) or self.world.conf_problem(policy.spark)),
            problem=missing or (problem_of(seen.error) if seen.error else None),
            active=active.metadata.name if active else None,
            requested=table.metadata.annotations.get(ANNOTATION_REQUESTED),
        )

    async def _start(self, table: LakeTable, status: LakeTableStatus, due: Due) -> LakeTableStatus:
        """Creates the Compaction that is due. Its name follows from the table, so it is never created twice."""
        world = self.world
        name = run_name(table.metadata.name, table.status.runs + 1, table.metadata.uid)
        try:
            made = await world.api.create(COMPACTION, table.metadata.namespace, _body(table, name, due))
        except ClusterExists:
            # Created before a crash, and perhaps over by now: its number is used up, the rest will be seen.
            return replace(status, runs=table.status.runs + 1)
        run = read(Compaction, made)
        world.store.compactions.put(run)
        world.queue.add(COMPACTION, run.metadata.key)
        request = table.metadata.annotations.get(ANNOTATION_REQUESTED)
        return replace(
            status,
            runs=table.status.runs + 1,
            active_compaction=name,
            handled_request=request[:256] if request else status.handled_request,
        )

    async def _write(self, table: LakeTable, status: LakeTableStatus) -> None:
        written = await write_status(self.world.api, LAKE_TABLE, table, status)
        if written is not None and written is not table:
            self.world.store.tables.put(written)
        self.world.metrics.table_changed(table.metadata.key, status)
