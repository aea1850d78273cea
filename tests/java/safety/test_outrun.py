"""A commit that others outrun again and again: each try costs what they have committed since the last one.

The table has far more files than the bucket that is compacted; Java appends to that bucket between every look
at the newest snapshot and the write of ours, as many times as the test says. None of that is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.run.report import Report
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.protocol.address import Selection
from support.asked import Asked, recorded
from support.invented.shape import REAL_DAY, Shape
from support.invented.table import create, invent, orders
from support.races import Step, steps_at
from support.runs import run_inline
from support.tables import copy_of, expire, stray_files

pytestmark = pytest.mark.oracle

SHAPE = Shape(files=20_000, buckets=800, partitions=200, due=0.0)
OPTIONS = {"manifest.merge-min-count": "1000"}
MANIFESTS = ManifestOptions(target_size=64 << 10)
"""Manifests are many and small, and too few to be merged: what a try reads is for its checks alone."""


@pytest.fixture(scope="module")
def model(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = create(oracle, tmp_path_factory.mktemp("model"), SHAPE, options=OPTIONS)
    invent(table, SHAPE, manifests=MANIFESTS)
    for number in range(3):
        oracle.write(table, orders(REAL_DAY, range(10 * number, 10 * number + 40), f"c{number}"))
    return table


@dataclass
class Tries:
    """What the tries of a commit have read, and what Java did in between.

    Attributes:
        table: which table.
        steps: taken in this order, one a try, between its look and its write; none when they are through.
        read: by try, the manifests that were opened, in their order.
    """

    table: Table
    steps: list[Step]
    read: list[list[str]] = field(default_factory=list)

    def begin(self, asked: Asked) -> None:
        """The tasks are done: what is read from here on is read by tries."""
        asked.requests.clear()

    def end(self, asked: Asked) -> None:
        """A try has looked and is about to write."""
        opened = asked.of("new_input_stream")
        self.read.append(
            sorted(name for name in opened if name.startswith("manifest-") and "-list-" not in name)
        )
        if self.steps:
            self.steps.pop(0)()
        asked.requests.clear()


@contextmanager
def stepped(monkeypatch: pytest.MonkeyPatch, table: Table, steps: list[Step]) -> Iterator[Tries]:
    """Has Java take one of the steps in each try, and records what the tries read."""
    tries = Tries(table, steps)
    with recorded() as asked:
        steps_at(
            monkeypatch,
            {"tasks-done": lambda: tries.begin(asked), "manifests-written": lambda: tries.end(asked)},
        )
        yield tries


def compact(table: Table) -> Report:
    return run_inline(table, selection=Selection(({"dt": REAL_DAY},)))


def append(oracle: Oracle, table: Table, number: int = 0) -> int:
    return oracle.write(table, orders(REAL_DAY, range(number, number + 20), f"late{number}"))


def manifests_of_delta(oracle: Oracle, table: Table, snapshot: int) -> list[str]:
    return sorted(manifest["name"] for manifest in oracle.manifests(table, snapshot)["delta"])


def manifests_that_may_have(oracle: Oracle, table: Table, day: str) -> tuple[list[str], int]:
    """The manifests of the newest snapshot whose bounds admit a partition, and how many there are in all."""
    lists = oracle.manifests(table)
    manifests = [*lists["base"], *lists["delta"]]
    found = [
        manifest["name"]
        for manifest in manifests
        if manifest["partitions"]["min"] <= [day] <= manifest["partitions"]["max"]
    ]
    return sorted(found), len(manifests)


def rows_of(oracle: Oracle, table: Table) -> object:
    return oracle.read(table, partition={"dt": REAL_DAY})


def test_the_first_try_reads_the_manifests_that_may_have_the_bucket(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, there_are = manifests_that_may_have(oracle, table, REAL_DAY)
    assert len(wanted) == 3
    assert there_are > 15

    with stepped(monkeypatch, table, []) as tries:
        report = compact(table)

    assert report.commit_tries == 1
    assert set(tries.read[0]) <= set(wanted)


def test_a_later_try_reads_what_was_committed_since_the_one_before(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = oracle.snapshots(table)[-1]["id"]

    def append_twice() -> None:
        append(oracle, table, 1)
        append(oracle, table, 2)

    with stepped(monkeypatch, table, [lambda: append(oracle, table), append_twice]) as tries:
        report = compact(table)

    deltas = [manifests_of_delta(oracle, table, newest + number) for number in (1, 2, 3)]
    assert report.commit_tries == 3
    assert tries.read[1:] == [deltas[0], sorted(deltas[1] + deltas[2])]


def test_a_run_that_is_outrun_more_often_than_java_would_try_still_commits_its_files(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To be outrun is no conflict: the files stay, nothing is planned or rewritten again."""
    often = 12
    twin = copy_of(table, tmp_path / "twin")
    for number in range(often):
        append(oracle, twin, number)

    with stepped(
        monkeypatch, table, [lambda number=number: append(oracle, table, number) for number in range(often)]
    ):
        report = compact(table)

    assert (report.status, report.rounds, report.commit_tries) == ("Compacted", 1, often + 1)
    assert report.skipped == {}
    assert rows_of(oracle, table) == rows_of(oracle, twin)
    assert stray_files(oracle, table) == set()


def test_snapshots_that_are_expired_between_two_tries(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they changed cannot be read any more: the next try looks at the whole bucket again."""
    twin = copy_of(table, tmp_path / "twin")

    def append_and_expire(table: Table) -> None:
        append(oracle, table, 1)
        oracle.compact(table, partitions=[{"dt": REAL_DAY}], buckets=[0])
        append(oracle, table, 2)
        expire(oracle, table)

    append_and_expire(twin)
    with stepped(monkeypatch, table, [lambda: append_and_expire(table)]):
        report = compact(table)

    assert report.status == "Compacted"
    assert report.rounds == 2, "the bucket that Java compacted is planned again"
    assert rows_of(oracle, table) == rows_of(oracle, twin)
    assert stray_files(oracle, table) == set()


def test_a_rollback_between_two_tries(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest number is higher than before, but of another history: an input is gone, and so are rows."""
    rolled_to = oracle.snapshots(table)[-1]["id"]
    append(oracle, table, 1)
    twin = copy_of(table, tmp_path / "twin")

    def roll_back_and_append(table: Table) -> None:
        oracle.rollback_to(table, rolled_to)
        append(oracle, table, 2)
        append(oracle, table, 3)

    roll_back_and_append(twin)
    with stepped(monkeypatch, table, [lambda: roll_back_and_append(table)]):
        report = compact(table)

    assert report.status == "Compacted"
    assert report.rounds == 2, "files that were rolled back are no inputs any more"
    assert rows_of(oracle, table) == rows_of(oracle, twin)
    assert stray_files(oracle, table) == stray_files(oracle, twin), "what Java's rollback leaves, and no more"
