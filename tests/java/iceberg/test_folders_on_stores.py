"""Tables in folders of each object store: of two committers one wins, and lost answers are found out.

Java's HadoopCatalog does not run here: it needs Hadoop's file systems, which cannot be told the address of an
emulator. The other committers are pyiceberg's metadata in Java's places, and a second one of ours.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import StaticTable

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import (
    Answered,
    Asked,
    Forward,
    S3Proxy,
    Step,
    fail_after,
    fail_before,
    lose_answer,
    lose_request,
    send_twice,
)
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.iceberg.catalog.connecting import open_catalog
from lithify.formats.iceberg.catalog.folders import FolderTables
from lithify.formats.iceberg.catalog.names import parse_name
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.objects.files import ObjectFiles
from lithify.io.objects.stores import settings_for
from support.cases import case
from support.iceberg_on_stores import SCHEMA, copies_of

NAME = "db.t"
_VERSION = re.compile(r"v[0-9]+\.metadata\.json")
ROUNDS = 40


@dataclass(frozen=True)
class FolderTable:
    """A table that pyiceberg writes beside a store, and puts there as Java's HadoopCatalog would.

    Attributes:
        bucket: the store.
        writer: a catalog of its own, which only knows what pyiceberg has written.
    """

    bucket: Bucket
    writer: Catalog

    @property
    def _files(self) -> ObjectFiles:
        return ObjectFiles(settings_for(self.bucket.url, self.bucket.options()))

    def append(self, number: int) -> None:
        """Adds a row, which no reader of the store sees yet."""
        self.writer.load_table(NAME).append(pa.table({"id": [number], "name": [f"row {number}"]}))

    def put(self, version: int) -> None:
        """Puts all that was written into the store, and the newest metadata as a version of the table."""
        location = self.writer.load_table(NAME).metadata_location
        here = self.bucket.folder
        text = Path(location.replace(self.bucket.url, str(here))).read_text("utf-8")
        place = here / "db" / "t" / "metadata" / f"v{version}.metadata.json"
        place.write_text(text, "utf-8")
        bucket, _ = self._files.bucket(self.bucket.url)
        there = {*self._files.names_below(self.bucket.url)}
        for path in here.rglob("*"):
            if path.is_file() and (name := path.relative_to(here).as_posix()) not in there:
                bucket.write(name, path.read_bytes())

    def versions(self) -> list[str]:
        """The versions of the table in the store, in their order."""
        names = (
            name.rpartition("/")[2] for name in self._files.names_below(f"{self.bucket.url}/db/t/metadata")
        )
        return sorted(
            (each for each in names if _VERSION.fullmatch(each)), key=lambda name: (len(name), name)
        )

    def rows(self) -> list[int]:
        """The ids of the newest version in the store."""
        self.bucket.fetch()
        newest = f"{self.bucket.url}/db/t/metadata/{self.versions()[-1]}"
        table = StaticTable.from_metadata(newest, copies_of(self.bucket))
        return sorted(table.scan().to_arrow()["id"].to_pylist())

    def catalog(self) -> FolderTables:
        """The folder, for another committer."""
        found = open_catalog(self.bucket.url, self.bucket.options())
        assert isinstance(found, FolderTables)
        return found

    def compact(self, endpoint: str) -> Report:
        """Compacts the table fully."""
        address = TableAddress(self.bucket.url, NAME, self.bucket.options(endpoint), format="iceberg")
        return compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), SystemClock())


@pytest.fixture
def table(bucket: Bucket, tmp_path: Path) -> FolderTable:
    """Six small files and a version of the table that has them all."""
    place: dict[str, Any] = {"uri": f"sqlite:///{tmp_path}/writer.db", "warehouse": bucket.url}
    writer = load_catalog("writer", type="sql", **place, **copies_of(bucket))
    writer.create_namespace("db")
    writer.create_table(NAME, SCHEMA, location=f"{bucket.url}/db/t")
    made = FolderTable(bucket, writer)
    for number in range(6):
        made.append(number)
    made.put(1)
    return made


def is_commit(asked: Asked) -> bool:
    return asked.method == "PUT" and _VERSION.fullmatch(asked.key.rpartition("/")[2]) is not None


def test_of_two_committers_one_wins_each_round(table: FolderTable) -> None:
    barrier = Barrier(2)

    def race(who: str) -> list[bool]:
        catalog, name, won = table.catalog(), parse_name(NAME), []
        for _ in range(ROUNDS):
            base = catalog.load(name)
            barrier.wait()
            place = catalog.next_location(base, "", "")
            won.append(catalog.swap(name, base, place, json.dumps({"by": who}), lambda: True))
            barrier.wait()
        return won

    with ThreadPoolExecutor(2) as racers:
        left, right = racers.map(race, ("left", "right"))

    assert [sum(pair) for pair in zip(left, right, strict=True)] == [1] * ROUNDS
    table.bucket.fetch()
    metadata = table.bucket.folder / "db" / "t" / "metadata"
    written = [
        json.loads((metadata / f"v{number}.metadata.json").read_text()) for number in range(2, ROUNDS + 2)
    ]
    assert written == [{"by": "left" if won else "right"} for won in left]
    assert table.versions()[-1] == f"v{ROUNDS + 1}.metadata.json"


def test_commit_of_another_before_ours_is_kept(table: FolderTable) -> None:
    def overtake(asked: Asked, forward: Forward) -> Answered | None:
        table.append(6)
        table.put(2)
        return forward()

    with S3Proxy(table.bucket.server, is_commit) as proxy:
        proxy.steps = [overtake]
        report = table.compact(proxy.endpoint)

    assert (report.status, report.commit_tries) == ("Compacted", 2)
    assert table.versions() == [f"v{number}.metadata.json" for number in (1, 2, 3)]
    assert table.rows() == list(range(7))


def test_commit_of_another_after_ours_is_refused(table: FolderTable) -> None:
    catalog, name, refused = table.catalog(), parse_name(NAME), []
    base = catalog.load(name)

    def be_late(asked: Asked, forward: Forward) -> Answered | None:
        answered = forward()
        place = catalog.next_location(base, "", "")
        refused.append(catalog.swap(name, base, place, "theirs", lambda: True))
        return answered

    with S3Proxy(table.bucket.server, is_commit) as proxy:
        proxy.steps = [be_late]
        report = table.compact(proxy.endpoint)

    assert (report.status, report.commit_tries, refused) == ("Compacted", 1, [False])
    assert table.versions() == ["v1.metadata.json", "v2.metadata.json"]
    assert table.rows() == list(range(6))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("steps", "puts"),
    [
        case([lose_answer], 1, id="the answer is lost"),
        case([fail_after], 1, id="500 although it was written"),
        case([send_twice], 1, id="a proxy sent it twice and tells the second answer"),
        case([lose_request], 2, id="the request is lost"),
        case([fail_before], 2, id="500 and not written"),
        case([lose_request, fail_before, lose_answer], 3, id="one after the other"),
    ],
)
def test_what_became_of_a_commit_is_found_out(table: FolderTable, steps: list[Step], puts: int) -> None:
    with S3Proxy(table.bucket.server, is_commit) as proxy:
        proxy.steps = list(steps)
        report = table.compact(proxy.endpoint)
        sent = [asked for asked in proxy.asked if is_commit(asked)]

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    assert len(sent) == puts
    assert all(asked.is_conditional for asked in sent)
    assert len({asked.body for asked in sent}) == 1
    assert table.versions() == ["v1.metadata.json", "v2.metadata.json"]
    assert table.rows() == list(range(6))
