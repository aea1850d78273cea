"""The indexes of data files, whoever wrote them, read as Paimon's format says: by column and kind.

Java stores indexes, and the bitmaps of a bitmap index, in the order of hash maps, so both are compared by
what they hold.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Iterable, Mapping
from math import nan
from pathlib import Path
from typing import Any

from pyroaring import BitMap

from infrastructure.oracle.model import DataFile

MAGIC = 1493475289347502
WIDTHS = {
    **dict.fromkeys(["BOOLEAN", "TINYINT"], 1),
    **dict.fromkeys(["INT", "DATE", "FLOAT", "TIME"], 4),
    **dict.fromkeys(["BIGINT", "DOUBLE", "TIMESTAMP", "DECIMAL"], 8),
    "SMALLINT": 2,
}
_NAN = {"FLOAT": struct.pack(">f", nan), "DOUBLE": struct.pack(">d", nan)}


class Reader:
    """Reads big-endian numbers and texts, one after the other."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, size: int) -> bytes:
        self.at += size
        assert self.at <= len(self.data)
        return self.data[self.at - size : self.at]

    def numbers(self, form: str) -> tuple[int, ...]:
        return struct.unpack(f">{form}", self.take(struct.calcsize(f">{form}")))

    def number(self, form: str = "i") -> int:
        return self.numbers(form)[0]

    def text(self) -> str:
        return self.take(self.number("H")).decode()


def stored_indexes(file: DataFile) -> bytes | None:
    """The indexes of a file, embedded in its entry or beside it."""
    if file.embedded_index is not None:
        return b64decode(file.embedded_index)
    beside = [name for name in file.extra_files if name.endswith(".index")]
    folder = Path(file.path.removeprefix("file:")).parent
    return (folder / beside[0]).read_bytes() if beside else None


def columns_and_kinds(file: DataFile) -> set[tuple[str, str]]:
    """Which columns of a file have an index of which kind; those of MAP values are `column[key]`."""
    content = stored_indexes(file)
    found = {} if content is None else indexes_in(content)
    return {(name, kind) for name, kinds in found.items() for kind in kinds}


def assert_same_indexes(pairs: Iterable[tuple[DataFile, DataFile]], types: Mapping[str, str]) -> None:
    """The files of each pair have the same indexes or none, both embedded or both beside the file."""
    for mine, theirs in pairs:
        own, expected = stored_indexes(mine), stored_indexes(theirs)
        assert (own is None) == (expected is None)
        if own is not None and expected is not None:
            assert indexes_in(own).keys() == indexes_in(expected).keys()
            assert comparable(own, types) == comparable(expected, types)
        assert (mine.embedded_index is None) == (theirs.embedded_index is None)
        assert suffixes(mine) == suffixes(theirs)


def suffixes(file: DataFile) -> list[str]:
    """What the names of the files beside a data file have beyond its own."""
    return [name.removeprefix(file.name) for name in file.extra_files]


def indexes_in(content: bytes) -> dict[str, dict[str, bytes]]:
    """The indexes by column and kind."""
    reader = Reader(content)
    magic, version, start, columns = reader.numbers("qiii")
    assert (magic, version) == (MAGIC, 1)
    found: dict[str, dict[str, bytes]] = {}
    for _ in range(columns):
        name = reader.text()
        for _ in range(reader.number()):
            kind = reader.text()
            at, length = reader.numbers("ii")
            assert at >= start
            found.setdefault(name, {})[kind] = content[at : at + length]
    assert reader.number() == 0
    assert reader.at == start
    return found


def comparable(content: bytes, types: Mapping[str, str]) -> Any:
    """The same for two files if they have the same indexes.

    Args:
        content: the indexes of a file.
        types: type of each column by its name; values of maps by `column[key]`.
    """
    return {
        name: {
            kind: bitmap_index(body, width_of(types[name]))
            if kind == "bitmap"
            else _with_one_nan(body, types[name])
            for kind, body in kinds.items()
        }
        for name, kinds in indexes_in(content).items()
    }, len(content)


def _with_one_nan(body: bytes, kind: str) -> bytes:
    # The sign of infinity minus infinity is the processor's choice, and Java's indexes keep it.
    positive = _NAN.get(kind, b"")
    return body.replace(b"\xff" + positive[1:], positive) if positive else body


def width_of(kind: str) -> int | None:
    return WIDTHS.get(kind.partition("(")[0].partition(" ")[0])


def bitmap_index(body: bytes, width: int | None) -> tuple[int, int, dict[bytes | None, list[int]]]:
    """Version, number of rows, and the rows of each value as it is stored."""
    reader = Reader(body)
    version, rows, count, has_nulls = reader.numbers("biib")
    null = reader.numbers("ii" if version == 2 else "i") if has_nulls else ()
    entries = _blocks(reader, width) if version == 2 else _entries(reader, width, count, "i")
    assert len(entries) == count
    found: dict[bytes | None, list[int]] = {
        value: _rows(body, reader.at, *places) for value, places in entries.items()
    }
    if null:
        found[None] = _rows(body, reader.at, *null)
    assert sorted(row for some in found.values() for row in some) == [*range(rows)]
    return version, rows, found


def _value(reader: Reader, width: int | None) -> bytes:
    return reader.take(reader.number() if width is None else width)


def _entries(reader: Reader, width: int | None, count: int, form: str) -> dict[bytes, tuple[int, ...]]:
    return {_value(reader, width): reader.numbers(form) for _ in range(count)}


def _blocks(reader: Reader, width: int | None) -> dict[bytes, tuple[int, ...]]:
    heads = [(_value(reader, width), reader.number()) for _ in range(reader.number())]
    size, start = reader.number(), reader.at
    found: dict[bytes, tuple[int, ...]] = {}
    for value, at in heads:
        assert reader.at == start + at
        block = _entries(reader, width, reader.number(), "ii")
        assert next(iter(block)) == value
        found.update(block)
    assert reader.at == start + size
    return found


def _rows(body: bytes, start: int, offset: int, length: int | None = None) -> list[int]:
    """The rows of a value; a negative offset tells its only one."""
    if offset < 0:
        return [-1 - offset]
    end = None if length is None else start + offset + length
    return list(BitMap.deserialize(body[start + offset : end]))
