"""Publishes a rollback: the metadata with another head of a branch, sent through the catalog.

Called by `rollback`. It is a commit of metadata alone: `engine.commit.publishing` sends it and finds out what
became of it. A server compares the branch's head, all other catalogs the pointer, so that nobody's commit is
undone that the plan does not list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from lithify.engine.commit.patience import Backoff
from lithify.engine.commit.publishing import Found, Place, Published, publish
from lithify.errors import CommitUnknown, LithifyError, StalePlan
from lithify.formats.iceberg.commit.publisher import (
    can_arrive_late,
    delete_forgotten,
    delete_refused,
    is_refusal,
    is_unchanged,
)
from lithify.formats.iceberg.maintenance.rollback_plan import RollbackPlan
from lithify.formats.iceberg.table.evolving import NextVersion, metadata_log
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.model import SnapshotId

_OUTRUN = "the branch, or other metadata of the table, has changed"


@dataclass(frozen=True, slots=True)
class RollbackDraft:
    """A rollback that can be sent.

    Attributes:
        plan: what it does.
        location: the next metadata file; empty if a server writes it.
        version: its content; None if a server makes it.
    """

    plan: RollbackPlan
    location: str = ""
    version: NextVersion | None = None


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
    draft = _draft(table, plan, millis)
    publisher = RollbackPublisher(table)
    try:
        published = publish(publisher, draft, backoff)
    except CommitUnknown:
        raise
    except LithifyError:
        _discard(table, draft)
        raise
    if published.place is Place.OUTRUN:
        _discard(table, draft)
        raise StalePlan(table.name, _OUTRUN)
    if published.place is Place.LOST:
        raise CommitUnknown(
            publisher.location(draft), "others have committed, and it may still be carried out"
        )
    publisher.verify(draft)


@dataclass(frozen=True, slots=True)
class RollbackPublisher:
    """Sends rollbacks of one table; implements `engine.commit.publishing.Publisher`."""

    table: IcebergTable

    @property
    def can_arrive_late(self) -> bool:
        """Catalogs and object stores may carry out a request long after it was sent."""
        return can_arrive_late(self.table)

    def location(self, draft: RollbackDraft) -> str:
        """The rollback and its table."""
        return f"{self.table.name}, rollback to snapshot {draft.plan.target.id}"

    def publish(self, draft: RollbackDraft) -> bool:
        """Sends the rollback to the catalog; returns whether it was carried out."""
        plan, table, server = draft.plan, self.table, self.table.server
        if server is not None:
            base, branch = plan.base, table.branch
            update = set_head(base, branch, plan.target.id)
            return server.update(table.address, required(base, branch), [update])
        assert draft.version is not None  # noqa: S101  # `_draft` makes it for these catalogs
        text = draft.version.text
        return table.pointers.swap(table.address, plan.pointer, draft.location, text, lambda: True)

    def is_refusal(self, error: Exception) -> bool:
        """Whether the catalog has certainly not carried out the request."""
        return is_refusal(self.table, error)

    def find_published(self, draft: RollbackDraft) -> Found:
        """Whether the branch leads back to the target without what is undone, or has moved on."""
        found, plan = self.table.refresh(), draft.plan
        history = {each.id for each in found.ancestry(self.table.branch)}
        if plan.target.id in history and history.isdisjoint(each.id for each in plan.later):
            return Found.OURS
        return Found.NOTHING if is_unchanged(found, plan.base) else Found.OTHER

    def may_send_again(self, draft: RollbackDraft) -> bool:
        """Whether the metadata still are those of the plan."""
        return is_unchanged(self.table.refresh(), draft.plan.base)

    def confirm(self, draft: RollbackDraft) -> str | None:
        """Nothing to check: catalogs compare the head or the pointer."""
        del draft
        return None

    def verify(self, draft: RollbackDraft) -> Published:
        """Deletes the earlier metadata files that the table's properties no longer keep."""
        if self.table.metadata.file == draft.location:  # else somebody else was first, with another log
            delete_forgotten(self.table, draft.version)
        return Published(Place.OURS, SnapshotId(str(draft.plan.target.id)))


def version_with_head(base: TableMetadata, branch: str, snapshot: int, millis: int) -> NextVersion:
    """The metadata with an existing snapshot as the head of a branch.

    As in Java (`TableMetadata.Builder.setRef`), the log of main says since when the snapshot counts. Sequence
    numbers and row ids that were assigned stay assigned.

    Args:
        base: the metadata before.
        branch: the branch, which exists.
        snapshot: the snapshot.
        millis: the present time.
    """
    log, forgotten = metadata_log(base)
    millis = max(millis, base.last_updated)
    refs = dict(base.json.get("refs") or {})
    refs[branch] = {**(refs.get(branch) or {"type": "branch"}), "snapshot-id": snapshot}
    following = {**base.json, "last-updated-ms": millis, "refs": refs, "metadata-log": log}
    if branch == MAIN:
        entry = {"timestamp-ms": millis, "snapshot-id": snapshot}
        following["current-snapshot-id"] = snapshot
        following["snapshot-log"] = [*(base.json.get("snapshot-log") or ()), entry]
    return NextVersion(json.dumps(following, separators=(",", ":")), forgotten)


def set_head(base: TableMetadata, branch: str, snapshot: int) -> Mapping[str, Any]:
    """The same as an update for a REST catalog's server."""
    kept = (base.json.get("refs") or {}).get(branch, {})
    return {
        "action": "set-snapshot-ref",
        "ref-name": branch,
        **kept,
        "type": "branch",
        "snapshot-id": snapshot,
    }


def required(base: TableMetadata, branch: str) -> Sequence[Mapping[str, Any]]:
    """What must hold for the update: the same table, with the head that the plan knows."""
    head = base.head(branch)
    return [
        {"type": "assert-table-uuid", "uuid": base.uuid},
        {"type": "assert-ref-snapshot-id", "ref": branch, "snapshot-id": head and head.id},
    ]


def _draft(table: IcebergTable, plan: RollbackPlan, millis: int) -> RollbackDraft:
    """The draft; writes the metadata file where creating it is not the commit itself."""
    if table.server is not None:
        return RollbackDraft(plan)
    folder = plan.base.metadata_folder
    location = table.pointers.next_location(plan.pointer, folder, str(uuid4()))
    version = version_with_head(plan.base, table.branch, plan.target.id, millis)
    if not _creates(table):
        with closing(table.storage.create(location).sink) as sink:
            sink.write(version.text.encode())
        table.storage.persist([location])
    return RollbackDraft(plan, location, version)


def _discard(table: IcebergTable, draft: RollbackDraft) -> None:
    """Deletes the metadata file of a rollback that was refused."""
    if draft.location and not _creates(table):
        delete_refused(table, draft.plan.base, draft.location)


def _creates(table: IcebergTable) -> bool:
    """Whether creating the metadata file is the commit itself."""
    return table.server is None and table.pointers.owns_files
