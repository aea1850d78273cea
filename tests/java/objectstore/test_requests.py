"""How many requests things take on S3: each costs money and a round trip."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import S3Proxy, fail_before
from infrastructure.objectstore.tables import IMPATIENT, address, run, small_table
from lithify.clock import SystemClock
from lithify.errors import StorageUnavailable
from lithify.files.parquet.footers import MOST_FETCHED, Footers
from lithify.formats.iceberg.rewriting.place_files import StoredPlaces, write_places
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.access.object_file_io import ObjectFileIO
from lithify.formats.paimon.catalog.connecting import list_tables
from lithify.formats.paimon.observing.observer import open_observer
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.observing import ObservationRequest
from lithify.io.objects.s3 import read_settings
from lithify.io.storage import NewFile, Storage

MIB = 1 << 20


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server) as started:
        yield started


@pytest.fixture
def storage(s3: Bucket, proxy: S3Proxy) -> Storage:
    return storage_of(ObjectFileIO(read_settings({**s3.options(proxy.endpoint), **IMPATIENT})), (s3.url,))


def test_a_look_at_an_unchanged_table_is_one_small_request(
    s3: Bucket, proxy: S3Proxy, tmp_path: Path
) -> None:
    small_table(s3)
    watch = open_observer(tmp_path / "kept", MIB, SystemClock(UTC))
    where = address(s3, proxy.endpoint)
    first = watch.observe(ObservationRequest(where, "key"))
    assert first is not None
    seen = {"known_uuid": first.table_uuid, "known_snapshot": first.snapshot}
    proxy.counted()

    again = watch.observe(ObservationRequest(where, "key", **seen))  # type: ignore[arg-type]
    asked = list(proxy.asked)

    assert again is None
    assert proxy.counted() == {"GET": 1}
    assert asked[0].key.endswith("/snapshot/snapshot-3")
    assert ("range", "bytes=0-0") in {(name.lower(), value) for name, value in asked[0].headers}


def test_a_look_at_a_table_with_one_more_snapshot_reads_no_more_than_that(
    s3: Bucket, proxy: S3Proxy, tmp_path: Path
) -> None:
    table = small_table(s3)
    watch = open_observer(tmp_path / "kept", MIB, SystemClock(UTC))
    where = address(s3, proxy.endpoint)
    first = watch.observe(ObservationRequest(where, "key"))
    assert first is not None
    table.append("a")
    proxy.counted()

    look = ObservationRequest(where, "key", known_uuid=first.table_uuid, known_snapshot=first.snapshot)
    found = watch.observe(look)

    assert found is not None
    assert found.snapshot == "3"
    assert not any("/bucket-" in one.key for one in proxy.asked), "no look reads a data file"
    counted = proxy.counted()
    assert counted.total() <= 12
    assert set(counted) <= {"GET", "LIST"}


@pytest.mark.parametrize("objects", [0, 3, 2500])
def test_a_listing_is_one_request_for_a_thousand_names(
    s3: Bucket, proxy: S3Proxy, storage: Storage, objects: int
) -> None:
    folder = s3.folder / "many"
    folder.mkdir()
    for number in range(objects):
        (folder / f"file-{number}").touch()
    (s3.folder / "many-others").mkdir()
    (s3.folder / "many-others" / "file").touch()

    listed = storage.list(f"{s3.url}/many")

    assert len({file.name for file in listed}) == len(listed) == objects
    assert proxy.counted() == {"LIST": max(1, -(-objects // 1000))}


def test_small_files_are_one_request_each(s3: Bucket, proxy: S3Proxy, storage: Storage) -> None:
    path = f"{s3.url}/some/folder/f"
    steps = {
        "exists not": (lambda: storage.exists(path), False),
        "reads nothing": (lambda: storage.read_text(path), None),
        "creates": (lambda: storage.create_text(path, "one"), True),
        "creates not": (lambda: storage.create_text(path, "two"), False),
        "reads": (lambda: storage.read_text(path), "one"),
        "writes": (lambda: storage.write_text(path, "three"), None),
        "reads again": (lambda: storage.read_text(path), "three"),
        "exists": (lambda: storage.exists(path), True),
        "deletes": (lambda: storage.delete(path), None),
        "deletes nothing": (lambda: storage.delete(path), None),
    }
    for step, (action, wanted) in steps.items():
        assert action() == wanted, step
        assert proxy.counted().total() == 1, step
    assert [each.name for each in s3.folder.rglob("*") if each.is_file()] == []


def test_an_empty_object_exists(s3: Bucket, storage: Storage) -> None:
    (s3.folder / "empty").touch()

    assert storage.exists(f"{s3.url}/empty")
    assert storage.open(f"{s3.url}/empty").read() == b""


def test_opening_a_table_takes_few(s3: Bucket, proxy: S3Proxy) -> None:
    small_table(s3)

    table = open_table(address(s3, proxy.endpoint))

    assert proxy.counted().total() <= 6
    assert table.snapshots.latest() is not None
    assert proxy.counted() == {"GET": 3}
    assert list_tables(f"{s3.url}/lake", s3.options(proxy.endpoint)) == ("db.t",)
    assert proxy.counted().total() <= 5


@pytest.mark.parametrize("columns", [4, 60])
def test_a_data_file_is_read_in_few_large_pieces(
    s3: Bucket, proxy: S3Proxy, storage: Storage, columns: int
) -> None:
    """Whether it has few large columns or many small ones."""
    rows = 4_000_000 // columns
    numbers = np.random.default_rng(1).integers(0, 1 << 40, (columns, rows))
    table = pa.table({f"c{number}": numbers[number] for number in range(columns)})
    pq.write_table(table, s3.folder / "f", compression="none", use_dictionary=False, data_page_size=MIB // 4)
    size = (s3.folder / "f").stat().st_size
    footers = Footers(storage, MOST_FETCHED)
    path = f"{s3.url}/f"
    how = footers.fetching(path)
    proxy.counted()

    with storage.open(path, size, how) as source:
        file = pq.ParquetFile(source, metadata=footers.of(path), buffer_size=64 << 10, pre_buffer=False)
        batches = list(file.iter_batches(10_000, use_threads=False))

    assert pa.Table.from_batches(batches).equals(table)
    assert proxy.counted().total() <= -(-size // MOST_FETCHED) + columns // 8 + 1
    assert footers.overhead(path) >= how.kept


def test_a_run_writes_no_more_than_it_must(s3: Bucket, proxy: S3Proxy) -> None:
    small_table(s3)

    report = run(s3, proxy.endpoint)

    assert report.status == "Compacted"
    counted = proxy.counted()
    data = sum(group.after.files for group in report.groups)
    # the probe twice, the journal, manifest and lists, the snapshot, the hint, the journal that is kept
    assert counted["PUT"] == data + 2 + 1 + 3 + 1 + 1 + 1
    assert counted["DELETE"] == 2


class TestUploads:
    """What is written in parts is there when it is finished; what is given up leaves nothing."""

    @pytest.fixture(autouse=True)
    def all_requests(self, proxy: S3Proxy) -> None:
        proxy._concerns = lambda asked: "partNumber" in asked.target

    def left(self, s3: Bucket) -> list[Path]:
        """Objects, and parts of unfinished ones."""
        return [path for path in s3.folder.rglob("*") if path.is_file()]

    @pytest.mark.parametrize("mib", [0, 1, 40])
    def test_a_file_appears_whole_when_it_is_closed(self, s3: Bucket, storage: Storage, mib: int) -> None:
        data = os.urandom(MIB)
        new = storage.create(f"{s3.url}/f")
        for _ in range(mib):
            new.sink.write(data)
        assert new.sink.tell() == mib * MIB
        assert not (s3.folder / "f").exists()

        new.sink.close()

        assert (s3.folder / "f").read_bytes() == data * mib
        assert self.left(s3) == [s3.folder / "f"]

    @pytest.mark.parametrize("mib", [0, 1, 40])
    @pytest.mark.parametrize("finished", [True, False], ids=["finished", "unfinished"])
    def test_an_upload_that_is_given_up_leaves_nothing(
        self, s3: Bucket, storage: Storage, mib: int, finished: bool
    ) -> None:
        new = storage.create(f"{s3.url}/f")
        for _ in range(mib):
            new.sink.write(os.urandom(MIB))
        if finished:
            new.sink.close()

        new.give_up()

        assert self.left(s3) == []

    def test_a_forgotten_upload_leaves_nothing(self, s3: Bucket, storage: Storage) -> None:
        new = storage.create(f"{s3.url}/f")
        new.sink.write(os.urandom(MIB))

        del new
        gc.collect()

        assert self.left(s3) == []

    def test_a_part_that_fails(self, s3: Bucket, storage: Storage, proxy: S3Proxy) -> None:
        proxy.always = fail_before
        new = storage.create(f"{s3.url}/f")
        with pytest.raises(StorageUnavailable):
            self.write_much(new)

        new.give_up()

        assert self.left(s3) == []
        assert any(asked.method == "DELETE" and "uploadId" in asked.target for asked in proxy.asked)

    def write_much(self, new: NewFile) -> None:
        for _ in range(64):
            new.sink.write(os.urandom(MIB))
        new.sink.close()


def test_places_of_rows_are_written_in_one_request_and_read_once(
    s3: Bucket, storage: Storage, proxy: S3Proxy, tmp_path: Path
) -> None:
    places, path = np.random.default_rng(1).permutation(50_000).astype(np.int32), f"{s3.url}/places.parquet"
    proxy.counted()

    size = write_places(storage, path, len(places), iter([places]))
    written = proxy.counted()
    stored = StoredPlaces(storage, path, size, len(places), tmp_path / "places")
    first = np.array(stored.slab(0))
    read = proxy.counted()
    second = np.array(stored.slab(0))

    assert (written, read, proxy.counted()) == ({"PUT": 1}, {"GET": 1}, {})
    assert np.array_equal(first, places)
    assert np.array_equal(second, places)
