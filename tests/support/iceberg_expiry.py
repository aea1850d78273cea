"""Expires snapshots of tables that Spark made, and compares with what Java's expiry would do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from infrastructure.iceberg.tables import SparkTable
from lithify.formats.iceberg.maintenance.snapshot_expiry import expiry_of_table
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import Maintained
from lithify.io.locations import local_path
from support.iceberg_runs import CLOCK, address_of

MINUTE = 60_000
_ORDER = "id, amount, kind"
_UNTOLD = ("last-updated-ms", "metadata-log")
"""Fields of metadata that say when and after what it was written."""


@dataclass(frozen=True)
class BothExpiries:
    """What we have done, and which files Java would have deleted: by reachability, and by its short cut.

    The short cut, which Java takes in tables without branches, looks at what expired snapshots removed. What
    a snapshot removed that stays is then only deleted when that one expires.
    """

    done: Maintained
    gone: frozenset[str]
    by_java: frozenset[str]
    by_short_cut: frozenset[str]


def expire(table: SparkTable, address: TableAddress | None = None) -> Maintained:
    """Expires snapshots by the table's properties, without a floor for readers."""
    opened = open_iceberg_table(address or address_of(table))
    expiry = expiry_of_table(opened, {}, timedelta(), CLOCK)
    return expiry.execute(expiry.plan(CLOCK))


def expire_both(table: SparkTable) -> BothExpiries:
    """Expires snapshots; asks Java before what it would do. The metadata after it is the same."""
    java = table.spark.plan_expiry(table.name, may_be_incremental=False)
    short = table.spark.plan_expiry(table.name)
    before = files_of(table)
    done = expire(table)
    assert told(metadata_of(table)) == told(java.metadata)
    gone = frozenset(before - files_of(table))
    short_cut = before & set(map(plain, short.deleted))  # names files, too, that an earlier expiry deleted
    return BothExpiries(done, gone, frozenset(map(plain, java.deleted)), frozenset(short_cut))


def told(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata but for what differs between two writers; empty fields are the same as none."""
    return {key: value for key, value in metadata.items() if key not in _UNTOLD and value not in ([], {})}


def metadata_of(table: SparkTable) -> Mapping[str, Any]:
    return table.spark.state(table.name).metadata


def files_of(table: SparkTable) -> set[str]:
    """All files in a table's folder but checksums and journals."""
    folder = Path(local_path(str(metadata_of(table)["location"])) or "")
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc")
    return {str(path) for path in paths}


def plain(path: str) -> str:
    return local_path(path) or path


def set_ages(table: SparkTable, minutes: Sequence[float]) -> None:
    """Moves the commit times of snapshots, in the order of the metadata: so many minutes ago."""
    path = Path(local_path(table.metadata_location) or "")
    found, now = json.loads(path.read_text("utf-8")), time.time_ns() // 1_000_000
    for snapshot, age in zip(found["snapshots"], minutes, strict=True):
        snapshot["timestamp-ms"] = now - round(age * MINUTE)
    times = {each["snapshot-id"]: each["timestamp-ms"] for each in found["snapshots"]}
    latest = 0
    for entry in found.get("snapshot-log") or ():
        latest = max(latest, times.get(entry["snapshot-id"], 0))
        entry["timestamp-ms"] = latest
    path.write_text(json.dumps(found), "utf-8")
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def space_out(table: SparkTable) -> None:
    """Moves commit times: the newest was half a minute ago, each other one a minute before the next."""
    count = len(metadata_of(table).get("snapshots") or ())
    set_ages(table, [count - place - 0.5 for place in range(count)])


def answers(table: SparkTable) -> dict[str, pa.Table]:
    """The rows of each snapshot, branch and tag."""
    metadata = metadata_of(table)
    found = {
        f"snapshot {each['snapshot-id']}": table.read(order=_ORDER, at=f"VERSION AS OF {each['snapshot-id']}")
        for each in metadata.get("snapshots") or ()
    }
    for name in metadata.get("refs") or {}:
        found[name] = table.read(order=_ORDER, at=f"VERSION AS OF '{name}'")
    return {name: rows.combine_chunks() for name, rows in found.items()}
