"""Streaming readers get the same of a table that we compact as of one that Java compacts, commit by commit.

Both tables have the same commits from the beginning. Readers are consumers in the middle of the stream, and
readers of changelogs that have outlived their snapshots.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from support.comparing.streams import Stream, assert_stream_is_the_table, first_of_stream, in_any_order
from support.runs import clean_up, run_inline
from support.tables import FAR_FUTURE, copy_of, expire, stray_files

pytestmark = pytest.mark.oracle

COLUMNS = {"id": "INT NOT NULL", "v": "STRING", "n": "BIGINT"}
ROUNDS = 6
CONSUMER = "downstream"
OUTLIVING = {"changelog.num-retained.min": "50"}
"""More than a table retains of snapshots."""
VECTORS = {"deletion-vectors.enabled": "true"}
SUMS = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
TABLES: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "input": {"changelog-producer": "input"},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "lookup": {"changelog-producer": "lookup"},
    "lookup of sums": {"changelog-producer": "lookup", **SUMS},
    "lookup without repeats": {
        "changelog-producer": "lookup",
        "changelog-producer.row-deduplicate": "true",
    },
    "first rows": {"changelog-producer": "lookup", "merge-engine": "first-row"},
    "vectors": VECTORS,
    "vectors and input": {**VECTORS, "changelog-producer": "input", "deletion-vectors.bitmap64": "true"},
}
ADDING_UP = ("full-compaction", "lookup", "lookup of sums", "lookup without repeats", "first rows")
"""Those whose changes make the rows of the table."""


def make(oracle: Oracle, folder: Path, options: Mapping[str, str]) -> tuple[Table, Table]:
    """An empty table for us, and one for Java."""
    ours = Table(folder / "ours", "db.t")
    oracle.create_table(ours, COLUMNS, ["id"], options={"bucket": "2", "write-only": "true", **options})
    return ours, copy_of(ours, folder / "java")


def rows_of(number: int, *, with_deletes: bool) -> list[Row]:
    """The rows of a commit: some keys are new, some change, some go."""
    random = Random(number)
    kinds = ["+I", "+U", "-D"] if with_deletes else ["+I"]
    keys = random.sample(range(60), 25)
    return [[random.choice(kinds), key, random.choice(["a", "b", None]), number % 3] for key in keys]


def play_round(oracle: Oracle, ours: Table, java: Table, number: int) -> None:
    """Others write to both tables; each is compacted, fully every third time."""
    with_deletes = "first-row" not in oracle.schema(ours)["options"].values()
    for table in (ours, java):
        oracle.write(table, rows_of(number, with_deletes=with_deletes))
    full = number % 3 == 2
    oracle.manager_round(java, full=full, commit=True)
    run_inline(ours, full=full)


def by_commit(stream: Stream) -> Stream:
    """The events of each snapshot; buckets come in any order."""
    return {snapshot: in_any_order(rows) for snapshot, rows in stream.items()}


def numbers(oracle: Oracle, table: Table) -> list[int]:
    return [int(snapshot["id"]) for snapshot in oracle.snapshots(table)]


def next_of(table: Table) -> int:
    """The snapshot with which the consumer goes on."""
    progress = json.loads((table.folder / "consumer" / f"consumer-{CONSUMER}").read_text())
    return int(progress["nextSnapshot"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TABLES)
def test_a_consumer_in_the_middle_of_the_stream_reads_on(oracle: Oracle, tmp_path: Path, name: str) -> None:
    """It lags behind and stops after each snapshot; what it has not read is kept when snapshots expire."""
    ours, java = make(oracle, tmp_path, TABLES[name])
    begun = False
    for number in range(ROUNDS):
        play_round(oracle, ours, java, number)
        parts = [by_commit(oracle.consume(table, CONSUMER, plans=1)) for table in (ours, java)]
        assert parts[0] == parts[1]
        begun = begun or bool(parts[0])
        for table in (ours, java):
            expire(oracle, table)
        assert numbers(oracle, ours) == numbers(oracle, java)
        assert numbers(oracle, ours)[0] <= next_of(ours) == next_of(java)

    last, of_java = (by_commit(oracle.consume(table, CONSUMER)) for table in (ours, java))

    assert begun
    assert last == of_java
    assert [oracle.consume(table, CONSUMER) for table in (ours, java)] == [{}, {}]
    assert oracle.read(ours) == oracle.read(java)
    assert stray_files(oracle, ours) == set()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TABLES)
def test_changelogs_outlive_their_snapshots(oracle: Oracle, tmp_path: Path, name: str) -> None:
    """Neither our commits nor the expiry of snapshots that we committed take anything from a slow reader."""
    ours, java = make(oracle, tmp_path, {**TABLES[name], **OUTLIVING})
    for number in range(ROUNDS):
        play_round(oracle, ours, java, number)
        before = oracle.changelog(ours, from_snapshot=1)
        for table in (ours, java):
            expire(oracle, table, outlived_by=100)
        streams = [oracle.changelog(table, from_snapshot=1) for table in (ours, java)]
        assert streams[0] == before
        assert by_commit(streams[0]) == by_commit(streams[1])
        assert len(numbers(oracle, ours)) == 1
    if name in ADDING_UP:
        assert_stream_is_the_table(oracle, ours)
    clean_up(ours, 24.1, 26)

    assert oracle.changelog(ours, from_snapshot=1) == before
    assert oracle.read(ours) == oracle.read(java)
    assert stray_files(oracle, ours) == set()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["none", "input", "full-compaction", "lookup", "vectors"])
def test_the_rest_of_a_changelog_stays_when_its_beginning_expires(
    oracle: Oracle, tmp_path: Path, name: str
) -> None:
    ours, java = make(oracle, tmp_path, {**TABLES[name], **OUTLIVING})
    for number in range(ROUNDS):
        play_round(oracle, ours, java, number)
    rows = oracle.read(ours)
    for table in (ours, java):
        expire(oracle, table, outlived_by=100)
        assert oracle.expire_changelogs(table, retain_max=4, older_than=FAR_FUTURE) > 0

    begins = [first_of_stream(oracle, table) for table in (ours, java)]
    assert begins[0] is not None
    assert begins[0] == begins[1] > 1
    streams = [oracle.changelog(table, from_snapshot=begins[0]) for table in (ours, java)]
    assert by_commit(streams[0]) == by_commit(streams[1])
    assert oracle.read(ours) == rows == oracle.read(java)
    run_inline(ours)
    assert stray_files(oracle, ours) == set()
