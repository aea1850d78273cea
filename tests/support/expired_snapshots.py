"""Expires snapshots of a table that Java wrote, and beside it those of a copy with Java's own classes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.oracle.model import Row
from lithify.clock import SystemClock, moment_of
from lithify.formats.paimon.commit.references import unreferenced
from lithify.formats.paimon.maintenance.deleting import phases
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import RetentionOptions, read_retention
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from support.tables import copy_of

MINUTE = 60_000
ALL = (1 << 31) - 1


class StandingClock(SystemClock):
    """A clock that stands."""

    def __init__(self, millis: int) -> None:
        super().__init__()
        self._now = moment_of(millis)

    def now(self) -> datetime:
        return self._now


@dataclass(frozen=True)
class Rules:
    """What both are told: numbers of snapshots, and an age in minutes."""

    least: int = 1
    most: int = ALL
    minutes: float = 0
    limit: int = ALL

    def options(self) -> RetentionOptions:
        return RetentionOptions(self.least, self.most, round(self.minutes * MINUTE), self.limit)


def opened(table: Table) -> PaimonTable:
    return open_table(TableAddress(str(table.warehouse), str(table.name)))


def expiry_of(table: Table, rules: Rules, floor: timedelta = timedelta()) -> SnapshotExpiry:
    return SnapshotExpiry(opened(table), rules.options(), floor)


def expire_both(oracle: Oracle, table: Table, rules: Rules, warehouse: Path) -> int:
    """Expires snapshots of the table with Lithify, and of a copy with Java; the same files are left.

    Only where there are branches, files may stay that Java deletes: those that branches need.
    """
    now = now_millis()
    twin = copy_of(table, warehouse)
    before = files_of(table)
    older_than = now - round(rules.minutes * MINUTE)
    expired = oracle.expire_snapshots(twin, rules.most, rules.least, older_than, limit=rules.limit)

    expiry = expiry_of(table, rules)
    plan = expiry.plan(StandingClock(now))
    done = expiry.execute(plan)

    ours, theirs = files_of(table), files_of(twin)
    assert done.figures["snapshots"] == expired
    assert before - ours == before - theirs - kept_for_branches(table, ours - theirs)
    assert sum(done.figures.values()) == len(before - ours)
    assert hint(table) == right_hint(twin)
    return expired


def expire_both_by_options(oracle: Oracle, table: Table, options: Mapping[str, str], warehouse: Path) -> None:
    """Does as `expire_both`, by options, with consumers and with changelogs that outlive their snapshots."""
    now = now_millis()
    twin = copy_of(table, warehouse)
    before = files_of(table)
    is_whole = expires_whole(oracle, twin, options)

    opening = opened(table)
    expiry = SnapshotExpiry(opening, read_retention({**opening.stored_options, **options}), timedelta())
    plan = expiry.plan(StandingClock(now))
    done = expiry.execute(plan)

    ours, theirs = files_of(table), files_of(twin)
    if not is_whole and ours - before < theirs - before:
        # Java has failed at a changelog that is missing in between; it would so for ever.
        assert numbers(table) == numbers(twin)
        return
    assert ours - before == theirs - before
    assert before - ours == before - theirs - kept_for_branches(table, (ours - theirs) & before)
    # Java's deletion of a tag asks no changelog: what only a changelog names is counted, and gone already.
    planned = {str(Path(path).relative_to(table.folder)) for phase in phases(plan.doomed) for path in phase}
    assert sum(done.figures.values()) == len(before - ours) + len(planned - before)
    assert all(path.startswith("manifest/") for path in planned - before)
    assert hint(table) == right_hint(twin)
    assert hint(table, "changelog/LATEST") == hint(twin, "changelog/LATEST")
    assert not is_whole or hint(table, "changelog/EARLIEST") == hint(twin, "changelog/EARLIEST")


def expires_whole(oracle: Oracle, table: Table, options: Mapping[str, str]) -> bool:
    """Expires with Java; False if it failed after the snapshots had gone.

    Where all changelogs are to be kept, it looks for one of before the first.
    """
    try:
        oracle.expire_by_options(table, options)
    except OracleError as error:
        if "Fails to read changelog from path" not in str(error):
            raise
        return False
    return True


def kept_for_branches(table: Table, kept: set[str]) -> set[str]:
    """Checks that files which Java deletes and we do not are needed, by a search that knows no expiry."""
    if not kept:
        return set()
    assert (table.folder / "branch").exists(), kept
    assert unreferenced(opened(table), {Path(each).name for each in kept}) == set()
    return kept


def files_of(table: Table) -> set[str]:
    """All files of a table's folder, but for hints and checksums."""
    paths = (path.relative_to(table.folder) for path in table.folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.name not in ("EARLIEST", "LATEST")}


def right_hint(table: Table) -> str | None:
    """The hint to the oldest snapshot. After a fast-forward Java may leave one that names none."""
    found, there = hint(table), numbers(table)
    return found if found is None or int(found) in there else str(there[0])


def hint(table: Table, name: str = "snapshot/EARLIEST") -> str | None:
    path = table.folder / name
    return path.read_text() if path.exists() else None


def now_millis() -> int:
    return time.time_ns() // 1_000_000


def set_ages(table: Table, minutes: Mapping[int, float]) -> None:
    """Moves the commit times of snapshots: so many minutes ago."""
    now = now_millis()
    for number, age in minutes.items():
        path = table.folder / "snapshot" / f"snapshot-{number}"
        found = json.loads(path.read_text())
        path.write_text(json.dumps({**found, "timeMillis": now - round(age * MINUTE)}))


def set_consumer(table: Table, name: str, next_snapshot: int, minutes: float = 0) -> None:
    """Writes the file of a consumer as Java does, so many minutes ago."""
    path = table.folder / "consumer" / f"consumer-{name}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"nextSnapshot": next_snapshot}, indent=2))
    written = time.time() - minutes * 60
    os.utime(path, (written, written))


def numbers(table: Table) -> list[int]:
    """The snapshots, ascending."""
    found = (table.folder / "snapshot").glob("snapshot-*")
    return sorted(int(path.name.removeprefix("snapshot-")) for path in found)


Answers = dict[str, list[Row]]


def answers(oracle: Oracle, table: Table, branches: Mapping[str, list[str]] | None = None) -> Answers:
    """What Java reads of each snapshot and tag of the table, and of each branch with its tags."""
    found: dict[str, Any] = {
        f"snapshot {each}": oracle.read(table, snapshot_id=each) for each in numbers(table)
    }
    found |= {f"tag {each}": oracle.read(table, tag=each) for each in oracle.tags(table)}
    for branch in oracle.branches(table):
        other = table.branch(branch)
        found[f"branch {branch}"] = oracle.read(other)
        found |= {f"branch {branch} tag {each}": oracle.read(other, tag=each) for each in oracle.tags(other)}
    return found
