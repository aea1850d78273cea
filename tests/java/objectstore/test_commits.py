"""Snapshots on S3: whatever becomes of a PUT and its answer, a commit is there once and whole, or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from threading import Event
from time import monotonic

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import (
    Answered,
    Asked,
    Forward,
    Late,
    S3Proxy,
    Step,
    fail_after,
    fail_before,
    is_snapshot_put,
    lose_answer,
    lose_request,
    send_twice,
)
from infrastructure.objectstore.tables import IMPATIENT, java_table, run
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.errors import CommitConflict, CommitUnknown, StorageError
from lithify.io.objects.bucket import CREATE_SECONDS, SILENCE_SECONDS
from support.cases import case
from support.crashes import SETTLED
from support.tables import append, expire, journals, stray_files

pytestmark = pytest.mark.oracle


@pytest.fixture
def table(oracle: Oracle, s3: Bucket) -> Table:
    return java_table(oracle, s3, commits=2)


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server) as started:
        yield started


def kinds(oracle: Oracle, table: Table) -> list[str]:
    return [snapshot["commitKind"] for snapshot in oracle.snapshots(table)]


LATE = Late()
UNANSWERED: list[tuple[Sequence[Step], int]] = [
    case([lose_answer], 1, id="the answer is lost"),
    case([fail_after], 1, id="500 although it was written"),
    case([send_twice], 1, id="a proxy sent it twice and tells the second answer"),
    case([lose_request], 2, id="the request is lost"),
    case([fail_before], 2, id="500 and not written"),
    case([lose_request, fail_before, lose_answer], 3, id="one after the other"),
    case([LATE.keep, LATE.arrive_before], 2, id="the first request arrives late"),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("steps", "puts"), UNANSWERED)
def test_what_became_of_a_put_is_found_out(
    oracle: Oracle, bucket: Bucket, steps: list[Step], puts: int
) -> None:
    table = java_table(oracle, bucket, commits=2)
    rows, before = oracle.read(table), kinds(oracle, table)

    with S3Proxy(bucket.server) as proxy:
        proxy.steps = list(steps)
        report = run(bucket, proxy.endpoint)
    bucket.fetch()

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    sent = [asked for asked in proxy.asked if is_snapshot_put(asked)]
    assert len(sent) == puts
    assert all(asked.is_conditional for asked in sent)
    assert len({asked.body for asked in sent}) == 1
    assert kinds(oracle, table) == [*before, "COMPACT"]
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def overtaken(oracle: Oracle, table: Table, then: Step, bucket: Bucket | None = None) -> Step:
    """Somebody else commits first."""

    def step(asked: Asked, forward: Forward) -> Answered | None:
        if bucket is not None:
            bucket.fetch()
        append(oracle, table)
        if bucket is not None:
            bucket.publish()
        return then(asked, forward)

    return step


def just_forward(asked: Asked, forward: Forward) -> Answered | None:
    return forward()


def test_a_put_that_was_refused_is_built_again(oracle: Oracle, bucket: Bucket) -> None:
    table = java_table(oracle, bucket, commits=2)

    with S3Proxy(bucket.server) as proxy:
        proxy.steps = [overtaken(oracle, table, just_forward, bucket)]
        report = run(bucket, proxy.endpoint)
    bucket.fetch()

    assert (report.status, report.commit_tries) == ("Compacted", 2)
    assert kinds(oracle, table)[-2:] == ["APPEND", "COMPACT"]
    assert len([row for row in oracle.read(table) if str(row[2]).startswith("late-")]) == 15
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_nothing_is_deleted_while_an_overtaken_put_may_still_arrive(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy
) -> None:
    """It would, after a roll-back of what overtook it: then it must be as good as any other snapshot."""
    base = oracle.snapshots(table)[-1]["id"]
    rows = oracle.read(table)
    late = Late()
    proxy.steps = [overtaken(oracle, table, late.keep)]

    with pytest.raises(CommitConflict):
        run(s3, proxy.endpoint, max_rounds=1)

    for shift in (timedelta(), timedelta(minutes=30)):
        run(s3, shift=shift)
        assert stray_files(oracle, table) != set()
    oracle.rollback_to(table, snapshot_id=base)
    assert late.arrive() == [200]
    assert kinds(oracle, table)[-1] == "COMPACT"
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}


# Requests that arrive when the table has left their base


def kept_back(oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy) -> Late:
    """A PUT that nobody answered, and that was overtaken, so that its run has given up."""
    late = Late()
    proxy.steps = [overtaken(oracle, table, late.keep)]
    with pytest.raises(CommitConflict):
        run(s3, proxy.endpoint, max_rounds=1)
    return late


def roll_back_and_append(oracle: Oracle, table: Table, times: int) -> list[Row]:
    oracle.rollback_to(table, snapshot_id=1)
    for number in range(times):
        append(oracle, table, f"again{number}")
    return oracle.read(table)


def roll_back_behind(oracle: Oracle, table: Table) -> list[Row]:
    """Beyond the base, and on to a snapshot before it."""
    return roll_back_and_append(oracle, table, 1)


def roll_back_and_catch_up(oracle: Oracle, table: Table) -> list[Row]:
    """Beyond the base, and on to another one of its number."""
    return roll_back_and_append(oracle, table, 2)


def expire_all(oracle: Oracle, table: Table) -> list[Row]:
    """The base and the snapshot that overtook ours."""
    for number in range(3):
        append(oracle, table, f"later{number}")
    expire(oracle, table)
    return oracle.read(table)


@pytest.mark.parametrize(
    "leave", [roll_back_behind, roll_back_and_catch_up, expire_all], ids=lambda leave: leave.__name__
)
def test_a_put_that_arrives_when_its_base_is_gone_is_taken_back_by_the_next_run(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy, leave: Callable[[Oracle, Table], list[Row]]
) -> None:
    base = oracle.snapshots(table)[-1]["id"]
    late = kept_back(oracle, s3, table, proxy)
    before = {path.name for path in table.folder.rglob("*")}
    rows = leave(oracle, table)
    newest = int((table.folder / "snapshot" / "LATEST").read_text())
    assert late.arrive() == [200]
    stray = table.folder / "snapshot" / f"snapshot-{base + 1}"
    assert json.loads(stray.read_text())["commitKind"] == "COMPACT"

    report = run(s3)

    assert (report.status, report.snapshot_after) == ("Compacted", str(newest + 1))
    assert oracle.read(table) == rows
    found = [snapshot["id"] for snapshot in oracle.snapshots(table)]
    assert found == list(range(found[0], newest + 2))
    for later in range(1, 6):
        run(s3, shift=later * SETTLED)
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) <= before
    assert journals(table) == set()


def test_a_stray_that_somebody_has_built_on_stays(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy
) -> None:
    late = kept_back(oracle, s3, table, proxy)
    roll_back_and_catch_up(oracle, table)
    late.arrive()
    append(oracle, table, "on top")
    rows = oracle.read(table)

    for later in range(6):
        run(s3, shift=later * SETTLED)

    assert oracle.read(table) == rows


@pytest.mark.parametrize("times", [1, 2], ids=["behind the base", "up to the base"])
def test_a_roll_back_while_a_put_is_under_way_is_not_undone(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy, times: int
) -> None:
    rows: list[list[Row]] = []

    def roll_back_first(asked: Asked, forward: Forward) -> Answered | None:
        rows.append(roll_back_and_append(oracle, table, times))
        return forward()

    proxy.steps = [roll_back_first]

    report = run(s3, proxy.endpoint)

    assert (report.status, report.rounds) == ("Compacted", 2)
    assert [oracle.read(table)] == rows
    assert report.snapshot_after == str(times + 2) == (table.folder / "snapshot" / "LATEST").read_text()


def test_a_restored_tag_is_no_stray(oracle: Oracle, s3: Bucket, table: Table) -> None:
    """A rollback to a tag may put the tag's snapshot in its place before it deletes what is newer."""
    run(s3)
    ours = oracle.snapshots(table)[-1]["id"]
    oracle.create_tag(table, "t")
    rows = oracle.read(table)
    for number in range(3):
        append(oracle, table, f"later{number}")
    expire(oracle, table)
    restored = table.folder / "snapshot" / f"snapshot-{ours}"
    restored.write_text((table.folder / "tag" / "tag-t").read_text())

    run(s3)

    assert restored.exists()
    oracle.rollback_to(table, tag="t")
    assert oracle.read(table) == rows


