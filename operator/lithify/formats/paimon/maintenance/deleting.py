"""Deletes what a plan of expiry names, in an order that a crash at any point cannot harm.

Called by `snapshot_expiry`, and for the files of tags by `tag_management`. First consumers go, then files
that only the expiring snapshots and changelogs need, then the metadata by which they were found, then
changelogs and snapshots from the oldest on, last the hints move: whatever is left after a crash is found and
completed by the next plan, and a snapshot whose file exists is either whole or the next to go. A snapshot
whose changelog outlives it is copied before it is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

import pyarrow as pa

from lithify.columns.column_groups import listed
from lithify.errors import StalePlan
from lithify.faults import failpoint
from lithify.formats.paimon.maintenance.consumers import consumers_of, lowest_position
from lithify.formats.paimon.maintenance.history import LATEST_HINT, hint_path
from lithify.formats.paimon.maintenance.plan import Doomed, ExpiryPlan
from lithify.formats.paimon.snapshots.holders import Holder, Holding, holders_of
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.formats.paimon.table import PaimonTable
from lithify.io.small_files import MOST_SNAPSHOT

_PHASES = ("files", "manifests", "lists")


def delete_expired(table: PaimonTable, plan: ExpiryPlan) -> None:
    """Deletes the files of a plan, then its snapshots, then moves the hint.

    The oldest snapshot that stays is looked at again before each step: if somebody rolls the table back to
    before it while many files are deleted, writers give the ids of snapshots that go to new ones.

    Raises:
        StalePlan: somebody may need a file of the plan since it was made, so nothing more was deleted.
        StorageError: the file system refuses; plan and run again.
    """
    failpoint("expiry-planned")
    if not plan.is_empty:
        check_current(table, plan)
    for consumer in plan.consumers:
        table.storage.delete(consumer.path)
    failpoint("expired-consumers-deleted")
    delete_files(table, plan.doomed, lambda: check_oldest(table, plan))
    for number in plan.changelogs:
        check_oldest(table, plan)
        table.storage.delete(_changelog_path(table, number))
        failpoint("expired-changelog-deleted")
    for number in plan.snapshots:
        check_oldest(table, plan)
        _keep_changelog(table, plan, number)
        table.storage.delete(table.snapshots.path(number))
        failpoint("expired-snapshot-deleted")
    failpoint("expired-snapshots-deleted")
    _move_hints(table, plan)


def _keep_changelog(table: PaimonTable, plan: ExpiryPlan, number: int) -> None:
    """Writes the changelog that a snapshot leaves, if it leaves one: the text of the snapshot, as in Java."""
    text = None
    if number in plan.becoming:
        text = table.storage.read_text(table.snapshots.path(number), MOST_SNAPSHOT)
    if text is not None:
        table.storage.write_text(_changelog_path(table, number), text)
        table.storage.write_text(hint_path(table, Holding.CHANGELOG, LATEST_HINT), str(number))
        failpoint("changelog-kept")


def _move_hints(table: PaimonTable, plan: ExpiryPlan) -> None:
    if plan.changelog_hint is not None:
        table.storage.write_text(hint_path(table, Holding.CHANGELOG), str(plan.changelog_hint))
    if plan.hint is not None:
        table.storage.write_text(hint_path(table), str(plan.hint))


def _changelog_path(table: PaimonTable, number: int) -> str:
    return f"{table.home}/{Holding.CHANGELOG}/{Holding.CHANGELOG}-{number}"


def delete_files(table: PaimonTable, doomed: Doomed, check: Callable[[], None] = lambda: None) -> None:
    """Deletes the files of a plan of expiry, phase by phase, each after a check."""
    for kind, paths in zip(_PHASES, phases(doomed), strict=True):
        if paths:
            check()
        table.storage.delete_all(paths)
        failpoint(f"expired-{kind}-deleted")


def phases(doomed: Doomed) -> Iterator[list[str]]:
    """The files that go before the snapshots or tags; each phase ends before the next begins.

    A phase names the files by which the ones before it are found.
    """
    yield [*_texts(doomed.data), *_texts(doomed.changelog), *doomed.indexes, *doomed.statistics]
    yield [*doomed.manifests]
    yield [*doomed.lists]


def check_current(table: PaimonTable, plan: ExpiryPlan) -> None:
    """Checks that nobody has got hold of an expiring snapshot since the plan was made.

    Commits since then hold nothing that goes: they build on a snapshot that stays. A tag that somebody
    creates after this check, of a snapshot that is about to go, is broken; so it is with Java.

    Raises:
        StalePlan: a tag, branch, snapshot, changelog or consumer is new or has changed, or the oldest
            snapshot that stays is gone.
    """
    check_holders(table, plan.seen, plan.latest)
    check_oldest(table, plan)
    if plan.latest and table.snapshots.get(plan.latest) is None:
        # With fewer snapshots more of them are kept: a killed run would leave one that the next one keeps.
        raise StalePlan(table.name, f"snapshot {plan.latest}, which was the newest one, was rolled back")
    _check_consumers(table, plan)


def check_oldest(table: PaimonTable, plan: ExpiryPlan) -> None:
    """Checks that the oldest snapshot that stays is there, so that all before it are what was planned.

    Raises:
        StalePlan: it was rolled back, or replaced by another one of its id.
    """
    oldest = plan.end
    if oldest is None:
        return
    found = table.snapshots.get(oldest.id)
    if found is None or not is_same(found, oldest):
        raise StalePlan(table.name, "the oldest snapshot that should stay was replaced or deleted")


def _check_consumers(table: PaimonTable, plan: ExpiryPlan) -> None:
    """Checks that consumers that go have not moved, and that the others need nothing that goes."""
    found = set(consumers_of(table))
    moved = {each.path for each in plan.consumers} & {each.path for each in found.difference(plan.consumers)}
    if moved:
        raise StalePlan(table.name, f"{min(moved)} was written")
    position = lowest_position(table, found.difference(plan.consumers))
    if position is not None and position < plan.unread:
        raise StalePlan(table.name, f"a consumer with snapshot {position} still to read was registered")


def check_holders(table: PaimonTable, seen: Container[Holder], latest: int) -> None:
    """Checks that nobody but commits has made or changed a snapshot, tag, branch or changelog since a plan.

    Args:
        table: the table.
        seen: its holders when the plan was made.
        latest: the newest snapshot then.

    Raises:
        StalePlan: somebody has.
    """
    for holder in holders_of(table.storage, table.root, table.home):
        if holder not in seen and not _is_commit_after(table, latest, holder):
            raise StalePlan(table.name, f"{holder.path} was written")


def _is_commit_after(table: PaimonTable, latest: int, holder: Holder) -> bool:
    is_own = holder.home == table.home and holder.kind is Holding.SNAPSHOT
    return is_own and int(holder.name.removeprefix(f"{Holding.SNAPSHOT}-")) > latest


def _texts(paths: pa.Array) -> list[str]:
    return listed(paths) if len(paths) else []
