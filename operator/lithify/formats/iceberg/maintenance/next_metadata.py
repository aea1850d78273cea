"""The next version of table metadata, without some snapshots and references. Pure.

Called by `removal_commit` and by planning. The result is that of Java's
`TableMetadata.Builder.removeSnapshots`: statistics of snapshots that go leave with them, and the log of main
begins after the last of its snapshots that is gone, because with a gap it would name the wrong snapshot for a
time. Parents that are gone are still named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from lithify.formats.iceberg.maintenance.retention import Removal
from lithify.formats.iceberg.table.evolving import NextVersion, metadata_log
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata

_STATISTICS = {"statistics": "remove-statistics", "partition-statistics": "remove-partition-statistics"}
"""Fields of metadata with statistics of snapshots, and the updates that remove them."""

Json = Mapping[str, Any]


def without(base: TableMetadata, removal: Removal) -> Json:
    """The metadata without snapshots and references, otherwise as it is."""
    found, gone = base.json, removal.snapshots
    following = {
        **found,
        "snapshots": [each for each in found.get("snapshots") or () if each["snapshot-id"] not in gone],
    }
    if "refs" in found:
        refs = found["refs"] or {}
        following["refs"] = {name: each for name, each in refs.items() if name not in removal.references}
    if gone and "snapshot-log" in found:
        stay = base.snapshots.keys() - gone
        following["snapshot-log"] = _whole_log(found["snapshot-log"] or (), stay)
    for name in _STATISTICS:
        if name in found:
            following[name] = [each for each in found[name] or () if each.get("snapshot-id") not in gone]
    return following


def version_without(base: TableMetadata, removal: Removal, millis: int) -> NextVersion:
    """The next metadata file of catalogs that hold pointers.

    Args:
        base: the metadata that is replaced.
        removal: what leaves it.
        millis: the present time.
    """
    log, forgotten = metadata_log(base)
    changed = {"last-updated-ms": max(millis, base.last_updated), "metadata-log": log}
    return NextVersion(json.dumps({**without(base, removal), **changed}, separators=(",", ":")), forgotten)


def removal_updates(base: TableMetadata, removal: Removal) -> list[Json]:
    """The same as updates for a REST catalog's server: one for each snapshot, as older servers demand."""
    found: list[Json] = [
        {"action": "remove-snapshot-ref", "ref-name": name} for name in sorted(removal.references)
    ]
    found += [{"action": "remove-snapshots", "snapshot-ids": [each]} for each in sorted(removal.snapshots)]
    for name, action in _STATISTICS.items():
        described = {each.get("snapshot-id") for each in base.json.get(name) or ()}
        found += [{"action": action, "snapshot-id": each} for each in sorted(described & removal.snapshots)]
    return found


def removal_requirements(base: TableMetadata) -> list[Json]:
    """What must hold for these updates: the same table, and each branch and tag where it was.

    A server removes references to removed snapshots without a word, so one that moved back to such a snapshot
    must make it refuse. That somebody creates a reference, no requirement can tell.
    """
    found: list[Json] = [{"type": "assert-table-uuid", "uuid": base.uuid}]
    for name in sorted({MAIN, *base.refs}):
        known = base.refs.get(name)
        head = None if known is None else known.snapshot
        found.append({"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": head})
    return found


def statistics_paths(found: Json) -> Iterator[str]:
    """The files of statistics that metadata names."""
    for name in _STATISTICS:
        yield from (
            str(each["statistics-path"]) for each in found.get(name) or () if each.get("statistics-path")
        )


def _whole_log(log: Sequence[Json], stay: Collection[int]) -> list[Json]:
    """The end of the log in which all snapshots exist."""
    last = max((place for place, each in enumerate(log) if each["snapshot-id"] not in stay), default=-1)
    return [*log[last + 1 :]]
