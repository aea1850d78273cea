"""Commits of made-up compactions: what they do to the manifests, and what is left of tries that are lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pypaimon.snapshot.snapshot import Snapshot

from infrastructure.sampling import Sampler
from lithify.clock import SystemClock
from lithify.engine.attempts.journal import Journal
from lithify.engine.commit.loop import CommitOutcome
from lithify.errors import AttemptFenced, CommitOutrun, CommitUnknown
from lithify.formats.paimon.commit.changes import BucketChange
from lithify.formats.paimon.commit.committer import Committer
from lithify.formats.paimon.commit.table_writing import follow, journal_of
from lithify.formats.paimon.manifests.entries import ManifestEntry
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScope, PaimonAttempt
from lithify.formats.paimon.snapshots.writable_snapshots import WritableSnapshots
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.results import TaskOutputs
from lithify.io.storage import Storage
from support.races import step_after
from support.runs import ShiftedClock
from support.small_tables import SmallTable

OFTEN = {"manifest.merge-min-count": "3"}


@pytest.fixture
def small(tmp_path: Path) -> SmallTable:
    return SmallTable(tmp_path, options=OFTEN).create()


def begin(table: PaimonTable, run: str = "run") -> PaimonAttempt:
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    return journal_of(table).begin(
        run, AttemptScope(snapshot.id, snapshot.time_millis, ()), SystemClock().now()
    )


def compaction(table: PaimonTable, attempt: PaimonAttempt) -> BucketChange:
    """Puts one file in the place of all files of the table's first bucket."""
    view = table.view(Selection())
    assert view is not None
    bucket = view.bucket_ids[0]
    live = follow(table, [bucket]).at(newest_of(table))
    inputs = tuple(live[bucket.partition, bucket.bucket])
    name = f"data-{attempt.prefix}{len(inputs):012x}-{attempt.number}.parquet"
    Path(table.folder(bucket), name).touch()
    return BucketChange(bucket, inputs, (), 5, TaskOutputs((replace(inputs[0].file, name=name, level=5),)))


class Interrupted:
    """Another writer that commits just before ours, so often; then it stays away."""

    def __init__(self, times: int, commit: Callable[[], object]) -> None:
        self._left = times
        self._commit = commit

    def __call__(self, *_: object) -> None:
        if self._left:
            self._left -= 1
            self._commit()


def commit(
    table: PaimonTable, monkeypatch: pytest.MonkeyPatch, between: Callable[..., None] | None = None
) -> CommitOutcome:
    """Commits one compaction; `between` is called in each try when its manifests are written."""
    attempt = begin(table)
    change = compaction(table, attempt)
    if between is not None:
        monkeypatch.setattr(Journal, "check", between)
    outcome = Committer(table, attempt, ShiftedClock()).commit([change])
    journal_of(table).close(attempt)
    return outcome


def manifests(small: SmallTable) -> set[str]:
    return {path.name for path in (small.folder / "manifest").iterdir()}


def reachable(table: PaimonTable, small: SmallTable) -> set[str]:
    """Manifests and lists that the snapshots name."""
    found = [snapshot for number in small.numbers if (snapshot := table.snapshots.get(number))]
    lists = {name for each in found for name in (each.base_manifest_list, each.delta_manifest_list)}
    return lists | {name for each in lists for name in table.manifests.names_in_list(each)}