def test_a_put_that_hangs_is_given_up_soon_and_sent_again(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before any other request, so that less can happen to its base."""
    assert CREATE_SECONDS < SILENCE_SECONDS
    monkeypatch.setattr("lithify.io.objects.bucket.CREATE_SECONDS", 1)
    is_over = Event()

    def hang(asked: Asked, forward: Forward) -> Answered | None:
        is_over.wait(2 * SILENCE_SECONDS)
        return None

    proxy.steps = [hang]
    started = monotonic()
    report = run(s3, proxy.endpoint)
    took = monotonic() - started
    is_over.set()

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    assert took < SILENCE_SECONDS / 2
    assert len([asked for asked in proxy.asked if is_snapshot_put(asked)]) == 2


def test_files_of_an_overtaken_put_go_when_it_cannot_arrive_any_more(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy
) -> None:
    proxy.steps = [overtaken(oracle, table, lose_request)]
    with pytest.raises(CommitConflict):
        run(s3, proxy.endpoint, max_rounds=1)
    rows = oracle.read(table)

    for later in (SETTLED, 2 * SETTLED):
        run(s3, shift=later)

    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


@pytest.mark.parametrize("written", [True, False], ids=["it was written", "it was not"])
def test_a_store_that_goes_away_leaves_it_open_and_the_same_run_finds_out(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy, written: bool
) -> None:
    rows, before = oracle.read(table), kinds(oracle, table)

    def go_away(asked: Asked, forward: Forward) -> Answered | None:
        if written:
            forward()
        s3.server.kill()
        return None

    proxy.steps = [go_away]
    with pytest.raises(CommitUnknown):
        run(s3, proxy.endpoint, run="run-a", options=IMPATIENT, overrides={"commit.max-retries": "1"})
    s3.server.start()
    assert oracle.read(table) == rows

    report = run(s3, run="run-a")

    assert report.status == ("AlreadyCommitted" if written else "Compacted")
    assert kinds(oracle, table) == [*before, "COMPACT"]
    for later in (SETTLED, 2 * SETTLED, 3 * SETTLED):
        run(s3, shift=later)
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_a_put_that_may_not_be_made_leaves_nothing_behind(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy
) -> None:
    before = oracle.snapshots(table)

    def refuse(asked: Asked, forward: Forward) -> Answered | None:
        return Answered(400, (), b"<Error><Code>EntityTooLarge</Code><Message>no</Message></Error>")

    proxy.steps = [refuse]
    with pytest.raises(StorageError) as caught:
        run(s3, proxy.endpoint)

    assert not isinstance(caught.value, CommitUnknown)
    assert oracle.snapshots(table) == before
    assert stray_files(oracle, table) == set()
    run(s3, shift=SETTLED)
    assert journals(table) == set()


def test_a_java_writer_that_renames_over_our_snapshot_is_noticed(
    oracle: Oracle, s3: Bucket, table: Table, proxy: S3Proxy
) -> None:
    """Java checks, we write, Java renames: its snapshot stands, ours is gone, and nobody's rows are lost."""
    twin = table.copy_to(s3.folder.parent.parent / "twin" / s3.name)
    append(oracle, twin)
    rows = oracle.read(twin)
    newest = oracle.snapshots(twin)[-1]["id"]

    def rename_over(asked: Asked, forward: Forward) -> Answered | None:
        answered = forward()
        for path in twin.folder.rglob("*"):
            target = table.folder / path.relative_to(twin.folder)
            if path.is_file() and (not target.exists() or path.name in (f"snapshot-{newest}", "LATEST")):
                target.parent.mkdir(parents=True, exist_ok=True)
                temporary = target.with_name(f"{target.name}.renaming")
                temporary.write_bytes(path.read_bytes())
                temporary.replace(target)
        return answered

    proxy.steps = [rename_over]
    report = run(s3, proxy.endpoint)

    assert report.status == "Compacted"
    assert report.rounds == 2
    assert oracle.read(table) == rows
    assert (
        json.loads((table.folder / "snapshot" / f"snapshot-{newest}").read_text())["commitKind"] == "APPEND"
    )
    for later in (SETTLED, 2 * SETTLED, 3 * SETTLED):
        run(s3, shift=later)
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_runs_that_find_nothing_to_do_leave_the_probe_nowhere(
    oracle: Oracle, s3: Bucket, table: Table
) -> None:
    run(s3)

    run(s3)

    assert [path.name for path in table.folder.rglob("*probe*")] == []
