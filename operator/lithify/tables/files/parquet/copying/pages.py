"""Walks from page to page through the bytes of a column chunk while they are copied.

Called by `source`. Page headers tell how long each page is, so a chunk that is cut off, or whose bytes are
not those that its footer describes, is found although no value is decoded.
"""

from __future__ import annotations

from contextlib import suppress

from lithify.tables.files.parquet.copying.footers import ColumnChunk
from lithify.tables.files.parquet.structs import Malformed, Struct, integer_of, read_struct
from lithify.tables.files.parquet.thrift import Thrift

_TYPE, _COMPRESSED, _DATA, _DATA_V2 = 1, 3, 5, 8
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_USUAL_HEADER = 1 << 10
_MOST_HEADER = 16 << 20
"""Bytes of the longest page header: it may have a minimum and a maximum of any length."""


class PageWalk:
    """The pages of one column chunk; its bytes come in pieces of any size."""

    def __init__(self, chunk: ColumnChunk) -> None:
        self._chunk = chunk
        self._left = 0
        self._begun = b""
        self._values = 0
        self._pages = 0

    def feed(self, data: bytes | memoryview) -> None:
        """Walks over the next bytes.

        Raises:
            Malformed, IndexError: there is no page header where one must be.
        """
        at = 0
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
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

    def _header(self, data: bytes | memoryview, at: int) -> int:
        """Reads a page header, which may have begun in the piece before; returns where it ends."""
        before = len(self._begun)
        for most in (_USUAL_HEADER, len(data)):
            walk = Thrift(self._begun + bytes(data[at : at + most]))
            with suppress(IndexError):
                self._begin_page(read_struct(walk))
                self._begun = b""
                return at + walk.at - before
        self._begun += bytes(data[at:])
        if len(self._begun) > _MOST_HEADER:
            raise Malformed(f"a page header of more than {_MOST_HEADER} bytes")
        return len(data)

    def _begin_page(self, header: Struct) -> None:
        kind, self._left = integer_of(header, _TYPE), integer_of(header, _COMPRESSED)
        if self._left < 0:
            raise Malformed(f"a page of {self._left} bytes")
        if kind == _DICTIONARY_PAGE and self._pages:
            raise Malformed("a dictionary behind data pages")
        if kind in (_DATA_PAGE, _DATA_PAGE_V2):
            number = _DATA if kind == _DATA_PAGE else _DATA_V2
            if number not in header:
                raise Malformed("a data page without its header")
            self._values += integer_of(header[number].struct, 1)
        elif kind != _DICTIONARY_PAGE:
            raise Malformed(f"a page of type {kind}")
        self._pages += 1