def test_manifests_are_merged_once_there_are_enough(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        small.append("a")
    table = open_table(small.address)
    before = live(table)

    outcome = commit(table, monkeypatch)

    newest = table.snapshots.latest()
    assert newest is not None
    assert outcome.snapshot == newest.id == 4
    assert len(table.manifests.names_in_list(newest.base_manifest_list)) == 1
    assert manifests(small) == reachable(table, small)
    assert len(live(table)) == len(before) - 2


def test_a_merge_outlives_a_lost_try(small: SmallTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a merge that takes longer than others take between two commits would never get through."""
    for _ in range(3):
        small.append("a")
    table = open_table(small.address)

    outcome = commit(table, monkeypatch, Interrupted(2, lambda: small.append("b")))

    newest = table.snapshots.latest()
    assert newest is not None
    assert (outcome.snapshot, outcome.tries) == (6, 3)
    base = table.manifests.names_in_list(newest.base_manifest_list)
    assert len(base) == 3
    assert base[0].split("-")[:5] != newest.delta_manifest_list.removeprefix("manifest-list-").split("-")[:5]
    assert manifests(small) == reachable(table, small)


def test_a_merge_that_others_have_overtaken_is_made_anew(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        small.append("a")
    table = open_table(small.address)

    def merge_too() -> None:
        other = open_table(small.address)
        attempt = begin(other, "other")
        bucket = compaction(other, attempt).bucket
        entries = [each for each in other.manifests.live(newest_of(other)) if each.bucket != bucket.bucket]
        Committer(other, attempt, ShiftedClock()).commit([replaced(other, attempt, entries)])

    outcome = commit(table, monkeypatch, Interrupted(1, merge_too))

    assert (outcome.snapshot, outcome.tries) == (5, 2)
    assert manifests(small) == reachable(table, small)


def test_nothing_is_left_of_a_merge_when_all_tries_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SmallTable(
        tmp_path, options={**OFTEN, "commit.max-retries": "2", "commit.timeout": "0 s"}
    ).create()
    for _ in range(3):
        small.append("a")
    table = open_table(small.address)

    with pytest.raises(CommitOutrun) as outrun:
        commit(table, monkeypatch, Interrupted(9, lambda: small.append("b")))

    assert outrun.value.tries == 3
    assert manifests(small) == reachable(table, small)


def test_tries_go_on_until_the_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Being outrun costs nothing but time: no input is lost, so what was written stays good."""
    small = SmallTable(tmp_path, options={"commit.max-retries": "2"}).create()
    small.append("a")
    table = open_table(small.address)

    outcome = commit(table, monkeypatch, Interrupted(9, lambda: small.append("b")))

    assert (outcome.snapshot, outcome.tries, outcome.conflicts) == (11, 10, {})


def test_nothing_is_built_on_a_snapshot_of_ours_that_arrived_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built upon, it would bring back what was rolled back in the meantime."""
    small = SmallTable(tmp_path).create()
    for _ in range(3):
        small.append("a")
    assert commit(open_table(small.address), monkeypatch).snapshot == 4
    path = small.folder / "snapshot" / "snapshot-4"
    late = path.read_text()
    small.roll_back_to(2)
    small.append("b")
    path.write_text(late)
    table = open_table(small.address)

    outcome = commit(table, monkeypatch)

    assert (outcome.snapshot, outcome.committed) == (None, ())
    assert small.numbers == [1, 2, 3, 4]


def test_nothing_is_left_of_a_merge_that_is_fenced_off(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        small.append("a")
    table = open_table(small.address)

    def fence(*_: object) -> None:
        raise AttemptFenced("journal", "condemned")

    with pytest.raises(AttemptFenced):
        commit(table, monkeypatch, fence)
    assert manifests(small) == reachable(table, small)


@pytest.mark.parametrize("point", ["write", "advance_hint"])
def test_interrupted_after_the_snapshot_was_sent_nothing_that_it_names_is_deleted(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    for _ in range(3):
        small.append("a")
    table = open_table(small.address)
    write = WritableSnapshots.write

    def interrupt(*given: Any) -> None:
        if point == "write":
            write(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(WritableSnapshots, point, interrupt)
    with pytest.raises((KeyboardInterrupt, CommitUnknown)):
        commit(table, monkeypatch)

    again = open_table(small.address)
    assert reachable(again, small) <= manifests(small)
    assert len(again.manifests.live(newest_of(again))) > 0


def test_an_attempt_condemned_while_its_new_files_are_looked_at_does_not_commit(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That look takes a request for each file; a run that condemns may delete files right after it."""
    small.append("a")
    table = open_table(small.address)
    attempt = begin(table)
    change = compaction(table, attempt)

    def condemn() -> object:
        return journal_of(table).condemn(attempt, SystemClock().now())

    step_after(monkeypatch, (PaimonTable, "folder"), condemn)

    with pytest.raises(AttemptFenced):
        Committer(table, attempt, ShiftedClock()).commit([change])

    assert small.numbers == [1]
    assert manifests(small) == reachable(table, small)


def test_data_files_are_looked_for_once_however_many_tries_it_takes(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.append("a")
    table = open_table(small.address)
    asked: list[str] = []
    real = Storage.exists

    def exists(self: Storage, path: str) -> bool:
        asked.append(path)
        return real(self, path)

    monkeypatch.setattr(Storage, "exists", exists)
    outcome = commit(table, monkeypatch, Interrupted(3, lambda: small.append("b")))

    assert outcome.tries == 4
    assert len([path for path in asked if "/bucket-" in path]) == 1
    assert len([path for path in asked if "/manifest/" in path]) >= 4 * 3


def test_data_files_that_others_took_for_orphans_during_long_tries_are_missed(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java deletes what is a day old and in no snapshot; an attempt may be older."""
    small.append("a")
    table = open_table(small.address)
    attempt = begin(table)
    change = compaction(table, attempt)
    clock = LateClock()

    def go_on(*_: object) -> None:
        if not clock.hours:
            small.append("b")
            Path(change.added[0].path(table.folder(change.bucket))).unlink()
            clock.hours = 1

    monkeypatch.setattr(Journal, "check", go_on)
    with pytest.raises(AttemptFenced):
        Committer(table, attempt, clock).commit([change])
    assert len(small.numbers) == 2


class LateClock(ShiftedClock):
    """Can be put forward."""

    hours = 0

    def now(self) -> datetime:
        return super().now() + timedelta(hours=self.hours)


@pytest.mark.parametrize(("dropped", "columns"), [("true", ()), ("false", None)])
def test_statistics_of_removed_files_are_dropped_if_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dropped: str, columns: object
) -> None:
    options = {"manifest.delete-file-drop-stats": dropped, "metadata.stats-mode": "full"}
    small = SmallTable(tmp_path, options=options).create()
    small.append("a")
    table = open_table(small.address)

    commit(table, monkeypatch)

    gone = [entry for entry in table.manifests.delta(newest_of(table)) if entry.kind != 0]
    assert {entry.file.value_stats_columns for entry in gone} == {columns}


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_hundreds_of_compactions_keep_the_list_short(tmp_path: Path, sample: Sampler) -> None:
    """Each is one commit, and each look at the table reads a bounded number of manifests.

    A thousand where nothing is sampled; after three hundred the list has been merged ten times.
    """
    rounds = len(sample(range(1000), 300))
    small = SmallTable(tmp_path).create()
    small.append("a")
    table = open_table(small.address)
    attempt = begin(table)
    change = compaction(table, attempt)
    lengths = []
    for _ in range(rounds):
        Committer(table, attempt, ShiftedClock()).commit([change])
        lengths.append(len(table.manifests.list_files(newest_of(table))))
        journal_of(table).close(attempt)
        attempt = begin(table)
        change = next_of(table, change, attempt)

    assert small.numbers[-1] == rounds + 1
    assert max(lengths) <= 31
    assert max(lengths[-100:]) <= max(lengths[:100])
    assert manifests(small) == reachable(table, small)


def next_of(table: PaimonTable, change: BucketChange, attempt: PaimonAttempt) -> BucketChange:
    """The compaction of what a compaction has made."""
    place, file = change.inputs[0], change.added[0]
    name = f"data-{attempt.prefix}{0:012x}-{attempt.number}.parquet"
    Path(table.folder(change.bucket), name).touch()
    return replace(
        change, removed=(replace(place, file=file),), outputs=TaskOutputs(data=(replace(file, name=name),))
    )


def live(table: PaimonTable) -> list[ManifestEntry]:
    return table.manifests.live(newest_of(table))


def newest_of(table: PaimonTable) -> Snapshot:
    newest = table.snapshots.latest()
    assert newest is not None
    return newest


def replaced(table: PaimonTable, attempt: PaimonAttempt, entries: list[ManifestEntry]) -> BucketChange:
    bucket = table.bucket_id(entries[0].partition, entries[0].bucket)
    name = f"data-{attempt.prefix}{'f' * 12}-0.parquet"
    Path(table.folder(bucket), name).touch()
    added = replace(entries[0].file, name=name, level=5)
    return BucketChange(bucket, tuple(entries), (), 5, TaskOutputs((added,)))
