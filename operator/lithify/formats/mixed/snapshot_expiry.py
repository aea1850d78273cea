"""Which snapshots of a keyed table's stores may expire: those of both together, and never the line.

Called by `maintaining`. Version 0.4 adds files of the change store to base as they are, so the stores expire
in one plan, whose files neither store names any more. The line of younger tables is in the statistics of a
snapshot, which readers find by walking back from the newest one: if one in between were gone, they would read
what is merged once more. So all snapshots from the newest one back to the line stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

from lithify.clock import Clock
from lithify.formats.iceberg.maintenance.options import expiry_refusals, rules_of
from lithify.formats.iceberg.maintenance.snapshot_expiry import READER_FLOOR, ExpiringStore, SnapshotExpiry
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata
from lithify.formats.iceberg.table.retention_rules import RetentionRules
from lithify.formats.mixed.change_expiry import ENABLED, millis_to_live
from lithify.formats.mixed.line_files import SEQUENCES, TIMES, flagged_snapshot
from lithify.formats.mixed.stores import MixedTable

_KEEPING = (
    "snapshot.keep.duration",
    "snapshot.keep.min-count",
    "snapshot.base.keep.minutes",
    "snapshot.change.keep.minutes",
)
"""Properties by which services of Arctic and Amoro keep snapshots."""


def expiry_of_stores(
    table: MixedTable,
    overrides: dict[str, str],
    floor: timedelta = READER_FLOOR,
    clock: Clock | None = None,
) -> SnapshotExpiry:
    """The expiry of a keyed table.

    Args:
        table: the table.
        overrides: how long its snapshots are kept, instead of what its stores say.
        floor: how long a snapshot stays after another one took its place.
        clock: times and waits of commits.
    """
    stores = [ExpiringStore(table.base, partial(rules_of, overrides=overrides), line_snapshots)]
    if table.change is not None:
        stores.append(ExpiringStore(table.change, partial(_rules_of_changes, table, overrides)))
    return SnapshotExpiry(table.name, stores, table.storage, lambda: _refusals(table), floor, clock)


def line_snapshots(metadata: TableMetadata) -> frozenset[int]:
    """The snapshots by which readers of a base store find its line; none if it is in the property."""
    found = set[int]()
    for kind in (SEQUENCES, TIMES):
        flagged = flagged_snapshot(metadata, MAIN, kind)
        for each in metadata.ancestry(MAIN) if flagged is not None else ():
            found.add(each.id)
            if each is flagged:
                break
    return frozenset(found)


def _rules_of_changes(
    table: MixedTable, overrides: dict[str, str], metadata: TableMetadata
) -> RetentionRules:
    """Snapshots of changes stay at least as long as changes: `change_expiry` counts from their commits."""
    rules, to_live = rules_of(metadata, overrides), millis_to_live(table.properties)
    return replace(rules, max_snapshot_age=max(rules.max_snapshot_age, to_live or 0))


def _refusals(table: MixedTable) -> Iterator[str]:
    """Every reason why its snapshots cannot be expired, none if they can."""
    yield from dict.fromkeys(
        (*table.refusals, *(each for one in table.stores for each in expiry_refusals(one)))
    )
    if table.hive is not None:
        yield "a table of Hive: Hive reads files where they are, also those that snapshots no longer have"
    if not is_true(table.properties, ENABLED, "true"):
        yield f"{ENABLED} = {table.properties[ENABLED]}"
    for store in table.stores:
        for name in _KEEPING:
            if name in store.metadata.properties:
                yield f"{name} of {store.name}: this release keeps snapshots by history.expire.* only"
