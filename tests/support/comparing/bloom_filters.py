"""The bloom filters in data files, whoever wrote them: their bits by row group or stripe and column."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from lithify.files.orc.protobuf import (
    Message,
    messages,
    number,
    parse,
)
from lithify.files.parquet.thrift import ROW_GROUPS, Thrift, column_chunks

Filters = list[dict[str, bytes]]
_TAIL = 8
"""Bytes behind the footer of a Parquet file: its length and the magic ones."""
_OFFSET = 14
_BLOOM_FILTER_UTF8 = 8
_POSTSCRIPT_LENGTH_BYTES = 1


def filters_of(path: str) -> Filters:
    """The filters of a Parquet file, or of an ORC file that is not compressed."""
    return _of_orc(Path(path).read_bytes()) if path.endswith(".orc") else _of_parquet(path)


def _of_parquet(path: str) -> Filters:
    """By the paths of columns; a filter begins with a header that says how many bytes it has."""
    data, footer = Path(path).read_bytes(), pq.read_metadata(path)
    names = [footer.schema.column(index).path for index in range(footer.num_columns)]
    thrift = Thrift(data, len(data) - _TAIL - footer.serialized_size)
    found: list[list[int]] = []
    for field, kind, _ in thrift.fields():
        if field == ROW_GROUPS:
            found = thrift.each(lambda group: column_chunks(group, _offset))
        else:
            thrift.skip(kind)
    return [
        {name: _bits(data, offset) for name, offset in zip(names, offsets, strict=True) if offset}
        for offsets in found
    ]


def _offset(thrift: Thrift) -> int:
    offset = 0
    for field, kind, _ in thrift.fields():
        if field == _OFFSET:
            offset = thrift.integer()
        else:
            thrift.skip(kind)
    return offset


def _bits(data: bytes, offset: int) -> bytes:
    header = Thrift(data, offset)
    size = 0
    for field, kind, _ in header.fields():
        if field == 1:
            size = header.integer()
        else:
            header.skip(kind)
    return data[header.at : header.at + size]


def _of_orc(data: bytes) -> Filters:
    """By the numbers of columns."""
    length = data[-1]
    postscript = parse(data[-length - _POSTSCRIPT_LENGTH_BYTES : -_POSTSCRIPT_LENGTH_BYTES])
    assert number(postscript, 2) == 0, "it is compressed"
    end = len(data) - length - _POSTSCRIPT_LENGTH_BYTES
    footer = parse(data[end - number(postscript, 1) : end])
    return [_of_stripe(data, stripe) for stripe in messages(footer, 3)]


def _of_stripe(data: bytes, stripe: Message) -> dict[str, bytes]:
    at = number(stripe, 1)
    end = at + number(stripe, 2) + number(stripe, 3)
    footer = parse(data[end : end + number(stripe, 4)])
    found = {}
    for stream in messages(footer, 1):
        length = number(stream, 3)
        if number(stream, 1) == _BLOOM_FILTER_UTF8:
            found[str(number(stream, 2))] = data[at : at + length]
        at += length
    return found
