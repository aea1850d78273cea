"""What is kept between looks comes back as it was, or not at all; old things go when there are too many."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from lithify.tables.model import DataFile, OrderKey
from lithify.tables.paimon.kept import History, KeptTable, KeptTables, SnapshotMark, encode
from support.cases import case

FILE = DataFile(
    "data-1", 100, 10, 0, OrderKey(b"\x00\xff"), OrderKey(b"\x80"), 1, 2, 1_767_225_600_000, None, 3
)
TABLE = KeptTable(
    root="/w/db.db/t",
    uuid="schema-1",
    schema_id=3,
    newest=SnapshotMark(7, "manifest-list-7", 1_767_225_600_123),
    index_types=frozenset({"HASH"}),
    buckets={(b"\x00\x01", 2): {("data-1", 0): FILE}},
    history=History(4, 1_767_225_600_000, {5: 100, 7: 2**40}),
)
EMPTY = KeptTable("/w/db.db/t", "schema-1", 0, None)


def kept_in(folder: Path, limit: int = 1 << 20) -> KeptTables:
    return KeptTables(folder / "kept", limit)


def only_file(folder: Path) -> Path:
    (path,) = (folder / "kept").iterdir()
    return path


@pytest.mark.parametrize("table", [case(TABLE, id="with files"), case(EMPTY, id="without a snapshot")])
def test_a_table_comes_back_as_it_was(table: KeptTable, tmp_path: Path) -> None:
    kept_in(tmp_path).save("some/key", table)
    assert kept_in(tmp_path).load("some/key") == table
    assert kept_in(tmp_path).load("another") is None


def changed(**fields: object) -> bytes:
    return zlib.compress(json.dumps({**json.loads(zlib.decompress(encode(TABLE))), **fields}).encode())


@pytest.mark.parametrize(
    "damage",
    [
        case(lambda _: b"", id="empty"),
        case(lambda data: data[: len(data) // 2], id="cut off"),
        case(lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], id="a bit flipped"),
        case(lambda _: b"\x00" * 500, id="zeros, as after a crash of the machine"),
        case(lambda _: zlib.compress(b"no JSON"), id="no JSON"),
        case(lambda _: zlib.compress(b"[1]"), id="JSON of another kind"),
        case(lambda _: zlib.compress(b"\xff\xfe"), id="no text"),
        case(lambda _: changed(format=0), id="of an older release"),
        case(lambda _: changed(format=1, buckets=[["zz", 0, []]]), id="a partition that is no hex"),
        case(lambda _: changed(buckets=[["00", 0, [[1, 2]]]]), id="a file with few fields"),
        case(lambda _: changed(newest=[1]), id="a snapshot with few fields"),
    ],
)
def test_what_cannot_be_read_is_as_good_as_none(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.save("key", TABLE)
    path = only_file(tmp_path)
    path.write_bytes(damage(path.read_bytes()))

    assert kept.load("key") is None

    kept.save("key", TABLE)
    assert kept.load("key") == TABLE


def test_saving_replaces_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.save("key", TABLE)
    before = only_file(tmp_path).stat().st_ino
    kept.save("key", EMPTY)
    assert only_file(tmp_path).stat().st_ino != before, "the file is never written in place"
    assert kept.load("key") == EMPTY


def test_saving_where_that_cannot_be_is_no_error(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    (tmp_path / "kept").rmdir()
    kept.save("key", TABLE)
    kept.use("key", 1.0)
    assert (kept.load("key"), kept.used_at("key")) == (None, None)


def test_least_recently_used_go_first(tmp_path: Path) -> None:
    size = len(encode(TABLE))
    kept = kept_in(tmp_path, limit=3 * size + size // 2)
    for age, key in enumerate("abc"):
        kept.save(key, TABLE)
        kept.use(key, 1000.0 + age)
    kept.use("a", 2000.0)

    kept.save("d", TABLE)

    assert [key for key in "abcd" if kept.load(key)] == ["a", "c", "d"]


def test_a_table_that_is_too_large_alone_is_kept_all_the_same(tmp_path: Path) -> None:
    kept = kept_in(tmp_path, limit=1)
    kept.save("key", TABLE)
    assert kept.load("key") == TABLE


def test_uses_are_noted(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.save("key", TABLE)
    kept.use("key", 1_767_225_600.5)
    assert kept.used_at("key") == 1_767_225_600.5
