"""Looks at tables with postponed rows, which writers write and compactions move."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.clock import SystemClock
from lithify.formats.paimon.observing.observer import open_observer
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.model import fingerprint_of
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter, ObservationRequest, TableObserver
from support.observations import levels_of
from support.postponed import MOVED_ONLY, append_postponed, make_postponed
from support.runs import run_inline

pytestmark = pytest.mark.oracle

POSTPONED = "dt=a/bucket-postpone"


def watch(folder: Path) -> TableObserver:
    return open_observer(folder, 1 << 20, SystemClock(UTC))


def request_for(table: Table) -> ObservationRequest:
    return ObservationRequest(TableAddress(str(table.warehouse), str(table.name)), "uid")


def test_each_look_finds_what_is_postponed_then(oracle: Oracle, tmp_path: Path) -> None:
    table = make_postponed(oracle, tmp_path / "warehouse")
    following = watch(tmp_path / "following")
    seen: list[Observation] = []

    def found() -> list[tuple[str, int, int]]:
        request = request_for(table)
        if seen:
            request = replace(request, known_uuid=seen[-1].table_uuid, known_snapshot=seen[-1].snapshot)
        now = following.observe(request)
        assert now is not None
        assert now == watch(tmp_path / "fresh").observe(replace(request_for(table), is_full=True))
        seen.append(now)
        return [(each.trigger, each.buckets, each.files) for each in now.findings]

    assert found() == [("PostponedFiles", 2, 6)]
    (first,) = seen
    assert (levels_of(first)["sortedRuns"], levels_of(first)["buckets"]) == (1, 4)
    assert first.write_only
    assert first.full_bytes == first.bytes
    append_postponed(oracle, table, "late")
    assert found() == [("PostponedFiles", 2, 8)]
    oracle.move_postponed(table, options=MOVED_ONLY)
    assert found() == []
    append_postponed(oracle, table, "later")
    assert found() == [("PostponedFiles", 2, 2)]
    run_inline(table, full=False)
    assert found() == []


@pytest.mark.parametrize("options", [{}, {"sequence.field": "n"}], ids=["order of writers", "order of users"])
def test_buckets_wait_for_rows_that_cannot_be_moved_if_these_may_be_older(
    oracle: Oracle, tmp_path: Path, options: dict[str, str]
) -> None:
    table = make_postponed(
        oracle, tmp_path / "warehouse", **options, **{"num-sorted-run.compaction-trigger": "1"}
    )
    for _ in range(2):
        oracle.move_postponed(table, options=MOVED_ONLY)
        append_postponed(oracle, table, "late")
    files = [file for file in oracle.files(table) if file.bucket < 0 and file.partition == {"dt": "a"}]
    held = {POSTPONED: fingerprint_of((file.name, file.level) for file in files)}

    request = replace(request_for(table), wanted=Filter(Selection(held=held)))
    seen = watch(tmp_path / "watch").observe(request)

    assert seen is not None
    due = {finding.trigger: finding.buckets for finding in seen.findings}
    assert due == {"PostponedFiles": 1, "SortedRuns": 2 if options else 4}
    assert [group.group for group in seen.blocked] == [POSTPONED]
