"""Page indexes of column chunks that are copied: bounds of pages as they are, positions of pages shifted.

Called by `copier`, which reads the indexes of a file before it copies the first row group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from lithify.files.parquet.copying.footers import ColumnChunk
from lithify.files.parquet.copying.pages import Page
from lithify.files.parquet.structs import (
    LIST,
    Malformed,
    Struct,
    encode_struct,
    i32,
    i64,
    integer_of,
    joined_lists,
    list_size,
    read_struct,
    structs,
)
from lithify.files.parquet.thrift import Thrift

_LOCATIONS, _UNENCODED = 1, 2
_OFFSET, _SIZE, _FIRST_ROW = 1, 2, 3
_NULL_PAGES, _MINIMA, _MAXIMA, _ORDER, _NULL_COUNTS = 1, 2, 3, 4, 5
_KNOWN_BOUNDS = {*range(1, 8)}
_UNORDERED = 0


@dataclass(frozen=True, slots=True)
class PageIndex:
    """The page index of one column chunk.

    Attributes:
        bounds: the column index as it is encoded, empty without one.
        locations: the fields of the offset index.
    """

    bounds: bytes
    locations: Struct

    def shifted(self, by: int) -> bytes:
        """The offset index for a column chunk that lies `by` bytes later in the file."""
        pages = self.locations[_LOCATIONS].structs
        moved = [{**page, _OFFSET: i64(integer_of(page, _OFFSET) + by)} for page in pages]
        return encode_struct({**self.locations, _LOCATIONS: structs(moved)})

    @property
    def places(self) -> list[tuple[int, int, int]]:
        """Position, size (header included) and first row of each page."""
        pages = self.locations[_LOCATIONS].structs
        return [
            (integer_of(page, _OFFSET), integer_of(page, _SIZE), integer_of(page, _FIRST_ROW))
            for page in pages
        ]


def page_index(bounds: bytes, locations: bytes, chunk: ColumnChunk, rows: int) -> PageIndex:
    """Reads the page index of a column chunk in a row group of `rows` rows.

    Raises:
        Malformed, IndexError, KeyError: it contradicts itself or the column chunk.
    """
    index = PageIndex(bounds, read_struct(Thrift(locations)))
    if not index.locations.keys() <= {_LOCATIONS, _UNENCODED}:
        raise Malformed("an offset index has unknown fields")
    pages = index.locations[_LOCATIONS].structs
    starts = [integer_of(page, _OFFSET) for page in pages]
    ends = [start + integer_of(page, _SIZE) for start, page in zip(starts, pages, strict=True)]
    firsts = [integer_of(page, _FIRST_ROW) for page in pages]
    whole = chunk.pages
    if pages and (starts[0] < whole.start or ends[-1] != whole.end or firsts[0] != 0 or firsts[-1] >= rows):
        raise Malformed("an offset index has pages outside of its column chunk")
    in_order = all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    if not in_order or any(first > following for first, following in pairwise(firsts)):
        raise Malformed("an offset index has pages out of order")
    if bounds and _pages_of(bounds) != len(pages):
        raise Malformed("a column index has other pages than its offset index")
    return index


def joined_index(parts: Sequence[PageIndex], pages: Sequence[Page]) -> PageIndex:
    """The page index of a column chunk at byte 0 that has the pages of several, one after the other.

    Bounds are those of the parts, without their order, and without histograms, which few writers make.

    Raises:
        Malformed: a part has other bounds than the format defines, or not for each of its pages.
    """
    bounds = [read_struct(Thrift(part.bounds)) for part in parts]
    counted = all(_NULL_COUNTS in each for each in bounds)
    lists = [_NULL_PAGES, _MINIMA, _MAXIMA, *([_NULL_COUNTS] if counted else [])]
    if not all({_NULL_PAGES, _MINIMA, _MAXIMA, _ORDER} <= each.keys() <= _KNOWN_BOUNDS for each in bounds):
        raise Malformed("a column index with unknown fields")
    joined = {number: joined_lists([each[number] for each in bounds]) for number in lists}
    if {list_size(each) for each in joined.values()} != {len(pages)}:
        raise Malformed("a column index without bounds of every page")
    starts = accumulate((page.size for page in pages), initial=0)
    firsts = accumulate((page.values for page in pages), initial=0)
    locations = structs(
        {_OFFSET: i64(start), _SIZE: i32(page.size), _FIRST_ROW: i64(first)}
        for page, start, first in zip(pages, starts, firsts, strict=False)
    )
    return PageIndex(encode_struct({**joined, _ORDER: i32(_UNORDERED)}), {_LOCATIONS: locations})


def _pages_of(bounds: bytes) -> int:
    null_pages = read_struct(Thrift(bounds))[_NULL_PAGES]
    if null_pages.kind != LIST:
        raise Malformed("a column index without a list of pages")
    walk = Thrift(null_pages.data)
    size = walk.data[0] >> 4
    walk.at = 1
    return walk.varint() if size == 0x0F else size
