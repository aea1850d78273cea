"""Rollback of one branch of an Iceberg table: implements `formats.protocol.maintenance.Maintenance`.

Created by `iceberg.maintaining`. Has `rollback_plan` plan and `rollback_commit` commit. The result is that of
Spark's procedure rollback_to_snapshot: another head of the branch, and no file is deleted.
"""

from __future__ import annotations

import re

from lithify.clock import Clock, epoch_millis
from lithify.engine.commit.patience import backoff_of
from lithify.errors import InvalidOption, MissingFile, StalePlan, UnsupportedTable
from lithify.formats.iceberg.commit.options import commit_patience
from lithify.formats.iceberg.maintenance.rollback_commit import commit_rollback
from lithify.formats.iceberg.maintenance.rollback_plan import RollbackPlan, plan_rollback
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.maintenance import (
    Maintained,
    Maintenance,
    MaintenanceKind,
    MaintenanceSettings,
)
from lithify.formats.protocol.rollback import TARGET, check_losses, target_of

_ID = re.compile(r"[0-9]{1,19}", re.ASCII)


class IcebergRollback(Maintenance[RollbackPlan]):
    """Makes an earlier snapshot of a branch its head.

    Args:
        table: the table.
        settings: which snapshot, and whether commits may be lost.
        clock: tells when the rollback was committed.
    """

    kind = MaintenanceKind.ROLL_BACK

    def __init__(self, table: IcebergTable, settings: MaintenanceSettings, clock: Clock) -> None:
        self._table = table
        self._settings = settings
        self._clock = clock

    def plan(self, clock: Clock) -> RollbackPlan:
        """See the Protocol.

        Raises:
            NotFound: the snapshot does not exist, or is no ancestor of the branch's head.
            MissingFile: its metadata files are gone, so the branch could not be read after the rollback.
        """
        del clock
        target = target_of(self._settings)
        if not _ID.fullmatch(target):
            raise InvalidOption(TARGET, f"{target} is no id of an Iceberg snapshot")
        if self._table.refusals:
            raise UnsupportedTable(self._table.name, self._table.refusals, "rolled back")
        table, base = self._table, self._table.refresh()
        plan = plan_rollback(table.name, base, table.pointer, table.branch, int(target))
        self._check_whole(plan)
        return plan

    def execute(self, plan: RollbackPlan) -> Maintained:
        """See the Protocol.

        Raises:
            CommitsWouldBeLost: commits that are no compactions would be undone, and may not; nothing is.
            CommitUnknown: it is unknown whether the catalog has carried it out.
        """
        check_losses(self._table.name, plan.undone, self._settings)
        if not plan.is_empty:
            self._commit(plan)
        return Maintained(self.kind, plan.figures, plan.oldest, plan.samples)

    def _commit(self, plan: RollbackPlan) -> None:
        table = self._table
        head = table.refresh().head(table.branch)
        if head is None or head.id != plan.later[0].id:
            raise StalePlan(table.name, f"branch {table.branch} got another newest snapshot")
        table.check_writable()
        backoff = backoff_of(str(plan.target.id), commit_patience(table.properties), self._clock)
        commit_rollback(table, plan, backoff, epoch_millis(self._clock.now()))

    def _check_whole(self, plan: RollbackPlan) -> None:
        """Checks that the target's manifests exist; its data files stay until it expires."""
        if plan.target.manifest_list is None:
            return
        manifests = ManifestReader(self._table.storage).manifests(plan.target.manifest_list)
        paths = [each.path for each in manifests]
        for path, exists in zip(paths, self._table.storage.exist(paths), strict=True):
            if not exists:
                raise MissingFile(path)
