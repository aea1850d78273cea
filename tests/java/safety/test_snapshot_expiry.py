"""Expiry beside a Java writer in a process of its own, which commits, compacts and tags all the time."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import StalePlan
from support.expired_snapshots import Rules, StandingClock, answers, expiry_of, now_millis, numbers
from support.tables import append, data_files, make_plain, stray_files

pytestmark = pytest.mark.oracle

COMMITS = 40
FEW = Rules(least=3, most=3)


def write_and_tag(writer: Oracle, table: Table) -> dict[str, object]:
    """Commits, compacts and tags; returns what each tag had when it was created."""
    tagged: dict[str, object] = {}
    for commit in range(COMMITS):
        append(writer, table, f"late {commit}")
        if commit % 3 == 0:
            writer.compact(table, full=commit % 2 == 0)
        if commit % 5 == 0:
            writer.create_tag(table, f"t{commit}")
            tagged[f"tag t{commit}"] = writer.read(table)
    return tagged


def expire(table: Table) -> int:
    """Expires all snapshots but a few; returns how many, 0 if the plan was stale."""
    expiry = expiry_of(table, FEW)
    plan = expiry.plan(StandingClock(now_millis()))
    try:
        return expiry.execute(plan).figures["snapshots"]
    except StalePlan:
        return 0


def expire_until(done: Future[dict[str, object]], table: Table) -> int:
    """Expires snapshots again and again, and once at the end; returns how many."""
    expired = 0
    while not done.done():
        expired += expire(table)
    return expired + expire(table)


def test_no_commit_or_tag_of_a_busy_writer_loses_a_file(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path, **{"changelog-producer": "input", "manifest.merge-min-count": "3"})
    with Oracle.start() as writer, ThreadPoolExecutor(1) as background:
        writing = background.submit(write_and_tag, writer, table)
        expired = expire_until(writing, table)
        tagged = writing.result()

    assert expired >= COMMITS
    found = answers(oracle, table)
    assert {name: found[name] for name in tagged} == tagged
    assert len(found) == len(tagged) + len(numbers(table))
    assert stray_files(oracle, table) == set()
    assert {file.name for file in oracle.files(table)} <= data_files(table)
