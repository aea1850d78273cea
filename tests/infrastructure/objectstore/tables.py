"""Tables on a store's server: made where its files are, or published there, and compacted by its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.oracle.client import Oracle, Table
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, TaskRunner
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.objects import azure, gcs, oss
from lithify.io.objects import s3 as of_s3
from support.runs import ShiftedClock
from support.small_tables import SmallTable
from support.tables import make_plain

NAME = "db.t"
IMPATIENT = {each.PATIENCE: "1" for each in (azure, gcs, oss, of_s3)}
"""For tests of what happens when a store does not answer."""


def java_table(oracle: Oracle, s3: Bucket, **how: Any) -> Table:
    """A table that Java has made."""
    table = make_plain(oracle, s3.folder / "lake", **how)
    s3.publish()
    return table


def small_table(s3: Bucket, **how: Any) -> SmallTable:
    """A table that pypaimon has made, with some commits."""
    table = SmallTable(s3.folder / "lake", **how).create()
    for _ in range(2):
        table.append()
    s3.publish()
    return table


def address(s3: Bucket, endpoint: str | None = None, **options: str) -> TableAddress:
    """The table through S3."""
    return TableAddress(f"{s3.url}/lake", NAME, {**s3.options(endpoint), **options})


def run(
    s3: Bucket,
    endpoint: str | None = None,
    *,
    shift: timedelta = timedelta(),
    runner: TaskRunner | None = None,
    options: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    **request: Any,
) -> Report:
    """Compacts the table fully."""
    where = replace(address(s3, endpoint, **(options or {})), overrides=overrides or {})
    given = Request(where, Selection(strategy=Strategy.FULL), **request)
    return compact(given, runner or InlineRunner(), ShiftedClock(shift))
