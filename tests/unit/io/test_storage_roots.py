"""Whatever path a storage is given: outside its roots it reads, writes and deletes nothing."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.errors import CorruptTable, LithifyError
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.access.object_file_io import ObjectFileIO
from lithify.io.objects.s3 import read_settings
from lithify.io.storage import Storage

KEYS = {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key": "a", "s3.secret-key": "b", "s3.region": "r"}

USES: dict[str, Callable[[Storage, str], object]] = {
    "open": lambda storage, path: storage.open(path),
    "create": lambda storage, path: storage.create(path),
    "read_text": lambda storage, path: storage.read_text(path),
    "write_text": lambda storage, path: storage.write_text(path, "other"),
    "create_text": lambda storage, path: storage.create_text(path, "other"),
    "delete_text": lambda storage, path: storage.delete_text(path, lambda _: True),
    "delete": lambda storage, path: storage.delete(path),
    "delete_all": lambda storage, path: storage.delete_all([path]),
    "exists": lambda storage, path: storage.exists(path),
    "list": lambda storage, path: storage.list(path),
    "files_below": lambda storage, path: list(storage.files_below(path)),
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table's folder with a file, beside another one with a file."""
    for name in ("table", "tables", "other"):
        (tmp_path / name / "bucket-0").mkdir(parents=True)
        (tmp_path / name / "bucket-0" / "file").write_text(name)
    return tmp_path / "table"


@pytest.fixture
def storage(table: Path) -> Storage:
    return storage_of(LocalFileIO(), (f"{table}/",))


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(
    "path",
    [
        "../other/bucket-0/file",
        "../tables/bucket-0/file",
        "bucket-0/../../other/bucket-0/file",
        "bucket-0/../bucket-0/file",
        "./bucket-0/file",
        "link/bucket-0/file",
        "../other/new",
        "link/new",
        "",
    ],
)
def test_nothing_outside_is_touched(
    storage: Storage, table: Path, path: str, use: Callable[[Storage, str], object]
) -> None:
    other = table.parent / "other"
    (table / "link").symlink_to(other)
    before = files(table.parent)
    with pytest.raises(CorruptTable):
        use(storage, f"{table}/{path}" if path else f"file:{other}/bucket-0/file")
    assert files(table.parent) == before


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_lies_inside_is_no_problem(
    storage: Storage, table: Path, use: Callable[[Storage, str], object]
) -> None:
    use(storage, f"{table}/bucket-0" if use is USES["files_below"] else f"{table}/bucket-0/file")


@pytest.mark.parametrize("name", ["delete", "delete_text"])
def test_a_storage_without_roots_deletes_nothing(table: Path, name: str) -> None:
    with pytest.raises(CorruptTable):
        USES[name](storage_of(LocalFileIO()), f"{table}/bucket-0/file")
    assert (table / "bucket-0" / "file").exists()


def test_only_regular_files_are_deleted(storage: Storage, table: Path) -> None:
    (table / "folder").mkdir()
    (table / "link").symlink_to(table / "bucket-0" / "file")
    os.mkfifo(table / "pipe")
    for name in ("folder", "link", "pipe"):
        with pytest.raises(CorruptTable):
            storage.delete(f"{table}/{name}")
    assert {"folder", "link", "pipe"} <= {path.name for path in table.iterdir()}


def test_no_link_is_followed_though_it_stays_inside(storage: Storage, table: Path) -> None:
    (table / "link").symlink_to(table / "bucket-0")
    with pytest.raises(CorruptTable):
        storage.delete(f"{table}/link/file")
    assert (table / "bucket-0" / "file").exists()


def test_files_that_are_gone_are_fine(storage: Storage, table: Path) -> None:
    storage.delete(f"{table}/bucket-0/gone")
    storage.delete(f"{table}/bucket-9/gone")


def test_many_files_are_deleted_or_none_if_one_lies_outside(storage: Storage, table: Path) -> None:
    inside = [f"{table}/bucket-0/file", f"{table}/bucket-0/gone"]
    with pytest.raises(CorruptTable):
        storage.delete_all([*inside, f"{table}/../other/file"])
    assert (table / "bucket-0" / "file").exists()
    storage.delete_all(inside)
    assert not (table / "bucket-0" / "file").exists()


def test_files_below_are_regular_ones_in_real_directories(storage: Storage, table: Path) -> None:
    (table / "bucket-0" / "deeper").mkdir()
    (table / "bucket-0" / "deeper" / "file").write_text("")
    (table / "bucket-0" / "link").symlink_to(table.parent / "other" / "bucket-0" / "file")
    (table / "bucket-0" / "loop").symlink_to(table)
    found = set(storage.files_below(f"{table}/bucket-0"))
    assert found == {f"{table}/bucket-0/file", f"{table}/bucket-0/deeper/file"}
    assert list(storage.files_below(f"{table}/bucket-1")) == []


