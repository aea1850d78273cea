"""Append tables on S3 whose row groups are copied or whose pages are joined, while requests get lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import (
    Asked,
    S3Proxy,
    Step,
    cut_off,
    fail_before,
    lose_request,
    pass_on,
)
from infrastructure.objectstore.tables import run
from infrastructure.oracle.client import Case, Oracle, Table
from support.copying import copying_from
from support.joining import joining_from
from support.tables import stray_files

pytestmark = pytest.mark.oracle

COLUMNS = {"id": "BIGINT", "ratio": "DOUBLE", "text": "STRING", "tags": "ARRAY<INT>"}
VALUES: dict[str, Case] = {
    "id": {"kind": "sequential"},
    "ratio": {"kind": "random"},
    "text": {"kind": "random", "nulls": 0.1},
    "tags": {"kind": "nested", "items": 2, "of": {"kind": "low", "values": 9}},
}
TROUBLE: list[Step] = [pass_on, fail_before, pass_on, cut_off, pass_on, lose_request, pass_on]


def reads_data(asked: Asked) -> bool:
    return asked.method == "GET" and asked.key.endswith(".parquet")


@pytest.mark.parametrize(
    "way", [joining_from, partial(copying_from, 1)], ids=["small files are joined", "row groups are copied"]
)
def test_rows_are_the_same_although_requests_get_lost(
    oracle: Oracle, s3: Bucket, way: Callable[[], AbstractContextManager[None]]
) -> None:
    table = Table(s3.folder / "lake", "db.t")
    oracle.create_table(table, COLUMNS, options={"bucket": "1", "bucket-key": "id"})
    oracle.generate(table, rows=3_000, commits=6, columns=VALUES)
    rows = oracle.read(table, in_order=True)

    with S3Proxy(s3.server, reads_data) as proxy, way():
        proxy.steps = TROUBLE * 3
        report = run(s3, proxy.endpoint)
        left = len(proxy.steps)

    assert report.status == "Compacted"
    assert report.copied_bytes > 0
    assert left < len(TROUBLE) * 2, "each kind of trouble has happened"
    assert oracle.read(table, in_order=True) == rows
    assert len(oracle.files(table)) == 1
    assert stray_files(oracle, table) == set()
