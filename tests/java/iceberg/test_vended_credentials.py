"""Keys that a REST server vends end during a run, several times: driver and tasks ask for new ones."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from itertools import count
from threading import Event

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from infrastructure.iceberg import proxy as rest
from infrastructure.iceberg.catalogs import CatalogAddress, fresh_name
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from infrastructure.objectstore import proxy as s3
from infrastructure.objectstore.server import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from lithify.clock import Clock, SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Task

CLOCK = SystemClock(UTC)
LIFETIME = 3.0
"""Of vended keys, in seconds."""
FORBIDDEN = s3.Answered(403, (), b"<Error><Code>ExpiredToken</Code><Message>it has ended</Message></Error>")


@dataclass
class Vending:
    """A server of tables that vends keys, and a store that refuses them once they have ended."""

    store: s3.S3Proxy | None = None
    ends: dict[str, float] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    async def vend(self, asked: rest.Asked, forward: rest.Forward) -> rest.Answered | None:
        """Adds new keys to a loaded table."""
        answered = await forward()
        if asked.method != "GET" or "/tables/" not in asked.path or answered.status != 200:
            return answered
        found = json.loads(answered.body)
        found["config"] = {**(found.get("config") or {}), **self._keys()}
        kept = tuple(pair for pair in answered.headers if pair[0].lower() != "content-encoding")
        return rest.Answered(200, kept, json.dumps(found).encode())

    def check(self, asked: s3.Asked, forward: s3.Forward) -> s3.Answered | None:
        """Refuses requests with keys that have ended, or with none that were vended."""
        del forward
        token = {name.lower(): value for name, value in asked.headers}.get("x-amz-security-token", "")
        if time.time() > self.ends.get(token, 0.0):
            self.refused.append(token)
            return FORBIDDEN
        assert self.store is not None
        return self.store.forward(signed_again(asked))

    def wait_for_the_end(self) -> None:
        """Returns once all keys that were vended have ended."""
        while time.time() <= max(self.ends.values()):
            Event().wait(0.05)

    def _keys(self) -> dict[str, str]:
        assert self.store is not None
        token, end = f"token-{next(self.numbers)}", time.time() + LIFETIME
        self.ends[token] = end
        return {
            "s3.endpoint": self.store.endpoint,
            "s3.path-style-access": "true",
            "client.region": REGION,
            "s3.access-key-id": ACCESS_KEY,
            "s3.secret-access-key": SECRET_KEY,
            "s3.session-token": token,
            "s3.session-token-expires-at-ms": str(int(end * 1000)),
        }


def signed_again(asked: s3.Asked) -> s3.Asked:
    """A request as the server's only user signs it: the server knows no session tokens."""
    dropped = {"authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"}
    headers = {name.lower(): value for name, value in asked.headers if name.lower() not in dropped}
    request = AWSRequest(asked.method, f"http://{headers['host']}{asked.target}", headers, asked.body)
    S3SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "s3", REGION).add_auth(request)
    return replace(asked, headers=tuple(request.headers.items()))


@dataclass
class SlowRunner(InlineRunner):
    """Sends tasks to itself one by one, as Spark sends them to executors; before each, all keys end."""

    vending: Vending

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        found: list[TaskResult] = []
        for task in tasks:
            self.vending.wait_for_the_end()
            found += super().run(pickle.loads(pickle.dumps([task])), clock, progress)
        self.vending.wait_for_the_end()
        return found


def test_a_run_outlives_several_lifetimes_of_its_keys(
    spark_iceberg: SparkIceberg, rest_on_s3: CatalogAddress, s3_server: S3Server
) -> None:
    table = SparkTable(spark_iceberg, rest_on_s3, f"{fresh_name('db')}.t").create(3, "bucket")
    table.append_many(4, 40)
    table.delete("id % 10 = 3")
    before = table.read("*", *LINEAGE).combine_chunks()
    vending = Vending()
    with (
        rest.RestProxy(rest_on_s3.pyiceberg["uri"]) as catalog,
        s3.S3Proxy(s3_server, lambda _: True) as store,
    ):
        vending.store = store
        catalog.always, store.always = vending.vend, vending.check
        address = TableAddress(
            "", table.identifier, {"metastore": "rest", "uri": catalog.url}, format="iceberg"
        )
        report = compact(Request(address, Selection(strategy=Strategy.FULL)), SlowRunner(vending), CLOCK)

    assert report.status == "Compacted"
    assert len(report.groups) == 4
    assert len(vending.ends) >= 4
    assert vending.refused == []
    table.run(f"REFRESH TABLE {table.name}")
    assert table.read("*", *LINEAGE).combine_chunks() == before
