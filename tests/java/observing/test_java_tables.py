"""Tables that Java writes, compacts and expires: looks agree with what Java itself says of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.clock import SystemClock
from lithify.formats.paimon.observing.observer import open_observer
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest
from support.observations import levels_of
from support.rolled_back_tables import roll_back
from support.tables import PLAIN, append, expire, make_plain, upserts

pytestmark = pytest.mark.oracle

DATED = {"dt": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}


class Watcher:
    """Looks at a table again and again, and each time makes sure that a full look finds the same."""

    def __init__(self, table: Table, folder: Path) -> None:
        self._watch = open_observer(folder / "kept", 1 << 20, SystemClock(UTC))
        self._fresh = open_observer(folder / "fresh", 1 << 20, SystemClock(UTC))
        self._look = ObservationRequest(TableAddress(str(table.warehouse), str(table.name)), "uid")
        self.seen: Observation | None = None

    def look(self) -> Observation | None:
        known = self.seen
        look = self._look
        if known is not None:
            look = replace(look, known_uuid=known.table_uuid, known_snapshot=known.snapshot)
        found = self._watch.observe(look)
        assert (found or known) == self._fresh.observe(replace(self._look, is_full=True))
        self.seen = found or known
        return found

    def find(self) -> Observation:
        found = self.look()
        assert found is not None
        return found


def test_files_are_those_that_java_sees(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "warehouse", buckets=2)
    watcher = Watcher(table, tmp_path)

    def agrees() -> Observation:
        found, files = watcher.find(), oracle.files(table)
        assert (found.files, found.bytes) == (len(files), sum(file.size for file in files))
        level0 = Counter((str(file.partition), file.bucket) for file in files if file.level == 0)
        levels = levels_of(found)
        assert (levels["level0Files"], levels["maxLevel0Files"]) == (
            level0.total(),
            max(level0.values(), default=0),
        )
        return found

    before = agrees()
    assert levels_of(before)["sortedRuns"] == 6
    append(oracle, table)
    agrees()
    oracle.compact(table, full=False)
    agrees()
    append(oracle, table)
    oracle.compact(table)
    after = agrees()
    assert (levels_of(after)["level0Files"], levels_of(after)["sortedRuns"], after.findings) == (0, 1, ())
    assert after.snapshots.expired_bytes > before.bytes
    assert watcher.look() is None


def test_deletes_that_java_counts(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path / "warehouse", "db.t")
    oracle.create_table(table, PLAIN, primary_key=["id"], options={"bucket": "1"})
    oracle.write(table, upserts(range(60), "a"))
    oracle.write(table, [["-D", key, None, None] for key in range(20)])
    assert Watcher(table, tmp_path).find().delete_percent == 25


def test_rows_that_java_deletes_by_vectors(oracle: Oracle, tmp_path: Path) -> None:
    """Such commits change no data file; looks that follow find the deleted rows all the same."""
    table = Table(tmp_path / "warehouse", "db.t")
    options = {"deletion-vectors.enabled": "true", "target-file-size": "1 kb"}
    oracle.create_table(table, PLAIN | {"dt": "STRING"}, partition_keys=["dt"], options=options)
    for first in (0, 100):
        oracle.write(
            table, [["+I", first + key, f"text {key * 7919}", 1, "ab"[key % 2]] for key in range(60)]
        )
    watcher = Watcher(table, tmp_path)

    def deleted() -> tuple[int | str | None, int | None, list[str]]:
        found = watcher.find()
        return (
            found.blocks["append"]["deletedRows"],
            found.delete_percent,
            [each.trigger for each in found.findings],
        )

    def delete(*keys: int, **how: Any) -> None:
        oracle.delete(table, {"column": "id", "op": "in", "literals": keys}, **how)

    assert deleted() == (0, 0, [])
    delete(0)
    assert deleted() == (1, 0, [])
    delete(2, 4, 101)
    assert deleted() == (4, 3, [])
    delete(*range(20), 102)
    assert deleted() == (22, 18, ["DeletedRows"])
    oracle.compact(table)
    assert deleted()[2] == []
    delete(103, counted=False)
    assert deleted()[:2] == (None, None)
    oracle.drop_partition(table, {"dt": "b"})
    watcher.look()
    oracle.write(table, [["+I", 7, "x", 1, "a"]])
    assert deleted()[2] == []


def test_expiry_partitions_and_new_columns(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path / "warehouse", "db.t")
    keys = {"primary_key": ["dt", "id"], "partition_keys": ["dt"]}
    oracle.create_table(table, DATED, options={"bucket": "1"}, **keys)  # type: ignore[arg-type]  # two lists
    for commit in range(3):
        oracle.write(table, [["+I", dt, key, f"{commit}"] for dt in ("a", "b") for key in range(10)])
    watcher = Watcher(table, tmp_path)
    assert watcher.find().partitions == 2

    oracle.drop_partition(table, {"dt": "a"})
    assert watcher.find().partitions == 1

    oracle.compact_manifests(table)
    watcher.look()

    oracle.alter_table(table, {"add_column": {"name": "n", "type": "BIGINT"}})
    oracle.write(table, [["+I", "c", 1, "x", 7]])
    assert watcher.find().schema_id == 1

    oracle.compact(table)
    expire(oracle, table)
    oracle.write(table, [["+I", "c", 2, "x", 7]])
    found = watcher.find()
    assert (found.snapshots.count, found.snapshots.expired_bytes) == (2, 0)


@pytest.mark.parametrize("by", ["java", "lithify"])
def test_rolled_back(oracle: Oracle, tmp_path: Path, by: str) -> None:
    table = make_plain(oracle, tmp_path / "warehouse", commits=2)
    watcher = Watcher(table, tmp_path)
    watcher.find()
    if by == "java":
        oracle.rollback_to(table, snapshot_id=1)
    else:
        roll_back(table, 1)
    for _ in range(3):
        append(oracle, table)
    found = watcher.find()
    assert (found.snapshot, found.files) == ("4", 4)


@pytest.mark.parametrize("write_only", ["true", "false"])
def test_who_expires_snapshots(write_only: str, oracle: Oracle, tmp_path: Path) -> None:
    """Java's writers leave snapshots alone exactly where the observation says so."""
    options = {"write-only": write_only, "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    table = make_plain(oracle, tmp_path / "warehouse", commits=1, **options)
    for _ in range(3):
        oracle.write(table, upserts(range(5), "x"), options={"write-only": write_only})
    found = Watcher(table, tmp_path).find()
    assert found.snapshots.writers_expire == (write_only == "false")
    assert (found.snapshots.count <= 2) == found.snapshots.writers_expire


def test_a_branch_and_its_table_are_told_apart(oracle: Oracle, tmp_path: Path) -> None:
    """They have schemas, numbers of snapshots and files in common."""
    table = make_plain(oracle, tmp_path / "warehouse", commits=2)
    oracle.create_tag(table, "old")
    oracle.create_branch(table, "b", "old")
    watchers = [Watcher(each, tmp_path) for each in (table, table.branch("b"))]
    first, second = (watcher.find() for watcher in watchers)
    assert first.table_uuid != second.table_uuid
    assert (first.files, first.snapshot) == (second.files, second.snapshot)

    append(oracle, table)
    oracle.compact(table)

    assert watchers[1].look() is None
    assert watchers[0].find().files == 1
    append(oracle, table.branch("b"))
    assert watchers[1].find().files == 4
    assert watchers[0].look() is None
