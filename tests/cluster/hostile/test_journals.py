"""Forged journals: whoever may write one table's folder gets no other table's files deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cluster.hostile.neighbours import Neighbours, journal, text_of, tree, unit
from infrastructure.objectstore.fixtures import Bucket
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CorruptTable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.runs import ShiftedClock

LATER = (0, 2, 4)
"""Hours: what is condemned is swept at once, and its journal goes when nothing is found any more."""
OWN_PREFIX = "11111111-2222-4333-8444-"

Fields = dict[str, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Neighbours:
    return Neighbours.make(tmp_path_factory.mktemp("model") / "warehouse")


@pytest.fixture
def tables(model: Neighbours, tmp_path: Path) -> Neighbours:
    return model.copied(tmp_path / "warehouse")


def bucket_of_victim(tables: Neighbours) -> str:
    return str(tables.victims_files[0].parent.relative_to(tables.victim.folder))


def with_roots(tables: Neighbours, *roots: str, **changes: Any) -> Fields:
    outside = {"table": str(tables.own.folder), "roots": list(roots)}
    return journal(tables.victims_prefix, outside=outside, **changes)


LEADS_ELSEWHERE: dict[str, Callable[[Neighbours], Fields]] = {
    "a folder of the neighbour": lambda tables: journal(
        tables.victims_prefix, units=unit(folder=f"../../victim.db/orders/{bucket_of_victim(tables)}")
    ),
    "all of the neighbour": lambda tables: journal(
        tables.victims_prefix, units=unit(folder="../../victim.db/orders")
    ),
    "all of the warehouse": lambda tables: journal(tables.victims_prefix, units=unit(folder="../..")),
    "the neighbour as a root": lambda tables: with_roots(tables, f"file:{tables.victim.folder}"),
    "a root above the neighbour": lambda tables: with_roots(
        tables,
        f"file:{tables.victim.folder.parent}",
        units=unit(folder=f"orders/{bucket_of_victim(tables)}"),
    ),
    "a root that leads up": lambda tables: with_roots(
        tables, f"file:{tables.own.folder}/../../victim.db/orders"
    ),
    "a partition that looks like a way up": lambda tables: journal(
        tables.victims_prefix, units=unit(partition="00000001" + "00" * 8 + "2e2e" + "00" * 5 + "82")
    ),
}
"""As they should be, but for where they say that files are; their prefix is that of the neighbour's files."""


@pytest.mark.parametrize("forge", LEADS_ELSEWHERE.values(), ids=LEADS_ELSEWHERE)
def test_a_journal_does_not_say_where_files_are(
    tables: Neighbours, forge: Callable[[Neighbours], Fields]
) -> None:
    (tables.attempts / "x-1.json").write_text(text_of(forge(tables)))
    before = tables.everything_else

    reports = tables.compact(*LATER, full=True)

    assert tables.everything_else == before
    assert reports[0].status == "Compacted"


