"""Commits of rollbacks: the metadata with another head of a branch.

Called by `rollback`. A server compares the branch's head, all other catalogs the pointer, so that nobody's
commit is undone that the plan does not list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.engine.commit.patience import Backoff
from lithify.errors import StalePlan
from lithify.formats.iceberg.maintenance.metadata_commit import commit_metadata
from lithify.formats.iceberg.maintenance.rollback_plan import RollbackPlan
from lithify.formats.iceberg.table.evolving import NextVersion, metadata_log, set_head, with_head
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable

_OUTRUN = "the branch, or other metadata of the table, has changed"


@dataclass(frozen=True, slots=True)
class RollbackChange:
    """A branch gets an earlier head; implements `metadata_commit.MetadataChange`.

    Attributes:
        plan: the target, and what is undone.
        branch: the branch.
    """

    plan: RollbackPlan
    branch: str

    @property
    def title(self) -> str:
        """The target."""
        return f"rollback to snapshot {self.plan.target.id}"

    def version(self, base: TableMetadata, millis: int) -> NextVersion:
        """See the Protocol."""
        return version_with_head(base, self.branch, self.plan.target.id, millis)

    def updates(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """See the Protocol."""
        return [set_head(base, self.branch, self.plan.target.id)]

    def requirements(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """See the Protocol."""
        return required(base, self.branch)

    def is_in(self, found: TableMetadata) -> bool:
        """Whether the branch leads back to the target without what is undone."""
        history = {each.id for each in found.ancestry(self.branch)}
        return self.plan.target.id in history and history.isdisjoint(each.id for each in self.plan.later)


def commit_rollback(table: IcebergTable, plan: RollbackPlan, backoff: Backoff, millis: int) -> None:
    """Makes the target of a plan the head of the table's branch.

    Args:
        table: the table.
        plan: the plan, with snapshots to undo.
        backoff: waits while the outcome is unknown.
        millis: the present time.

    Raises:
        StalePlan: others have committed since the plan was made; nothing was changed.
        CommitUnknown: it is unknown whether the catalog has carried it out.
        StorageError: the store or the catalog refuses; nothing was changed.
    """
    change = RollbackChange(plan, table.branch)
    if not commit_metadata(table, plan.base, plan.pointer, change, backoff, millis):
        raise StalePlan(table.name, _OUTRUN)


def version_with_head(base: TableMetadata, branch: str, snapshot: int, millis: int) -> NextVersion:
    """The metadata with an existing snapshot as the head of a branch.

    Sequence numbers and row ids that were assigned stay assigned.

    Args:
        base: the metadata before.
        branch: the branch, which exists.
        snapshot: the snapshot.
        millis: the present time.
    """
    log, forgotten = metadata_log(base)
    head = with_head(base, branch, snapshot, max(millis, base.last_updated))
    following = {**base.json, **head, "metadata-log": log}
    return NextVersion(json.dumps(following, separators=(",", ":")), forgotten)


def required(base: TableMetadata, branch: str) -> Sequence[Mapping[str, Any]]:
    """What must hold for the update: the same table, with the head that the plan knows."""
    head = base.head(branch)
    return [
        {"type": "assert-table-uuid", "uuid": base.uuid},
        {"type": "assert-ref-snapshot-id", "ref": branch, "snapshot-id": head and head.id},
    ]
