"""ORC files of attackers are refused by their footers, in little memory and before a library gets them."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from lithify.errors import CorruptTable
from lithify.files.orc.chunks import (
    LZ4,
    MOST_FOOTER,
    NONE,
    SNAPPY,
    ZLIB,
    ZSTD,
)
from lithify.files.orc.footers import OrcFooters
from lithify.files.orc.time_zones import ahead_in_1970
from support.data_files import local_storage
from support.orc_files import encoded

INT, STRUCT = 3, 12
BLOCK = 1 << 18
COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    ZLIB: lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS),
    SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
    LZ4: lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False)),
    ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
}


def kind(root: int, parts: tuple[int, ...] = (), names: tuple[bytes, ...] = ()) -> bytes:
    """A type in a footer."""
    fields = [encoded(1, root), *(encoded(2, part) for part in parts), *(encoded(3, name) for name in names)]
    return encoded(4, b"".join(fields))


def stripe(
    rows: int = 1,
    length: int = 5,
    types: int = 2,
    streams: tuple[tuple[int, int], ...] = ((1, 5),),
    entries: int = 0,
) -> tuple[bytes, bytes]:
    """The bytes of a stripe, and what a footer says of it."""
    told = b"".join(
        encoded(1, encoded(1, 1) + encoded(2, column) + encoded(3, size)) for column, size in streams
    ) + b"".join(encoded(2, encoded(1, 3 if entries else 0) + encoded(2, entries)) for _ in range(types))
    place = encoded(1, 3) + encoded(2, 0) + encoded(3, length) + encoded(4, len(told)) + encoded(5, rows)
    return bytes(length) + told, encoded(3, place)


def file(footer: bytes, before: bytes = b"", codec: int = NONE, block: int = BLOCK) -> bytes:
    """A file with a footer, compressed already."""
    postscript = b"".join(
        [encoded(1, len(footer)), encoded(2, codec), encoded(3, block), encoded(8000, b"ORC")]
    )
    return b"ORC" + before + footer + postscript + bytes([len(postscript)])


TABLE = kind(STRUCT, (1,), (b"n",)) + kind(INT)
DATA, PLACE = stripe()


def chunk(data: bytes) -> bytes:
    return (len(data) << 1).to_bytes(3, "little") + data


def chain(depth: int) -> bytes:
    return b"".join(kind(STRUCT, (at + 1,), (b"n",)) for at in range(depth)) + kind(INT)


def sharing(levels: int) -> bytes:
    """Types each of which is two parts of the one before: a file of 1 kB would describe 2^40 columns."""
    return b"".join(kind(STRUCT, (at + 1, at + 1), (b"a", b"b")) for at in range(levels)) + kind(INT)


def whole(place: bytes = PLACE, types: bytes = TABLE, rows: int = 1) -> bytes:
    return types + place + encoded(6, rows)


def of_stripe(**changes: object) -> bytes:
    data, place = stripe(**changes)  # type: ignore[arg-type]
    return file(whole(place), data)


HOSTILE = {
    "many chunks": file(chunk(b"\0") * 100_000, codec=ZLIB),
    "empty chunks": file(chunk(b"") * 10, codec=ZLIB),
    "a chunk that is cut off": file(b"\xff\xff\xff123", codec=ZLIB),
    "a huge block": file(chunk(b"\0"), codec=LZ4, block=1 << 40),
    "a footer of everything": file(b"")[:-9] + encoded(1, 1 << 60) + encoded(8000, b"ORC") + b"\x10",
    "a number without end": file(b"\x08" + b"\xff" * (1 << 20)),
    "millions of fields": file(b"\x08\x00" * (2 << 20)),
    "no types": file(encoded(6, 0)),
    "deep types": file(whole(b"", chain(5000), 0)),
    "shared types": file(whole(b"", sharing(40), 0)),
    "a type within itself": file(whole(b"", kind(STRUCT, (0,), (b"n",)), 0)),
    "a type of no kind": file(whole(b"", kind(STRUCT, (1,), (b"n",)) + kind(99), 0)),
    "a root that is no struct": file(whole(b"", kind(INT), 0)),
    "a column without a name": file(whole(b"", kind(STRUCT, (1,)) + kind(INT), 0)),
    "rows of no stripe": file(whole(b"", rows=1 << 40)),
    "two stripes in one place": file(whole(PLACE + PLACE, rows=2), DATA),
    "a stripe behind the end": file(whole(encoded(3, encoded(1, 3) + encoded(3, 1 << 40) + encoded(5, 1)))),
    "streams longer than their stripe": of_stripe(streams=((1, 6),)),
    "streams shorter than their stripe": of_stripe(streams=((1, 4),)),
    "a stream twice": of_stripe(streams=((1, 2), (1, 3))),
    "a stream of no column": of_stripe(streams=((7, 5),)),
    "too few encodings": of_stripe(types=1),
    "a dictionary of numbers": of_stripe(entries=1),
}


def problem_of(folder: Path, content: bytes) -> CorruptTable:
    path = folder / "hostile.orc"
    path.write_bytes(content)
    with pytest.raises(CorruptTable) as caught:
        OrcFooters(local_storage(folder)).of(str(path))
    assert caught.value.path == str(path)
    return caught.value


def test_honest_file_has_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "honest.orc"
    path.write_bytes(file(whole(), DATA))

    assert OrcFooters(local_storage(tmp_path)).of(str(path)).rows == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_footers_are_believed_within_bounds(tmp_path: Path, name: str) -> None:
    problem_of(tmp_path, HOSTILE[name])


@pytest.mark.parametrize("codec", COMPRESS)
def test_footer_that_inflates_is_refused_in_little_memory(tmp_path: Path, codec: int) -> None:
    """A file of 43 kB took 2.1 GiB."""
    bomb = file(chunk(COMPRESS[codec](bytes(64 << 20))), codec=codec)
    blocks = file(chunk(COMPRESS[codec](bytes(BLOCK))) * 400, codec=codec)
    for content in (bomb, blocks):
        tracemalloc.start()
        try:
            problem_of(tmp_path, content)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert most < 4 * MOST_FOOTER + 2 * len(content)


@pytest.mark.parametrize("codec", COMPRESS)
def test_footer_that_cannot_be_decompressed_is_damage(tmp_path: Path, codec: int) -> None:
    problem_of(tmp_path, file(chunk(b"\xff\xfe\xfd" * 9), codec=codec))


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "America", "a\0b", "x" * (1 << 20), "Nowhere"]
)
def test_time_zones_that_are_none_are_not_looked_up_elsewhere(name: str) -> None:
    with pytest.raises(LookupError):
        ahead_in_1970(name)
