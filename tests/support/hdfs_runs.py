"""Compacts tables on HDFS, and has several commit to one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.hdfs.proxy import RpcProxy
from infrastructure.objectstore.racing import CONTEXT, DEADLINE, Outcomes, mark, race, started
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, TaskRunner
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.hdfs.settings import PATIENCE
from support.runs import ShiftedClock
from support.small_tables import SmallTable

IMPATIENT = {PATIENCE: "1"}


def address(hdfs: HdfsFolder, proxy: RpcProxy | None = None, **options: str) -> TableAddress:
    """The table, by way of a proxy if there is one."""
    warehouse = hdfs.url if proxy is None else hdfs.through(proxy)
    return TableAddress(warehouse, "db.t", {**hdfs.cluster.options(), **options})


def run(
    hdfs: HdfsFolder,
    proxy: RpcProxy | None = None,
    *,
    shift: timedelta = timedelta(),
    runner: TaskRunner | None = None,
    options: Mapping[str, str] | None = None,
    **request: Any,
) -> Report:
    """Compacts the table fully."""
    where = address(hdfs, proxy, **(options or {}))
    given = Request(where, Selection(strategy=Strategy.FULL), **request)
    return compact(given, runner or InlineRunner(), ShiftedClock(shift))


def assert_one_wins_each_round(hdfs: HdfsFolder, lake: Path, rounds: int) -> None:
    """Has two processes commit to a small table at the same moments."""
    local = SmallTable(lake).create()
    local.append()
    hdfs.publish(lake)
    first = local.numbers[-1]
    barrier = CONTEXT.Barrier(2)
    racers = {who: started(race, address(hdfs), who, barrier, rounds) for who in ("left", "right")}

    outcomes: dict[str, Outcomes] = {}
    for who, (process, told) in racers.items():
        outcomes[who] = told.get(timeout=DEADLINE)
        process.join(DEADLINE)

    for number in range(first + 1, first + rounds + 1):
        won = {who for who in racers if outcomes[who][number] == "OURS"}
        lost = {who for who in racers if outcomes[who][number] == "OUTRUN"}
        assert (len(won), len(lost)) == (1, 1)
        text = hdfs.files.read(f"{hdfs.url}/db.db/t/snapshot/snapshot-{number}", 1 << 20)
        assert json.loads(text)["deltaManifestList"] == mark(*won, number)
    assert not [name for name in hdfs.names() if ".lithify-" in name]