REFUSED: dict[str, str] = {
    "no prefix": text_of(journal("")),
    "a prefix of all data files": text_of(journal("data-")),
    "a short prefix": text_of(journal(OWN_PREFIX[:9])),
    "a pattern": text_of(journal(".*")),
    "a prefix of another version": text_of(journal("11111111-2222-1333-8444-")),
    "a run that leads up": text_of(journal(OWN_PREFIX, run="../../../victim.db/orders/snapshot/x")),
    "another run": text_of(journal(OWN_PREFIX, run="y")),
    "another number": text_of(journal(OWN_PREFIX, number=2)),
    "no whole number": text_of(journal(OWN_PREFIX, number=1.5)),
    "not a number": text_of(journal(OWN_PREFIX)).replace('"base_millis": 1', '"base_millis": NaN'),
    "a number of many digits": text_of(journal(OWN_PREFIX)).replace(
        '"base_snapshot": 1', '"base_snapshot": 1' + "0" * 5000
    ),
    "a snapshot below 0": text_of(journal(OWN_PREFIX, base_snapshot=-1)),
    "a time that is none": text_of(journal(OWN_PREFIX, started="then")),
    "a time without a zone": text_of(journal(OWN_PREFIX, condemned="2020-01-01T00:00:00")),
    "the end of time": text_of(journal(OWN_PREFIX, started="9999-12-31T23:59:59-23:59")),
    "no units": text_of(journal(OWN_PREFIX, units=None)),
    "a unit that is none": text_of(journal(OWN_PREFIX, units=["dt=a"])),
    "a bucket below 0": text_of(journal(OWN_PREFIX, units=unit(bucket=-1))),
    "a bucket below that of postponed rows": text_of(journal(OWN_PREFIX, units=unit(bucket=-3))),
    "a bucket that is a text": text_of(journal(OWN_PREFIX, units=unit(bucket="../0"))),
    "a partition that is no hexadecimal number": text_of(journal(OWN_PREFIX, units=unit(partition="../"))),
    "a partition that is cut off": text_of(journal(OWN_PREFIX, units=unit(partition="0000000100"))),
    "an input that is no name": text_of(journal(OWN_PREFIX, units=unit(inputs=["../x"]))),
    "half a character": text_of(journal(OWN_PREFIX, units=unit(inputs=["\ud800"]))),
    "roots that are no texts": text_of(journal(OWN_PREFIX, outside={"table": "/", "roots": [["/"]]})),
    "a root with a control character": text_of(
        journal(OWN_PREFIX, outside={"table": "/", "roots": ["file:/\x00"]})
    ),
    "a field of nobody": text_of(journal(OWN_PREFIX, delete="everything")),
    "nested too deep": "[" * 100_000,
    "nested too deep in a field": text_of(journal(OWN_PREFIX))[:-2] + ', "delete": ' + '{"a":' * 90_000,
    "more lists than characters explain": json.dumps([[]] * 200_000),
    "a text": '"x"',
    "nothing": "",
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_journal_that_is_refused_costs_only_itself(tables: Neighbours, text: str) -> None:
    """It stays and is named; what another one remembers is cleaned up, and the table compacted."""
    (tables.attempts / "x-1.json").write_text(text)
    dead = journal(OWN_PREFIX, run="dead")
    (tables.attempts / "dead-1.json").write_text(text_of(dead))
    left = tables.own.folder / "dt=a" / "bucket-0" / f"data-{OWN_PREFIX}000000000000-0.parquet"
    left.write_text("of a dead attempt")
    before = tables.everything_else

    first, second = tables.compact(0, 2, full=True)

    assert tables.everything_else == before
    assert first.status == "Compacted"
    assert not left.exists()
    assert not (tables.attempts / "dead-1.json").exists()
    assert (tables.attempts / "x-1.json").exists()
    for report in (first, second):
        assert [problem for problem in report.uncleaned if "x-1.json" in problem]


NAMES = {
    "a dash for a prefix": "x-1.committed-99-1577836800--",
    "nothing but a prefix of hexadecimal digits": "x-1.committed-99-1577836800-d",
    "a time beyond the calendar": f"x-1.committed-99-{'9' * 18}-{OWN_PREFIX}",
    "a number of many digits": f"x-1.committed-{'9' * 150}-1577836800-{OWN_PREFIX}",
    "digits of another script": f"x-1.committed-٣-1577836800-{OWN_PREFIX}",
    "no run": f".committed-9-1577836800-{OWN_PREFIX}",
    "an open one without a number": "x.json",
    "an open one of many digits": f"x-{'9' * 200}.json",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_is_refused_costs_only_its_file(tables: Neighbours, name: str) -> None:
    (tables.attempts / name).write_text(text_of(journal("")))
    before = tables.everything_else

    first, second = tables.compact(0, 2, full=True)

    assert tables.everything_else == before
    assert first.status == "Compacted"
    assert (tables.attempts / name).exists()
    assert len(first.uncleaned) == len(second.uncleaned) == 1


def test_a_pipe_is_no_journal(tables: Neighbours) -> None:
    """Nobody writes to it, so whoever opened it would wait for ever."""
    os.mkfifo(tables.attempts / "x-1.json")

    (report,) = tables.compact(0, full=True)

    assert report.status == "Compacted"
    assert [problem for problem in report.uncleaned if "x-1.json" in problem]


def test_a_journal_that_is_being_written_is_no_problem(tables: Neighbours) -> None:
    for name in ("x-1.json", f"x-1.committed-9-1577836800-{OWN_PREFIX}"):
        (tables.attempts / f".lithify-{name}.{uuid4()}").write_text("half")

    (report,) = tables.compact(0, full=True)

    assert (report.status, report.uncleaned) == ("Compacted", ())


def test_very_many_journals_that_are_refused_do_not_make_the_report_endless(tables: Neighbours) -> None:
    for number in range(300):
        (tables.attempts / f"x-{number}.json").write_text("[")

    (report,) = tables.compact(0, full=True)

    assert report.status == "Compacted"
    assert len(report.uncleaned) == 101


def test_the_name_of_a_committed_journal_must_fit_its_text(tables: Neighbours) -> None:
    name = f"x-1.committed-99-1577836800-{OWN_PREFIX}"
    (tables.attempts / name).write_text(text_of(journal(tables.victims_prefix)))
    before = tables.everything_else

    (report,) = tables.compact(2)

    assert tables.everything_else == before
    assert [problem for problem in report.uncleaned if name in problem]


def test_only_what_our_writers_name_is_deleted(tables: Neighbours) -> None:
    """Everything has the prefix in its name, and nothing refers to it."""
    bucket, manifests = tables.own.folder / "dt=a" / "bucket-0", tables.own.folder / "manifest"
    indexes = tables.own.folder / "index"
    indexes.mkdir()
    uuid = f"{OWN_PREFIX}{'0' * 12}"
    ours = [
        bucket / f"data-{uuid}-0.parquet",
        bucket / f"other-{uuid}-12.zst.orc",
        manifests / f"manifest-{uuid}-0",
        manifests / f"manifest-list-{uuid}-1",
        manifests / f"index-manifest-{uuid}-0",
        bucket / f"index-{uuid}-0",
        indexes / f"index-{uuid}-1",
    ]
    others = [
        bucket / f"data-{uuid}-0.parquet.bak",
        bucket / f"data-{uuid}.parquet",
        bucket / f"data-{OWN_PREFIX}-0.parquet",
        bucket / f"{OWN_PREFIX}",
        manifests / f"manifest-{uuid}-x",
        manifests / f"index-manifest-list-{uuid}-0",
        manifests / f"index-{uuid}-0",
        indexes / f"index-{uuid}",
        indexes / f"data-{uuid}-0.parquet",
        tables.own.folder / "dt=b" / "bucket-0" / f"data-{uuid}-0.parquet",
    ]
    for file in (*ours, *others):
        file.write_text("left behind")
    (bucket / f"data-{uuid}-1.parquet").mkdir()
    (bucket / f"data-{uuid}-2.parquet").symlink_to(tables.victims_files[0])
    (tables.attempts / "x-1.json").write_text(text_of(journal(OWN_PREFIX)))
    before = tables.everything_else

    (report,) = tables.compact(0)

    assert report.orphans_deleted == len(ours)
    assert not [file for file in ours if file.exists()]
    assert [file for file in others if not file.exists()] == []
    assert (bucket / f"data-{uuid}-1.parquet").is_dir()
    assert (bucket / f"data-{uuid}-2.parquet").is_symlink()
    assert tables.everything_else == before


def test_no_symbolic_link_of_a_bucket_leads_a_sweep_elsewhere(tables: Neighbours) -> None:
    there = tables.victims_files[0].parent
    (tables.own.folder / "dt=a" / "bucket-7").symlink_to(there)
    (tables.own.folder / "dt=a" / "bucket-8").mkdir()
    (tables.own.folder / "dt=a" / "bucket-8" / "deeper").symlink_to(there)
    (tables.attempts / "x-1.json").write_text(text_of(journal(tables.victims_prefix, units=unit(bucket=7))))
    (tables.attempts / "y-1.json").write_text(
        text_of(journal(tables.victims_prefix, run="y", units=unit(bucket=8)))
    )
    before = tables.everything_else

    reports = tables.compact(*LATER)

    assert tables.everything_else == before
    assert [problem for problem in reports[-1].uncleaned if "bucket-7" in problem]


@pytest.mark.parametrize("name", ["attempts", "lithify"])
def test_journals_are_not_looked_for_elsewhere(tables: Neighbours, name: str) -> None:
    """Their folder is a symbolic link to one of the neighbour, where a journal has just been closed."""
    theirs = tables.victim.folder / "lithify" / "attempts"
    theirs.mkdir(parents=True)
    (theirs / "x-1.json").write_text(text_of(journal(OWN_PREFIX)))
    link = tables.own.folder / "lithify" / ("attempts" if name == "attempts" else "")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(theirs if name == "attempts" else theirs.parent)
    before = tables.everything_else

    with pytest.raises(CorruptTable, match="symbolic link"):
        tables.compact(0, full=True)

    assert tables.everything_else == before


def test_remains_of_small_writes_go_by_their_names(tables: Neighbours) -> None:
    attempts, snapshots = tables.attempts, tables.own.folder / "snapshot"
    ours = [
        attempts / f".lithify-x-1.json.{uuid4()}",
        attempts / ".lithify-alive-x-1",
        attempts / f".lithify-probe-{uuid4()}",
        snapshots / f".lithify-snapshot-9.{uuid4()}",
    ]
    others = [attempts / ".lithify-", attempts / ".lithify-precious", snapshots / ".lithify-x.txt"]
    for file in (*ours, *others):
        file.write_text("half")
    (snapshots / f".lithify-link.{uuid4()}").symlink_to(tables.victims_files[0])
    before = tables.everything_else

    tables.compact(50)

    assert not [file for file in ours if file.exists()]
    assert all(file.exists() for file in others)
    assert len([path for path in snapshots.iterdir() if path.is_symlink()]) == 1
    assert tables.everything_else == before


def test_journals_of_earlier_releases_are_cleaned_up_by(tables: Neighbours) -> None:
    """They say in which folder files are, which nobody reads; where external paths were, the options tell."""
    elsewhere = tables.warehouse.parent / "elsewhere"
    tables.own.set_option("data-file.external-paths", f"file:{elsewhere}")
    tables.own.set_option("data-file.external-paths.strategy", "round-robin")
    files = [
        folder / "dt=a" / "bucket-0" / f"data-{OWN_PREFIX}000000000000-0.parquet"
        for folder in (tables.own.folder, elsewhere)
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("of a dead attempt")
    outside = {"table": str(tables.own.folder), "roots": [f"file:{elsewhere}"]}
    (tables.attempts / "x-1.json").write_text(text_of(journal(OWN_PREFIX, outside=outside)))

    reports = tables.compact(*LATER)

    assert not [file for file in files if file.exists()]
    assert list(tables.attempts.glob("*.json")) == []
    assert reports[-1].uncleaned == ()


def test_files_in_roots_that_the_table_no_longer_has_are_left_alone(tables: Neighbours) -> None:
    elsewhere = tables.warehouse.parent / "elsewhere"
    file = elsewhere / "dt=a" / "bucket-0" / f"data-{OWN_PREFIX}000000000000-0.parquet"
    file.parent.mkdir(parents=True)
    file.write_text("of a dead attempt")
    outside = {"table": str(tables.own.folder), "roots": [f"file:{elsewhere}"]}
    (tables.attempts / "x-1.json").write_text(text_of(journal(OWN_PREFIX, outside=outside)))

    reports = tables.compact(*LATER)

    assert file.exists()
    assert (tables.attempts / "x-1.json").exists()
    (problem,) = reports[-1].uncleaned
    assert str(elsewhere) in problem


def test_a_forged_journal_on_s3_deletes_nothing_of_the_neighbour(s3: Bucket) -> None:
    tables = Neighbours.make(s3.folder / "lake")
    url, roots = f"{s3.url}/lake", [f"{s3.url}/lake/victim.db/orders"]
    outside = {"table": f"{url}/db.db/t", "roots": roots}
    forged = {
        "x-1.json": journal(tables.victims_prefix, outside=outside),
        "y-1.json": journal(tables.victims_prefix, run="y", units=unit(folder="../../victim.db/orders")),
        "z-1.json": journal("", run="z", outside=outside),
    }
    for name, fields in forged.items():
        (tables.attempts / name).write_text(text_of(fields))
    before = tree(s3.folder / "lake" / "victim.db")

    request = Request(TableAddress(url, "db.t", s3.options()), Selection(strategy=Strategy.FULL))
    reports = [compact(request, InlineRunner(), ShiftedClock(timedelta(hours=later))) for later in (0, 2)]

    assert tree(s3.folder / "lake" / "victim.db") == before
    assert reports[0].status == "Compacted"
    assert [problem for problem in reports[0].uncleaned if "z-1.json" in problem]
