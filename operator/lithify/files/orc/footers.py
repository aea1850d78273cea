"""The footers of ORC files: rows, stripes, columns (by `columns`), the writer's time zone.

Used by the reader beside this module; PyArrow reads the same footers but does not expose their content, nor
bound the memory that they take. All footers of a file are checked (by `layout`) before PyArrow gets it.
Follows the ORC v1 specification (orc.apache.org/specification/ORCv1).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.files.orc.chunks import (
    CODECS,
    MOST_FOOTER,
    ZSTD,
    decompressed,
)
from lithify.files.orc.columns import ColumnFooter, columns_of
from lithify.files.orc.layout import (
    Stripe,
    check_stripe,
    check_types,
    data_bytes,
    data_streams,
    stripes_of,
)
from lithify.files.orc.protobuf import (
    Message,
    messages,
    number,
    parse,
    text,
)
from lithify.files.orc.stored_fields import stored_fields
from lithify.files.reading import reading
from lithify.files.types import Field
from lithify.io.storage import Fetching, Storage

_KEPT = 128
_KEPT_TYPES = 10_000
"""Types in footers that are kept beyond these, about 1 KiB each: of 500 files with twenty columns."""

_TAIL = 64 << 10
"""Bytes read first from the end of a file; enough for most footers."""

_FETCHING = Fetching(block=256 << 10)
"""How footers are read on S3; they are far apart."""


@dataclass(frozen=True, slots=True)
class OrcFooter:
    """The parts of a footer that are needed to read the file.

    Attributes:
        size: bytes of the file.
        rows: number of rows.
        stripes: data bytes and rows of each stripe.
        block_size: bytes that are compressed together.
        columns: its columns by name; those that the footer does not describe are left out.
        time_zone: the writer's time zone, empty if not recorded.
        zstd_streams: start and length of each stream with data if the codec is zstd, else empty.
        starts: the first byte of each stripe.
        fields: its columns in neutral types, with field ids.
        stored_bytes: bytes of the data of each type, by the number of the type.
    """

    size: int
    rows: int
    stripes: tuple[tuple[int, int], ...]
    block_size: int
    columns: Mapping[str, ColumnFooter]
    time_zone: str
    zstd_streams: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]
    fields: tuple[Field, ...]
    stored_bytes: tuple[int, ...]

    @property
    def sizes_by_id(self) -> Mapping[int, int]:
        """Bytes of the data of each column and part of one that has a field id."""
        numbers = enumerate(_in_order(self.fields), 1)  # types are numbered so, the root is 0
        return {field.id: self.stored_bytes[number] for number, field in numbers if field.id >= 0}


class OrcFooters:
    """The footers of data files, by path; caches as many as one task plausibly needs."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._kept: OrderedDict[str, OrcFooter] = OrderedDict()
        self._kept_types = 0

    def of(self, path: str) -> OrcFooter:
        """The footer of a file; the oldest give way to it, more than a minimum only if they are large.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it is not ORC, is truncated, or uses a compression that this release cannot read.
        """
        found = self._kept.get(path)
        if found is None:
            found = self._kept[path] = self._read(path)
            self._kept_types += len(found.stored_bytes)
            while len(self._kept) > _KEPT and self._kept_types > _KEPT_TYPES:
                _, oldest = self._kept.popitem(last=False)
                self._kept_types -= len(oldest.stored_bytes)
        self._kept.move_to_end(path)
        return found

    def _read(self, path: str) -> OrcFooter:
        with reading(path, "ORC"), self._storage.open(path, fetching=_FETCHING) as source:
            tail = _tail(source, _TAIL)
            postscript = parse(tail[-1 - tail[-1] : -1])
            if text(postscript, 8000) != "ORC":
                raise CorruptTable(path, "it cannot be read as ORC (its end is missing)")
            if number(postscript, 2) not in CODECS:
                raise CorruptTable(path, "its compression is one that this release cannot read")
            return _Footers(source, postscript, tail).read()


class _Footers:
    """The footers of one file.

    Args:
        source: the file.
        postscript: what its last bytes say.
        tail: bytes at its end.
    """

    def __init__(self, source: pa.NativeFile, postscript: Message, tail: bytes) -> None:
        self._source = source
        self._codec = number(postscript, 2)
        self._block_size = number(postscript, 3)
        self._length = number(postscript, 1)
        self._ending = tail[-1] + 1
        self._tail = tail
        self._streams: list[tuple[int, int]] = []
        self._stored_bytes: list[int] = []
        self._end = source.size() - self._ending - self._length - number(postscript, 5)

    def read(self) -> OrcFooter:
        """Reads and checks all footers.

        Raises:
            EOFError: one is damaged, or larger than footers are.
        """
        footer = parse(self._of_file())
        types, statistics = messages(footer, 4), messages(footer, 7)
        check_types(types, len(statistics))
        stripes = stripes_of(footer, self._end)
        self._stored_bytes = [0] * len(types)
        first = self._checked(stripes, types)
        dictionaries = [number(encoding, 2) for encoding in messages(first, 2)]
        return OrcFooter(
            size=self._source.size(),
            rows=number(footer, 6),
            stripes=tuple((stripe.data, stripe.rows) for stripe in stripes),
            block_size=self._block_size,
            columns=columns_of(types, statistics, dictionaries),
            time_zone=text(first, 3),
            zstd_streams=tuple(self._streams),
            starts=tuple(stripe.start for stripe in stripes),
            fields=stored_fields(types),
            stored_bytes=tuple(self._stored_bytes),
        )

    def _of_file(self) -> bytes:
        if self._length > MOST_FOOTER or self._end < 0:
            raise EOFError(f"its footer has {self._length} bytes")
        if self._length + self._ending > len(self._tail):
            self._tail = _tail(self._source, self._length + self._ending)
        return self._plain(self._tail[-self._ending - self._length : -self._ending])

    def _checked(self, stripes: Sequence[Stripe], types: Sequence[Message]) -> Message:
        """Checks the footers of stripes; returns the first, which represents all: one writer wrote them."""
        first: Message = {}
        for place, stripe in enumerate(stripes):
            if stripe.footer > MOST_FOOTER:
                raise EOFError(f"the footer of a stripe has {stripe.footer} bytes")
            self._source.seek(stripe.footer_start)
            footer = parse(self._plain(self._source.read(stripe.footer)))
            check_stripe(stripe, footer, types)
            for column, size in data_bytes(footer):
                self._stored_bytes[column] += size
            if self._codec == ZSTD:
                self._streams += data_streams(stripe, footer)
            if text(footer, 3) != text(first or footer, 3):
                raise EOFError("its stripes were written in different time zones")
            first = footer if place == 0 else first
        return first

    def _plain(self, data: bytes) -> bytes:
        return decompressed(data, self._codec, self._block_size)


def _in_order(fields: Iterable[Field]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _in_order(field.type.fields)


def _tail(source: pa.NativeFile, length: int) -> bytes:
    size = source.size()
    source.seek(max(0, size - length))
    tail: bytes = source.read(min(size, length))
    if len(tail) <= 1 or len(tail) < min(size, length) or tail[-1] >= len(tail):
        raise EOFError("its end is missing")
    return tail
