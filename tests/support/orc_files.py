"""ORC files of all codecs and most types, by C++ and by Java, for tests of damage; whose bytes are whose."""

from __future__ import annotations

import tarfile
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc

from infrastructure.paimon_versions.archive import archive_of
from lithify.files.model import FileColumn
from lithify.files.orc.chunks import decompressed
from lithify.files.orc.layout import stripes_of
from lithify.files.orc.protobuf import (
    messages,
    number,
    numbers,
    parse,
)
from lithify.formats.paimon.schema.type_texts import parse_type

CODECS = ("uncompressed", "zlib", "snappy", "lz4", "zstd")
_JAVA = "0.8.2"
_JAVA_FILE = "data-bbf9f38e-4c77-44a9-855a-7dac486c6fed-0.orc"
_DAY = date(2020, 1, 1)
_INSTANT = datetime(2020, 1, 1)

_TYPES: dict[str, tuple[Any, pa.DataType, Callable[[Random], Any]]] = {
    "id": ("INT", pa.int32(), lambda rng: rng.randrange(-(2**31), 2**31)),
    "small": ("BIGINT", pa.int64(), lambda rng: rng.randrange(9)),
    "text": ("STRING", pa.string(), lambda rng: f"{rng.random()}"[: rng.randrange(16)]),
    "word": ("STRING", pa.string(), lambda rng: rng.choice(["aa", "b", "cccc"])),
    "ratio": ("DOUBLE", pa.float64(), lambda rng: rng.random()),
    "flag": ("BOOLEAN", pa.bool_(), lambda rng: rng.random() < 0.5),
    "price": ("DECIMAL(12, 2)", pa.decimal128(12, 2), lambda rng: Decimal(rng.randrange(10**9)) / 100),
    "moment": (
        "TIMESTAMP(6)",
        pa.timestamp("us"),
        lambda rng: _INSTANT + timedelta(microseconds=rng.randrange(10**15)),
    ),
    "day": ("DATE", pa.date32(), lambda rng: _DAY + timedelta(rng.randrange(1000))),
    "list": (
        {"type": "ARRAY", "element": "INT"},
        pa.list_(pa.int32()),
        lambda rng: [rng.randrange(100) for _ in range(rng.randrange(4))],
    ),
    "map": (
        {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"},
        pa.map_(pa.string(), pa.int32()),
        lambda rng: [(str(each), each) for each in range(rng.randrange(3))],
    ),
    "row": (
        {
            "type": "ROW",
            "fields": [{"id": 1, "name": "x", "type": "INT"}, {"id": 2, "name": "y", "type": "STRING"}],
        },
        pa.struct([("x", pa.int32()), ("y", pa.string())]),
        lambda rng: {"x": rng.randrange(1000), "y": "q" * rng.randrange(5)},
    ),
    "bytes": ("BYTES", pa.binary(), lambda rng: rng.randbytes(rng.randrange(9))),
}
_JAVA_TYPES = {
    "_KEY_id": "INT",
    "_SEQUENCE_NUMBER": "BIGINT",
    "_VALUE_KIND": "TINYINT",
    "dt": "STRING",
    "id": "INT",
    "v": "STRING",
}


@dataclass(frozen=True)
class OrcSample:
    """An ORC file and its columns."""

    content: bytes
    rows: int
    columns: tuple[FileColumn, ...]


def sample(codec: str, rows: int, *, stripes: int = 1, dictionaries: float = 0.0) -> OrcSample:
    """A file of all types that C++ has written, with nulls in all columns but the first."""
    rng = Random(rows)
    arrays = {
        name: pa.array(
            [None if name != "id" and rng.random() < 0.2 else value(rng) for _ in range(rows)], kind
        )
        for name, (_, kind, value) in _TYPES.items()
    }
    table, sink = pa.table(arrays), pa.BufferOutputStream()
    with orc.ORCWriter(
        sink,
        compression=codec,
        stripe_size=1024,
        batch_size=rows,
        dictionary_key_size_threshold=dictionaries,
    ) as writer:
        for number_of in range(stripes):
            writer.write(table.slice(number_of * rows // stripes, rows // stripes))
    columns = tuple(FileColumn(name, parse_type(written)) for name, (written, _, _) in _TYPES.items())
    return OrcSample(sink.getvalue().to_pybytes(), rows // stripes * stripes, columns)


def java_sample() -> OrcSample:
    """A file of 600 rows that Java has written, with LZ4."""
    with tarfile.open(archive_of(_JAVA)) as archive:
        member = next(member for member in archive if member.name.endswith(_JAVA_FILE))
        file = archive.extractfile(member)
        assert file is not None
        columns = tuple(FileColumn(name, parse_type(text)) for name, text in _JAVA_TYPES.items())
        return OrcSample(file.read(), 600, columns)


def owners(content: bytes) -> Callable[[int], str | None]:
    """Finds the top-level column whose data a byte of a file belongs to; None for indexes and footers."""
    ending = content[-1] + 1
    postscript = parse(content[-ending:-1])
    codec, block = number(postscript, 2), number(postscript, 3)
    length = number(postscript, 1)
    footer = parse(decompressed(content[-ending - length : -ending], codec, block))
    names = _top_level(messages(footer, 4))
    starts, found = [0], [None]
    for stripe in stripes_of(footer, len(content)):
        place = stripe.start
        told = content[stripe.footer_start : stripe.end]
        for stream in messages(parse(decompressed(told, codec, block)), 1):
            is_data = place >= stripe.start + stripe.index
            starts.append(place)
            found.append(names.get(number(stream, 2)) if is_data else None)  # type: ignore[arg-type]
            place += number(stream, 3)
        starts.append(place)
        found.append(None)
    return lambda position: found[bisect_right(starts, position) - 1]


def _top_level(types: list[Any]) -> Mapping[int, str]:
    """The name of the column of the table to which each physical column belongs."""
    tops = numbers(types[0], 2)
    names = [name.decode() for name in types[0][3]]
    return {
        column: names[bisect_right(tops, column) - 1] for column in range(1, len(types)) if column >= tops[0]
    }


def encoded(field: int, value: int | bytes) -> bytes:
    """A field of a message."""
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    return varint(field << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """A number of a message."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
