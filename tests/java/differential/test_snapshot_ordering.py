"""Rows that count by the snapshot they came with (`sequence.snapshot-ordering`, Paimon from 2.0 on).

Java 1.4.2 does not know the option, so it stands in for both sides. It writes the table, and a stamp is put
on the entries of its files as commits of 2.0 do (`FileStoreCommitImpl.stampSequenceWithSnapshotId`). And it
says which rows must win: those of a table with the same rows, in which a column holds the number of the
snapshot and is the sequence field. The rows' own sequence numbers say otherwise: writers all began with 0 and
have committed in another order.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.manifests.entries import ADD, APPEND_SOURCE, ManifestEntry
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from support.manifests import manifest_files
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

COLUMNS = {"id": "INT NOT NULL", "v": "STRING", "snap": "BIGINT"}
ORDER = [3, 0, 4, 1, 5, 2]
"""Which writer commits first, which next, and so on."""


class Histories:
    """Two tables with the same rows: one that is ordered by snapshots, and one by a column that says them."""

    def __init__(self, oracle: Oracle, warehouse: Path) -> None:
        self._oracle = oracle
        self.table = Table(warehouse, "db.t")
        self.reference = Table(warehouse, "db.reference")
        ordered = {"bucket": "1", "write-only": "true", "sequence.snapshot-ordering": "true"}
        oracle.create_table(self.table, COLUMNS, ["id"], options=ordered)
        oracle.create_table(
            self.reference, COLUMNS, ["id"], options={"bucket": "1", "sequence.field": "snap"}
        )
        self._added: dict[str, int] = {}
        random = Random(3)
        snapshots = {writer: place + 1 for place, writer in enumerate(ORDER)}
        rows = [self._rows(random, writer, snapshots[writer]) for writer in range(len(ORDER))]
        self._prepared = [
            [oracle.prepare(each, rows[writer]) for each in (self.table, self.reference)] for writer in ORDER
        ]

    @staticmethod
    def _rows(random: Random, writer: int, snapshot: int) -> list[Row]:
        keys = random.sample(range(40), 25)
        kinds = random.choices(["+I", "-D"], [4, 1], k=len(keys))
        return [[kind, key, f"w{writer}", snapshot] for kind, key in zip(kinds, keys, strict=True)]

    def commit(self, writers: int) -> None:
        """The next few writers commit, and their files are stamped."""
        for _ in range(writers):
            for prepared in self._prepared.pop(0):
                self._oracle.commit_prepared(prepared.token)
        self._stamp()

    def _stamp(self) -> None:
        opened = open_table(TableAddress(str(self.table.warehouse), str(self.table.name)))
        newest = opened.snapshots.latest()
        assert newest is not None
        for number in opened.snapshots.numbers():
            snapshot = opened.snapshots.get(number)
            assert snapshot is not None
            for entry in opened.manifests.delta(snapshot):
                if entry.kind == ADD and entry.file.source == APPEND_SOURCE:
                    self._added.setdefault(entry.file.name, stamp_of(entry, number))
        entries = [self._stamped(entry) for entry in opened.manifests.live(newest)]
        metas = manifest_files(opened).write(entries, f"stamped-{newest.id}")
        base, base_size = manifest_files(opened).write_list(metas, f"manifest-list-stamped-{newest.id}-0")
        delta, delta_size = manifest_files(opened).write_list([], f"manifest-list-stamped-{newest.id}-1")
        path = Path(opened.snapshots.path(newest.id))
        lists = {
            "baseManifestList": base,
            "baseManifestListSize": base_size,
            "deltaManifestList": delta,
            "deltaManifestListSize": delta_size,
        }
        path.write_text(json.dumps({**json.loads(path.read_text()), **lists}))

    def _stamped(self, entry: ManifestEntry) -> ManifestEntry:
        number = self._added.get(entry.file.name)
        if number is None:
            return entry
        return replace(entry, file=replace(entry.file, min_sequence=number, max_sequence=number))

    def expected(self) -> list[Row]:
        return self._oracle.read(self.reference)


def stamp_of(entry: ManifestEntry, snapshot: int) -> int:
    """The number of the snapshot that added a file; files that only changed level keep theirs."""
    return snapshot if entry.file.level == 0 else entry.file.min_sequence


@pytest.fixture
def histories(oracle: Oracle, tmp_path: Path) -> Histories:
    return Histories(oracle, tmp_path / "warehouse")


def test_later_snapshots_win_whatever_numbers_their_rows_have(
    oracle: Oracle, histories: Histories, tmp_path: Path
) -> None:
    histories.commit(6)
    expected = histories.expected()
    assert oracle.read(histories.table) != expected  # the numbers of the rows do say otherwise

    run_inline(histories.table)

    assert oracle.read(histories.table) == expected
    java = copy_of(histories.reference, tmp_path / "java")
    oracle.compact(java)
    assert oracle.read(java) == expected
    (file,) = oracle.files(histories.table)
    rows = oracle.kv_rows(histories.table, file.name)
    assert {row.sequence for row in rows} == {row.values[2] for row in rows}
    assert all(row.sequence == row.values[2] for row in rows)
    assert (file.min_sequence, file.max_sequence) == (
        min(row.sequence for row in rows),
        max(row.sequence for row in rows),
    )


def test_what_was_compacted_is_still_ordered_by_its_snapshots(oracle: Oracle, histories: Histories) -> None:
    histories.commit(3)
    minor = {"num-sorted-run.compaction-trigger": "3", "num-levels": "4"}
    assert run_inline(histories.table, full=False, options=minor).status == "Compacted"
    histories.commit(3)
    expected = [row[1:3] for row in histories.expected()]

    run_inline(histories.table)

    assert [row[1:3] for row in oracle.read(histories.table)] == expected
    assert {file.level for file in oracle.files(histories.table)} == {5}


def test_with_a_sequence_field_it_is_refused(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    options = {"bucket": "1", "sequence.snapshot-ordering": "true", "sequence.field": "snap"}
    oracle.create_table(table, COLUMNS, ["id"], options=options)
    with pytest.raises(UnsupportedTable, match="one of them"):
        run_inline(table)
