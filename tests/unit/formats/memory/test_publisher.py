"""Publishing snapshots of reference tables: one writer creates a number, on the base that is in its place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lithify.clock import SystemClock
from lithify.engine.commit.patience import Backoff, Patience
from lithify.engine.commit.publishing import Found, Place, publish
from lithify.errors import AttemptFenced, CommitUnknown, StorageError
from lithify.formats.memory.publisher import Draft, SnapshotPublisher
from lithify.formats.memory.snapshot import Snapshot, to_json
from lithify.formats.memory.table import MemoryTable, open_table
from lithify.formats.protocol.address import TableAddress
from lithify.io.storage import Storage

BASE, NEXT, OTHER = Snapshot(1, "base", 0, {}), Snapshot(2, "ours", 0, {}), Snapshot(2, "theirs", 0, {})
ONCE = Backoff(Patience(max_retries=1, min_wait=0.0, max_wait=0.0), SystemClock(), Random(0))


@pytest.fixture
def table(tmp_path: Path) -> MemoryTable:
    folder = tmp_path / "db" / "t"
    (folder / "snapshots").mkdir(parents=True)
    (folder / "definition.json").write_text(json.dumps({"uuid": "u", "options": {}}))
    (folder / "snapshots" / "1.json").write_text(to_json(BASE))
    return open_table(TableAddress(str(tmp_path), "db.t", format="memory"))


def publisher(table: MemoryTable) -> SnapshotPublisher:
    return SnapshotPublisher(table, lambda: None)


def test_a_snapshot_on_its_base_is_created(table: MemoryTable) -> None:
    draft, ours = Draft(BASE, NEXT), publisher(table)
    assert publish(ours, draft, ONCE).place is Place.OURS
    assert (table.latest(), ours.verify(draft).snapshot) == (NEXT, NEXT.id)


def test_a_number_that_another_writer_has_taken_is_outrun(table: MemoryTable) -> None:
    publish(publisher(table), Draft(BASE, OTHER), ONCE)
    assert publish(publisher(table), Draft(BASE, NEXT), ONCE).place is Place.OUTRUN
    assert table.latest() == OTHER


def test_a_snapshot_whose_base_was_replaced_under_its_number_is_outrun(table: MemoryTable) -> None:
    gone = replace(BASE, nonce="rolled back")
    assert publish(publisher(table), Draft(gone, NEXT), ONCE).place is Place.OUTRUN
    assert table.latest() == BASE


def test_an_error_after_the_creation_is_no_failure(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Storage.create_text

    def fail_after(*given: Any) -> bool:
        real(*given)
        raise StorageError("snapshots", "the folder cannot be synced")

    monkeypatch.setattr(Storage, "create_text", fail_after)
    assert publish(publisher(table), Draft(BASE, NEXT), ONCE).place is Place.OURS


def test_an_error_before_the_creation_is_a_failure_and_not_unknown(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> bool:
        raise StorageError("snapshots", "no space left")

    monkeypatch.setattr(Storage, "create_text", fail)
    with pytest.raises(StorageError) as failed:
        publish(publisher(table), Draft(BASE, NEXT), ONCE)
    assert not isinstance(failed.value, CommitUnknown)
    assert table.latest() == BASE


def test_a_condemned_attempt_creates_no_snapshot(table: MemoryTable) -> None:
    def fence() -> None:
        raise AttemptFenced("journal", "condemned")

    with pytest.raises(AttemptFenced):
        publish(SnapshotPublisher(table, fence), Draft(BASE, NEXT), ONCE)
    assert table.latest() == BASE


def test_a_draft_may_be_sent_again_while_its_base_is_the_newest(table: MemoryTable) -> None:
    ours = publisher(table)
    assert ours.may_send_again(Draft(BASE, NEXT))
    publish(ours, Draft(BASE, OTHER), ONCE)
    assert not ours.may_send_again(Draft(BASE, NEXT))
    assert ours.find_published(Draft(BASE, NEXT)) is Found.OTHER