def test_roots_may_be_reached_through_links(table: Path) -> None:
    link = table.parent / "link"
    link.symlink_to(table)
    storage = storage_of(LocalFileIO(), (f"file://{link}",))
    storage.delete(f"file://{link}/bucket-0/file")
    assert not (table / "bucket-0" / "file").exists()


def test_links_in_a_circle_lead_nowhere(storage: Storage, table: Path) -> None:
    (table / "a").symlink_to(table / "b")
    (table / "b").symlink_to(table / "a")
    with pytest.raises((LithifyError, FileNotFoundError)):
        storage.open(f"{table}/a/file")


def test_roots_go_where_the_storage_goes(storage: Storage) -> None:
    assert pickle.loads(pickle.dumps(storage)).roots == storage.roots


@given(st.lists(st.sampled_from(["..", ".", "", "bucket-0", "other", "table", "file", "link"]), max_size=7))
def test_no_spelling_of_a_path_leads_out(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    above = tmp_path_factory.mktemp("tables")
    for name in ("table", "other"):
        (above / name / "bucket-0").mkdir(parents=True)
        (above / name / "bucket-0" / "file").write_text(name)
    (above / "table" / "link").symlink_to(above / "other")
    storage = storage_of(LocalFileIO(), (str(above / "table"),))
    for name in ("delete", "write_text", "create"):
        with suppress(LithifyError, FileNotFoundError):
            USES[name](storage, "/".join([str(above / "table"), *parts]))
        assert files(above / "other") == {"bucket-0/file": "other"}


class TestOnS3:
    ROOT = "s3://bucket/lake/db.db/t"

    def storage(self) -> Storage:
        return storage_of(ObjectFileIO(read_settings(KEYS)), (self.ROOT, "s3://elsewhere/t"))

    @pytest.mark.parametrize(
        "path",
        [
            "s3://bucket/lake/db.db/t2/file",
            "s3://bucket/lake/db.db/t/../t2/file",
            "s3://bucket/lake/db.db/t/./file",
            "s3://other/lake/db.db/t/file",
            "s3://bucket/lake/db.db",
            "s3://elsewhere/file",
            "file:/lake/db.db/t/file",
            "/lake/db.db/t/file",
        ],
    )
    @pytest.mark.parametrize("name", USES)
    def test_nothing_outside_is_asked_for(self, path: str, name: str) -> None:
        with pytest.raises(CorruptTable):
            USES[name](self.storage(), path)

    @pytest.mark.parametrize(
        "path", [f"{ROOT}/file", "s3://elsewhere/t/a/b", "s3a://bucket/lake//db.db/t/file"]
    )
    def test_what_lies_inside_is(self, path: str) -> None:
        self.storage().check_inside(path)


@pytest.mark.parametrize(
    ("place", "is_others"),
    [
        ("lake/db.db/t", False),
        ("lake/db.db/t/outside", False),
        ("lake/db.db/u", True),
        ("lake/db.db/t2", True),
        ("lake/db.db", True),
        ("lake/other.db", True),
        ("lake/other.db/t/bucket-0", True),
        ("lake", True),
        ("", True),
        ("lake/outside", False),
        ("outside", False),
        ("lake2/db.db/t", False),
    ],
)
def test_where_other_tables_are(tmp_path: Path, place: str, is_others: bool) -> None:
    local = storage_of(LocalFileIO())
    assert local.is_of_another_table(f"file:{tmp_path}/{place}", f"{tmp_path}/lake/db.db/t") is is_others
    remote = storage_of(ObjectFileIO(read_settings(KEYS)))
    assert remote.is_of_another_table(f"s3://b/{place}", "s3a://b/lake/db.db/t") is is_others


def test_a_link_to_another_table_is_that_table(tmp_path: Path) -> None:
    (tmp_path / "lake" / "db.db" / "u").mkdir(parents=True)
    (tmp_path / "innocent").symlink_to(tmp_path / "lake" / "db.db" / "u")
    assert storage_of(LocalFileIO()).is_of_another_table(
        f"file:{tmp_path}/innocent", f"{tmp_path}/lake/db.db/t"
    )


def test_what_is_not_a_file_is_not_opened(storage: Storage, table: Path) -> None:
    os.mkfifo(table / "pipe")
    (table / "cycle").symlink_to(table / "cycle")

    for name, problem in (("pipe", "no regular file"), ("cycle", "no path")):
        with pytest.raises(CorruptTable, match=problem):
            storage.open(f"{table}/{name}")


def test_a_link_that_leads_nowhere_yet_is_resolved(storage: Storage, table: Path) -> None:
    (table / "out").symlink_to(table.parent / "other" / "new")
    (table / "in").symlink_to(table / "new")

    with pytest.raises(CorruptTable, match="symbolic link"):
        storage.open(f"{table}/out")
    with pytest.raises(FileNotFoundError):
        storage.open(f"{table}/in")
