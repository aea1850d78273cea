"""Orphan files of tables that Java wrote: leftovers are made, and what must stay is found out once more.

`needed_names` follows all metadata of a table's folder record by record, with nothing of the code under test
but the reader of Avro's containers.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import fastavro

from infrastructure.oracle.client import Table
from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.protocol.maintenance import MaintenanceSettings
from support.expired_snapshots import opened
from support.runs import ShiftedClock

DAY_SECONDS = 86_400
ALL_GOES = MaintenanceSettings(orphan_age=timedelta(days=1), most_share=1.0)
PREFIX = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-")


def removal_of(table: Table, settings: MaintenanceSettings = ALL_GOES) -> OrphanRemoval:
    return OrphanRemoval(opened(table), settings)


def remove(table: Table, settings: MaintenanceSettings = ALL_GOES) -> int:
    """Removes the orphans of a table as if all its files were two days old; returns how many."""
    removal = removal_of(table, settings)
    done = removal.execute(removal.plan(ShiftedClock(timedelta(days=2))))
    return sum(count for name, count in done.figures.items() if name != "bytes")


def make_old(folder: Path, days: float = 2) -> None:
    """Moves the times of all files back."""
    for path in folder.rglob("*"):
        if path.is_file():
            at = path.stat().st_mtime - days * DAY_SECONDS
            os.utime(path, (at, at))


def needed_names(folder: Path) -> set[str]:
    """The names of all files that a snapshot, tag or changelog of any branch names."""
    found: set[str] = set()
    for holder in _holders(folder):
        found |= set(_named_by(folder, json.loads(holder.read_text())))
    return found


def _holders(folder: Path) -> Iterator[Path]:
    for home in (folder, *(folder / "branch").glob("branch-*")):
        for kind in ("snapshot", "tag", "changelog"):
            yield from (home / kind).glob(f"{kind}-*")


def _named_by(folder: Path, holder: dict[str, Any]) -> Iterator[str]:
    for key in ("baseManifestList", "deltaManifestList", "changelogManifestList"):
        for manifest in _records(folder, holder.get(key)):
            yield manifest["_FILE_NAME"]
            for entry in _records(folder, manifest["_FILE_NAME"]):
                yield entry["_FILE"]["_FILE_NAME"]
                yield from entry["_FILE"]["_EXTRA_FILES"]
    for entry in _records(folder, holder.get("indexManifest")):
        yield entry["_FILE_NAME"]
    yield from (
        holder[key]
        for key in (
            "baseManifestList",
            "deltaManifestList",
            "changelogManifestList",
            "indexManifest",
            "statistics",
        )
        if holder.get(key)
    )


def _records(folder: Path, name: str | None) -> Iterator[dict[str, Any]]:
    """The records of a metadata file; none if expiry has deleted it."""
    path = folder / "manifest" / (name or "none")
    if path.exists():
        with path.open("rb") as file:
            yield from fastavro.reader(file)


def journal_prefixes(folder: Path) -> set[str]:
    """The prefixes of all attempts that have a journal."""
    found: set[str] = set()
    for path in folder.rglob("lithify/attempts/*"):
        if not path.name.startswith("."):
            found.update(PREFIX.findall(path.name))
            found.add(json.loads(path.read_text())["prefix"])
    return found
