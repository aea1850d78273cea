"""REST catalogs whose tables are on a store: the server commits, and may hand out the keys to the files."""

from __future__ import annotations

import time

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.server import ACCESS_KEY, SECRET_KEY
from infrastructure.objectstore.tables import java_table
from infrastructure.oracle.client import Oracle
from lithify.engine.run.driver import Request, compact
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.rest_server import WAREHOUSE, RestServer
from support.runs import ShiftedClock, ShippingRunner
from support.tables import journals, stray_files

pytestmark = pytest.mark.oracle

KEYS = {"S3": ("s3.access-key", "s3.secret-key"), "OSS": ("fs.oss.accessKeyId", "fs.oss.accessKeySecret")}
TOKEN_KEYS = {"S3": ("fs.s3.accessKeyId", "fs.s3.accessKeySecret"), "OSS": KEYS["OSS"]}


@pytest.mark.stores("s3", "oss")
@pytest.mark.parametrize("gives_tokens", [False, True], ids=["keys of the client", "keys of the server"])
def test_the_server_commits_and_java_reads_the_same_rows(
    oracle: Oracle, bucket: Bucket, gives_tokens: bool
) -> None:
    table, kind = java_table(oracle, bucket), bucket.server.kind
    rows = oracle.read(table)
    reach = {
        key: value for key, value in bucket.options().items() if not (gives_tokens and key in KEYS[kind])
    }
    where = {"path": f"{bucket.url}/lake/db.db/t"}
    token = dict(zip(TOKEN_KEYS[kind], (ACCESS_KEY, SECRET_KEY), strict=True))
    expires = int(time.time() * 1000) + 2 * 3_600_000

    with RestServer(bucket.folder / "lake", gives_tokens=gives_tokens, table_fields=where) as server:
        server.canned["token"] = 200, {"token": token, "expiresAtMillis": expires}
        address = TableAddress(WAREHOUSE, "db.t", {**server.options, **reach})
        report = compact(
            Request(address, Selection(strategy=Strategy.FULL)), ShippingRunner(), ShiftedClock()
        )

    assert report.status == "Compacted"
    assert len(server.received) == 1
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}
    assert (stray_files(oracle, table), journals(table)) == (set(), set())
