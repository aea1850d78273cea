"""Compacts tables on HDFS."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.hdfs.proxy import RpcProxy
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, TaskRunner
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.hdfs.settings import PATIENCE
from support.runs import ShiftedClock

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
