"""Deletes what a plan of rollback names, in an order that a crash at any point cannot harm.

Called by `table_rollback`. First the LATEST hint moves to the target, by which readers, writers and
`snapshots.lineage` know a rollback (`RollbackHelper` in Java). Then tags go, then long-lived changelogs, then
snapshots, the newest first. So at each point the newest existing snapshot is whole, and the same rollback
completes what a killed one has begun.

Java deletes tags last. A rollback that is killed before that leaves tags of snapshots whose ids are used
again, and Java's deletion of such a tag asks the wrong neighbours which files they need.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import CorruptTable, RollbackOutrun, StalePlan
from lithify.faults import failpoint
from lithify.formats.paimon.maintenance.rollback_plan import Later, RollbackPlan, number_of
from lithify.formats.paimon.maintenance.rollback_planning import check_whole
from lithify.formats.paimon.snapshots.holders import Holding, holders_in
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.formats.paimon.table import PaimonTable

_LATEST = "LATEST"
_NO_CHANGELOG = "-1"
"""What Java writes into the hint of changelogs that are all gone."""


def roll_back(table: PaimonTable, plan: RollbackPlan) -> None:
    """Deletes what is later than the target of a plan.

    Raises:
        StalePlan: somebody has committed, tagged, rolled back or expired the target since the plan was made;
            nothing was deleted, or what was is restored.
        MissingFile: likewise, if an expiry has deleted files of the target.
        RollbackOutrun: somebody has committed on a snapshot that was being undone.
        StorageError: the file system refuses; plan and run again.
    """
    failpoint("rollback-planned")
    if not plan.is_empty:
        check_current(table, plan)
    if not plan.is_empty or (table.snapshots.hint() or 0) > plan.target.id:
        table.storage.write_text(_hint_path(table, Holding.SNAPSHOT), str(plan.target.id))
    failpoint("rollback-hint-written")
    for tag in plan.tags:
        table.storage.delete(tag.holder.path)
        failpoint("rolled-back-tag-deleted")
    _delete_changelogs(table, plan)
    for snapshot in plan.snapshots:
        _check_target(table, plan)
        _delete(table, snapshot)
        failpoint("rolled-back-snapshot-deleted")
    failpoint("rolled-back-snapshots-deleted")
    _check_newest(table, plan)
    _check_target(table, plan)
    with _restoring(table, plan):
        check_whole(table, plan)


def check_current(table: PaimonTable, plan: RollbackPlan) -> None:
    """Checks that the branch has what it had when the plan was made, but for older snapshots that expired.

    A writer may still commit after this check, as with Java: `_check_newest` notices most of those.

    Raises:
        StalePlan: it has not.
    """
    found = frozenset(holders_in(table.storage, table.home))
    for holder in found - plan.seen:
        raise StalePlan(table.name, f"{holder.path} was written")
    for later in (*plan.snapshots, *plan.tags, *plan.changelogs):
        if later.holder not in found:
            raise StalePlan(table.name, f"{later.holder.path} was deleted")
    if not table.snapshots.has(plan.target):
        raise StalePlan(table.name, f"snapshot {plan.target.id} was replaced or deleted")
    check_whole(table, plan)


def _check_target(table: PaimonTable, plan: RollbackPlan) -> None:
    """Checks that the target is still there: an expiry that began before may delete it at any moment.

    Together they would delete all snapshots; so what is deleted is restored.

    Raises:
        StalePlan: it is gone.
    """
    with _restoring(table, plan):
        if not table.snapshots.has(plan.target):
            raise StalePlan(table.name, f"snapshot {plan.target.id} was replaced or deleted")


@contextmanager
def _restoring(table: PaimonTable, plan: RollbackPlan) -> Iterator[None]:
    """Puts deleted snapshots and tags back, the oldest first, if a check fails; their files all exist.

    Not if somebody else has rolled back further.
    """
    try:
        yield
    except (CorruptTable, StalePlan):
        if not _is_rolled_back_further(table, plan):
            for later in reversed((*plan.snapshots, *plan.tags)):
                if later.text:
                    table.storage.create_text(later.holder.path, later.text)
            _point_to_newest(table)
        raise


def _is_rolled_back_further(table: PaimonTable, plan: RollbackPlan) -> bool:
    """Whether another rollback went further: expiries move no LATEST hint, and free no id for another use."""
    hint, found = table.snapshots.hint(), table.snapshots.get(plan.target.id)
    return bool(hint and hint < plan.target.id) or (found is not None and not is_same(found, plan.target))


def _delete(table: PaimonTable, later: Later) -> None:
    """Deletes a snapshot, unless another one has its id by now."""
    if later.snapshot is None:
        table.storage.delete(later.holder.path)
        return
    meant = later.snapshot
    table.storage.delete_text(later.holder.path, lambda text: _is_text_of(text, meant))


def _is_text_of(text: str, snapshot: Snapshot) -> bool:
    try:
        return is_same(parse_snapshot(text), snapshot)
    except ValueError:
        return False


def _delete_changelogs(table: PaimonTable, plan: RollbackPlan) -> None:
    """Deletes later long-lived changelogs, after the hint to the newest one has moved."""
    if not plan.changelogs:
        return
    gone = {each.holder for each in plan.changelogs}
    left = [number_of(each) for each in plan.seen - gone if each.kind is Holding.CHANGELOG]
    hint = str(max(left)) if left else _NO_CHANGELOG
    table.storage.write_text(_hint_path(table, Holding.CHANGELOG), hint)
    for changelog in plan.changelogs:
        table.storage.delete(changelog.holder.path)


def _check_newest(table: PaimonTable, plan: RollbackPlan) -> None:
    """Checks that the target is the newest snapshot.

    A commit that came in between is built on a snapshot that is undone, and has all of its rows. So that
    nobody commits beside it, it becomes the newest one for everybody, and the next plan lists it.

    Raises:
        RollbackOutrun: another snapshot is the newest one.
    """
    later = [number for number in table.snapshots.numbers() if number > plan.target.id]
    if later:
        _point_to_newest(table)
        raise RollbackOutrun(table.name, f"snapshot {later[-1]} was committed")


def _point_to_newest(table: PaimonTable) -> None:
    """Points the LATEST hint to the snapshot with the highest id."""
    hint, numbers = _hint_path(table, Holding.SNAPSHOT), table.snapshots.numbers()
    if numbers:
        table.storage.write_text(hint, str(numbers[-1]))
    if not numbers or not table.snapshots.exists(numbers[-1]):  # a run of ours took it back concurrently
        table.storage.delete(hint)


def _hint_path(table: PaimonTable, kind: Holding) -> str:
    return f"{table.home}/{kind}/{_LATEST}"
