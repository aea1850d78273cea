"""Plans a rollback: what of a branch is later than the target, and whether the target is whole.

Called by `table_rollback`. Reads metadata and writes nothing. What is later is decided by ids, as in Java
(`RollbackHelper`), but from a listing: Java counts down from the snapshot that the LATEST hint names, and
misses one behind a gap.

Data files are not looked for: since Paimon 1.2 a rollback leaves those of undone commits to the removal of
orphans (see docs/design/0086).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.columns.column_groups import listed
from lithify.errors import CorruptTable, MissingFile, NotFound
from lithify.formats.paimon.maintenance.consumers import consumers_of, positions
from lithify.formats.paimon.maintenance.live_names import read_manifests
from lithify.formats.paimon.maintenance.named_files import Part, Reference, read_named
from lithify.formats.paimon.maintenance.removed_files import FILES, files_from_before, paths_of
from lithify.formats.paimon.maintenance.rollback_plan import Later, RollbackPlan, number_of
from lithify.formats.paimon.manifests.entry_columns import empty
from lithify.formats.paimon.snapshots.holders import Holder, Holding, holders_in
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.table import PaimonTable
from lithify.io.small_files import MOST_SNAPSHOT

MOST_CHECKED = 1_000
"""Data files of the target whose existence is checked."""

_AT_ONCE = 8


def plan_rollback(table: PaimonTable, number: int) -> RollbackPlan:
    """Plans a rollback to a snapshot.

    Raises:
        NotFound: there is no such snapshot; the message says whether it has expired.
        CorruptTable: a tag cannot be read, so it is unknown whether it is later.
        MissingFile: a file of the snapshot is missing, so the table could not be read after a rollback.
    """
    holders = list(holders_in(table.storage, table.home))
    later = list(_later(table, holders, number))
    numbers = [number_of(each) for each in holders if each.kind is Holding.SNAPSHOT]
    target = table.snapshots.get(number)
    if target is None:
        raise NotFound("snapshot", f"{number} in {table.name}", _hint(table, holders, numbers, number))
    plan = RollbackPlan(
        target=target,
        first=min(numbers, default=number),
        snapshots=_of(later, Holding.SNAPSHOT),
        tags=_of(later, Holding.TAG),
        changelogs=_of(later, Holding.CHANGELOG),
        seen=frozenset(holders),
        readers=tuple(_readers_ahead(table, number)),
    )
    plan = replace(plan, needed=tuple(needed_files(table, plan)))
    check_whole(table, plan)
    return plan


def check_whole(table: PaimonTable, plan: RollbackPlan) -> None:
    """Checks that files of the target exist that nobody else needs.

    Raises:
        MissingFile: one does not exist.
    """
    for path, exists in zip(plan.needed, table.storage.exist(plan.needed), strict=True):
        if not exists:
            raise MissingFile(path)


def needed_files(table: PaimonTable, plan: RollbackPlan) -> list[str]:
    """The metadata files of the target, and some of the data files that later commits have removed.

    The newest snapshot needs all others, too. Of many data files some are named, spread evenly: an expiry
    that has begun to delete them is noticed, and a rollback does not ask for a million files. If later
    commits cannot be read, only the metadata are named: a rollback may be what helps.

    Raises:
        MissingFile: a list of the target does not exist.
    """
    named = read_named(table, [Reference(plan.target, Part.STATE)])
    manifests = sorted(named.manifests | named.by_index.keys())
    removed = paths_of(table, _removed_since(table, plan))
    places = np.unique(np.linspace(0, len(removed) - 1, min(len(removed), MOST_CHECKED)).astype(np.int64))
    return [*map(table.manifests.path, manifests), *listed(removed.take(pa.array(places)))]


def _removed_since(table: PaimonTable, plan: RollbackPlan) -> pa.Table:
    """The data files of the target that later commits have removed; none if one of them cannot be read."""
    deltas = [each.snapshot.delta_manifest_list for each in reversed(plan.snapshots) if each.snapshot]
    if len(deltas) < len(plan.snapshots):
        return FILES.empty_table()
    try:
        manifests = [name for each in deltas for name in table.manifests.names_in_list(each)]
        frames = [entries for _, entries in read_manifests(table, manifests, frozenset(manifests))]
    except CorruptTable:
        return FILES.empty_table()
    return files_from_before(pa.concat_tables([empty(), *frames]))


def _later(table: PaimonTable, holders: Iterable[Holder], number: int) -> Iterator[Later]:
    """The later snapshots, tags and changelogs; only tags have to be read to know them."""
    read = [each for each in holders if each.kind is Holding.TAG or number_of(each) > number]
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        for each in readers.map(lambda holder: _read(table, holder), read):
            if each is not None and each.number > number:
                yield each


def _read(table: PaimonTable, holder: Holder) -> Later | None:
    """A holder and what it says; None if it is gone since it was listed.

    Raises:
        CorruptTable: it is a tag, and cannot be read.
    """
    is_tag = holder.kind is Holding.TAG
    try:
        text = table.storage.read_text(holder.path, MOST_SNAPSHOT)
        if text is None:
            return None
        found: Snapshot = parse_snapshot(text)
    except (ValueError, CorruptTable) as error:
        if is_tag:
            raise CorruptTable(holder.path, f"the tag cannot be read ({error})") from error
        return Later(holder, number_of(holder))
    return Later(holder, found.id if is_tag else number_of(holder), found, text)


def _of(later: Iterable[Later], kind: Holding) -> tuple[Later, ...]:
    """Those of a kind, newest first."""
    found = (each for each in later if each.holder.kind is kind)
    return tuple(sorted(found, key=lambda each: each.number, reverse=True))


def _readers_ahead(table: PaimonTable, number: int) -> Iterator[str]:
    for name, position in positions(table, consumers_of(table)):
        if position > number + 1:
            yield (
                f"consumer {name} expects snapshot {position}: it keeps what it has read of undone commits, "
                "and its reader fails or misses new ones up to that number; reset it"
            )


def _hint(table: PaimonTable, holders: Iterable[Holder], numbers: list[int], number: int) -> str:
    """Why there is no such snapshot, and which there are."""
    if not numbers:
        return "the table has no snapshot"
    oldest, newest = min(numbers), max(numbers)
    if number > newest:
        return f"it is newer than the newest, which is {newest}"
    there = f"the table has snapshots from {oldest} to {newest}"
    tags = [each for each in _tags(table, holders) if each.number == number]
    if tags:
        tag = tags[0].holder.name.removeprefix("tag-")
        return f"it has expired, and only tag {tag} has it; roll back to the tag with Paimon ({there})"
    return f"it has expired ({there})" if number < oldest else f"it was deleted ({there})"


def _tags(table: PaimonTable, holders: Iterable[Holder]) -> Iterator[Later]:
    found = (_read(table, each) for each in holders if each.kind is Holding.TAG)
    return (each for each in found if each is not None)
