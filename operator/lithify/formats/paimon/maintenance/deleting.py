"""Deletes what a plan of expiry names, in an order that a crash at any point cannot harm.

Called by `snapshot_expiry`. The only module of this room that writes. First files go that only the expiring
snapshots need, then the metadata by which they were found, then the snapshots from the oldest on, last the
EARLIEST hint moves: whatever is left after a crash is found and completed by the next plan, and a snapshot
whose file exists is either whole or the next to go.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from lithify.columns.column_groups import listed
from lithify.errors import StalePlan
from lithify.faults import failpoint
from lithify.formats.paimon.maintenance.history import hint_path, lowest_position
from lithify.formats.paimon.maintenance.plan import ExpiryPlan
from lithify.formats.paimon.snapshots.holders import Holder, Holding, holders_of
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.formats.paimon.table import PaimonTable

_PHASES = ("files", "manifests", "lists")


def delete_expired(table: PaimonTable, plan: ExpiryPlan) -> None:
    """Deletes the files of a plan, then its snapshots, then moves the hint.

    Raises:
        StalePlan: somebody may need a file of the plan since it was made; nothing was deleted.
        StorageError: the file system refuses; plan and run again.
    """
    failpoint("expiry-planned")
    if not plan.is_empty:
        check_current(table, plan)
    for kind, paths in zip(_PHASES, phases(plan), strict=True):
        table.storage.delete_all(paths)
        failpoint(f"expired-{kind}-deleted")
    for number in plan.snapshots:
        table.storage.delete(table.snapshots.path(number))
        failpoint("expired-snapshot-deleted")
    failpoint("expired-snapshots-deleted")
    if plan.hint is not None:
        table.storage.write_text(hint_path(table), str(plan.hint))


def phases(plan: ExpiryPlan) -> Iterator[list[str]]:
    """The files that go before the snapshots; each phase ends before the next begins.

    A phase names the files by which the ones before it are found.
    """
    doomed = plan.doomed
    yield [*_texts(doomed.data), *_texts(doomed.changelog), *doomed.indexes, *doomed.statistics]
    yield [*doomed.manifests]
    yield [*doomed.lists]


def check_current(table: PaimonTable, plan: ExpiryPlan) -> None:
    """Checks that nobody has got hold of an expiring snapshot since the plan was made.

    Commits since then hold nothing that goes: they build on a snapshot that stays. A tag that somebody
    creates after this check, of a snapshot that is about to go, is broken; so it is with Java.

    Raises:
        StalePlan: a tag, branch, snapshot or consumer is new or has changed, or the oldest snapshot that
            stays is gone.
    """
    for holder in holders_of(table.storage, table.root, table.home):
        if holder not in plan.seen and not _is_later_commit(table, plan, holder):
            raise StalePlan(table.name, f"{holder.path} was written")
    oldest = plan.end
    found = None if oldest is None else table.snapshots.get(oldest.id)
    if oldest is None or found is None or not is_same(found, oldest):
        raise StalePlan(table.name, "the oldest snapshot that should stay was replaced or deleted")
    position = lowest_position(table)
    if position is not None and position < oldest.id:
        raise StalePlan(table.name, f"a consumer with snapshot {position} still to read was registered")


def _is_later_commit(table: PaimonTable, plan: ExpiryPlan, holder: Holder) -> bool:
    is_own = holder.home == table.home and holder.kind is Holding.SNAPSHOT
    return is_own and int(holder.name.removeprefix(f"{Holding.SNAPSHOT}-")) > plan.latest


def _texts(paths: pa.Array) -> list[str]:
    return listed(paths) if len(paths) else []
