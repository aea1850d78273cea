"""Walks from page to page through the bytes of a column chunk, which are copied or joined with others.

Called by `source` and `paged_chunks`. Page headers tell how long each page is, so a chunk that is cut off, or
whose bytes are not those that its footer describes, is found although no value is decoded. Where writers
added checksums, as Java's do, wrong bits are found as well.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from lithify.files.parquet.copying.footers import ColumnChunk
from lithify.files.parquet.structs import (
    Malformed,
    Struct,
    integer_of,
    read_struct,
)
from lithify.files.parquet.thrift import I32, Thrift

_TYPE, _COMPRESSED, _CHECKSUM, _DATA, _DICTIONARY, _DATA_V2 = 1, 3, 4, 5, 7, 8
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
DATA_PAGE_V1 = _DATA_PAGE
PLAIN, RLE = 0, 3
"""Encodings of values and of definition levels, which tell where nulls are."""
_ENCODING, _LEVEL_ENCODING = 2, 3
_REQUIRED = (1, 2, 3)
_REQUIRED_OF = {_DATA_PAGE: (_DATA, 4), _DICTIONARY_PAGE: (_DICTIONARY, 2), _DATA_PAGE_V2: (_DATA_V2, 6)}
"""Without these fields, from 1 to a number in the struct for its type, readers take no page header."""
_KNOWN_OF_PAGE, _KNOWN_OF_DATA_PAGE = {*range(1, 6)}, {*range(1, 6)}
_USUAL_HEADER = 1 << 10
_MOST_HEADER = 1 << 20
"""Bytes of the longest page header. It may have a minimum and a maximum; writers leave out those of more than
a few KiB. Reading a header takes some eighty times its bytes if it consists of empty structs."""


class PageWalk:
    """The pages of one column chunk; its bytes come in pieces of any size."""

    def __init__(self, chunk: ColumnChunk) -> None:
        self._chunk = chunk
        self._left = 0
        self._expected: int | None = None
        self._checksum = 0
        self._begun = b""
        self._values = 0
        self._pages = 0

    def feed(self, data: bytes | memoryview) -> None:
        """Walks over the next bytes.

        Raises:
            Malformed, IndexError: there is no page header where one must be, or a page has another checksum.
        """
        data = memoryview(data)
        at = 0
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                if self._expected is not None:
                    self._checksum = zlib.crc32(data[at : at + step], self._checksum)
                self._left -= step
                at += step
                if not self._left:
                    _check(self._expected, self._checksum)
            else:
                at = self._header(data, at)

    def end(self) -> None:
        """Checks that the bytes were whole pages with all values.

        Raises:
            Malformed: they were not.
        """
        if self._left or self._begun:
            raise Malformed("a column chunk ends inside a page")
        if self._values != self._chunk.values:
            raise Malformed(f"a column chunk has {self._values} values instead of {self._chunk.values}")

    def _header(self, data: memoryview, at: int) -> int:
        """Reads a page header, which may have begun in the piece before; returns where it ends."""
        before = len(self._begun)
        size = before + _USUAL_HEADER
        while True:
            walk = Thrift(self._begun + bytes(data[at : at + size - before]))
            with suppress(IndexError):
                self._begin_page(read_struct(walk))
                self._begun = b""
                return at + walk.at - before
            if size >= _MOST_HEADER:
                raise Malformed(f"there is no page header within {_MOST_HEADER} bytes")
            if at + size - before >= len(data):
                self._begun += bytes(data[at:])
                return len(data)
            size = min(4 * size, _MOST_HEADER)

    def _begin_page(self, header: Struct) -> None:
        kind, of_kind = _kind_of(header)
        self._left = integer_of(header, _COMPRESSED)
        self._expected, self._checksum = _checksum_of(header), 0
        if kind == _DICTIONARY_PAGE and self._pages:
            raise Malformed("a dictionary behind data pages")
        if kind != _DICTIONARY_PAGE:
            self._values += integer_of(of_kind, 1)
        self._pages += 1


def _kind_of(header: Struct) -> tuple[int, Struct]:
    """The type of a page, and the part of its header for this type.

    Raises:
        Malformed: it is another type, or the header lacks something.
    """
    kind = integer_of(header, _TYPE)
    if kind not in _REQUIRED_OF:
        raise Malformed(f"a page of type {kind}")
    number, last = _REQUIRED_OF[kind]
    if number not in header:
        raise Malformed("a page without the header for its type")
    of_kind = header[number].struct
    required = [*(header.get(n) for n in _REQUIRED), *(of_kind.get(n) for n in range(1, last + 1))]
    if any(value is None or value.kind != I32 or value.integer < 0 for value in required):
        raise Malformed("a page header without all its fields, or with a negative one")
    return kind, of_kind


def _checksum_of(header: Struct) -> int | None:
    """The checksum of a page, None without one."""
    return integer_of(header, _CHECKSUM) & 0xFFFFFFFF if _CHECKSUM in header else None


def _check(expected: int | None, found: int) -> None:
    if expected is not None and found != expected:
        raise Malformed(f"a page has the checksum {found:08x} instead of {expected:08x}")


@dataclass(frozen=True, slots=True)
class Page:
    """A data page: its bytes, header included, and its number of values, nulls included."""

    size: int
    values: int


def data_pages(data: memoryview, *, has_nulls: bool) -> Iterator[Page]:
    """The pages of a column chunk in memory, if all are plain data pages of version 1.

    `has_nulls` is whether the column may have nulls; else there are no levels, whatever encoding is named.

    Raises:
        Malformed, IndexError: there is another page, or none where one must be.
    """
    at = 0
    while at < len(data):
        walk = Thrift(bytes(data[at : at + _USUAL_HEADER]))
        header = read_struct(walk)
        length = integer_of(header, _COMPRESSED)
        kind, of_data = _kind_of(header)
        if kind != _DATA_PAGE or not header.keys() <= _KNOWN_OF_PAGE:
            raise Malformed("a page that is no data page of version 1")
        values, levels = (integer_of(of_data, number) for number in (_ENCODING, _LEVEL_ENCODING))
        is_plain = values == PLAIN and (levels == RLE or not has_nulls)
        if not is_plain or not of_data.keys() <= _KNOWN_OF_DATA_PAGE:
            raise Malformed("a page that is not plain")
        if length > len(data) - at - walk.at:
            raise Malformed(f"a page of {length} bytes")
        expected, start = _checksum_of(header), at + walk.at
        if expected is not None:
            _check(expected, zlib.crc32(data[start : start + length]))
        yield Page(walk.at + length, integer_of(of_data, 1))
        at += walk.at + length
