"""What is known of a few buckets follows the table: little is read, and the answer is that of a full look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pypaimon.snapshot.snapshot import Snapshot

from lithify.formats.paimon.commit.table_writing import follow
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.table import PaimonTable
from support.small_tables import SmallTable

pytestmark = pytest.mark.thorough


@dataclass
class Reads:
    """The manifests that were read since the last question."""

    names: list[str] = field(default_factory=list)

    def taken(self) -> list[str]:
        taken, self.names = self.names, []
        return taken


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    found = Reads()
    content = Manifests.content

    def counting(self: Manifests, name: str) -> bytes:
        if not name.startswith("manifest-list-"):
            found.names.append(name)
        return content(self, name)

    monkeypatch.setattr(Manifests, "content", counting)
    return found


@pytest.fixture
def small(tmp_path: Path) -> SmallTable:
    """Ten commits, one after the other to either of two days."""
    small = SmallTable(tmp_path).create()
    for day in "ab" * 5:
        small.append(day)
    return small


def newest_of(table: PaimonTable) -> Snapshot:
    newest = table.snapshots.latest()
    assert newest is not None
    return newest


def bucket_of(table: PaimonTable, path: str) -> BucketId:
    live = table.manifests.live(newest_of(table))
    ids = {table.bucket_id(entry.partition, entry.bucket) for entry in live}
    return next(each for each in ids if each.path == path)


def names(table: PaimonTable, bucket: BucketId, snapshot: Snapshot) -> list[str]:
    """The bucket's files as everything that is live says."""
    place = bucket.partition, bucket.bucket
    live = table.manifests.live(snapshot)
    return sorted(each.file.name for each in live if (each.partition, each.bucket) == place)


def test_the_first_look_reads_the_manifests_of_its_partitions(small: SmallTable, reads: Reads) -> None:
    table = open_table(small.address)
    bucket = bucket_of(table, "dt=a/bucket-0")
    reads.taken()

    found = follow(table, [bucket]).at(newest_of(table))

    assert len(reads.taken()) == 5
    assert sorted(each.file.name for each in found[bucket.partition, 0]) == names(
        table, bucket, newest_of(table)
    )


def test_the_next_look_reads_what_was_committed_since(small: SmallTable, reads: Reads) -> None:
    table = open_table(small.address)
    bucket = bucket_of(table, "dt=a/bucket-0")
    live = follow(table, [bucket])
    live.at(newest_of(table))
    small.append("b")
    small.append("a")
    reads.taken()

    found = live.at(newest_of(table))

    assert len(reads.taken()) == 1
    assert sorted(each.file.name for each in found[bucket.partition, 0]) == names(
        table, bucket, newest_of(table)
    )


def roll_back(small: SmallTable) -> None:
    small.roll_back_to(5)


def roll_back_and_go_on(small: SmallTable) -> None:
    """There is a snapshot of the number that was seen, but it is another one."""
    small.roll_back_to(5)
    for _ in range(6):
        small.append("a")


def expire(small: SmallTable) -> None:
    small.append("a")
    small.append("a")
    small.expire(keep=1)


def overwrite(small: SmallTable) -> None:
    small.overwrite("a")


@pytest.mark.parametrize(
    "change", [roll_back, roll_back_and_go_on, expire, overwrite], ids=lambda c: c.__name__
)
def test_whatever_happened_the_answer_is_that_of_a_full_look(
    small: SmallTable, change: Callable[[SmallTable], Any]
) -> None:
    table = open_table(small.address)
    bucket = bucket_of(table, "dt=a/bucket-0")
    live = follow(table, [bucket])
    live.at(newest_of(table))

    change(small)

    found = live.at(newest_of(table))
    assert sorted(each.file.name for each in found[bucket.partition, 0]) == names(
        table, bucket, newest_of(table)
    )


@pytest.mark.parametrize(
    "change", [roll_back, roll_back_and_go_on, expire, overwrite], ids=lambda c: c.__name__
)
def test_only_the_files_that_matter_are_kept(small: SmallTable, change: Callable[[SmallTable], Any]) -> None:
    table = open_table(small.address)
    bucket = bucket_of(table, "dt=a/bucket-0")
    some = names(table, bucket, newest_of(table))[::2]
    live = follow(table, [bucket], [*some, "data-that-never-was.parquet"])

    def found() -> list[str]:
        kept = live.at(newest_of(table)).get((bucket.partition, 0), ())
        return sorted(each.file.name for each in kept)

    assert found() == some

    change(small)

    assert found() == [name for name in names(table, bucket, newest_of(table)) if name in some]


def test_without_buckets_nothing_is_read(small: SmallTable, reads: Reads) -> None:
    table = open_table(small.address)

    assert follow(table, []).at(newest_of(table)) == {}
    assert reads.taken() == []
