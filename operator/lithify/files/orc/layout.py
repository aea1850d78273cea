"""Checks the footers of an ORC file before a library gets the file: types, stripes, streams, encodings.

Called by `footers`. Pure. Follows the ORC v1 specification (orc.apache.org/specification/ORCv1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lithify.files.orc.protobuf import (
    Message,
    messages,
    number,
    numbers,
)

LIST, MAP, STRUCT, UNION = 10, 11, 12, 13
_STRING, _CHAR, _VARCHAR, _DECIMAL = 7, 17, 16, 14
_KINDS = range(19)
_PARTS = {LIST: 1, MAP: 2}
_MOST_DIGITS = 38
_MOST_TYPES = 100_000
_MOST_DEPTH = 100
_MOST_STRIPES = 100_000
_MOST_DICTIONARY = 1 << 31

_STREAMS = range(9)
"""Kinds of streams, from presence to bloom filters; the others belong to encrypted columns."""

_INDEX = 6
"""The first kind of a stream that is an index."""

_ENCODINGS, _OF_DICTIONARIES = range(4), (1, 3)


@dataclass(frozen=True, slots=True)
class Stripe:
    """Where a stripe is, and its number of rows.

    Attributes:
        start: its first byte.
        index: bytes of its indexes.
        data: bytes of its data.
        footer: bytes of its footer.
        rows: number of rows.
    """

    start: int
    index: int
    data: int
    footer: int
    rows: int

    @property
    def footer_start(self) -> int:
        """The first byte of its footer."""
        return self.start + self.index + self.data

    @property
    def end(self) -> int:
        """The byte after its last one."""
        return self.footer_start + self.footer


def check_types(types: Sequence[Message], statistics: int) -> None:
    """Checks that types form a tree in the order in which files number them.

    Args:
        types: the types of all columns and their parts.
        statistics: for how many of them there are statistics.

    Raises:
        EOFError: they do not.
    """
    if not 0 < len(types) <= _MOST_TYPES or statistics > len(types):
        raise EOFError(f"it has {len(types)} types and {statistics} statistics")
    if number(types[0], 1) != STRUCT:
        raise EOFError("its root is no struct")
    rest: list[int] = []  # for each open type, the parts that are still to come, last one first
    depths: list[int] = [0]
    for at, kind in enumerate(types):
        if at and (not rest or rest.pop() != at):
            raise EOFError("its types are no tree")
        depth = depths.pop()
        parts = _parts(kind)
        if depth > _MOST_DEPTH:
            raise EOFError("its types are nested too deeply")
        rest += reversed(parts)
        depths += [depth + 1] * len(parts)
    if rest:
        raise EOFError("its types are no tree")


def _parts(kind: Message) -> list[int]:
    """The numbers of the parts of a type."""
    root, parts = number(kind, 1), numbers(kind, 2)
    if root not in _KINDS or (root == _DECIMAL and number(kind, 5) > _MOST_DIGITS):
        raise EOFError("it has an unknown type")
    expected = (
        len(parts) if root == UNION else len(kind.get(3, [])) if root == STRUCT else _PARTS.get(root, 0)
    )
    if len(parts) != expected:
        raise EOFError(f"a type has {len(parts)} parts instead of {expected}")
    return parts


def stripes_of(footer: Message, end: int) -> tuple[Stripe, ...]:
    """The stripes of a file, which have all its rows, one after the other.

    Args:
        footer: the footer of the file.
        end: the first byte after the stripes.

    Raises:
        EOFError: they overlap, lie elsewhere, or have other rows than the file.
    """
    found = tuple(
        Stripe(number(each, 1), number(each, 2), number(each, 3), number(each, 4), number(each, 5))
        for each in messages(footer, 3)
    )
    position = 0
    for stripe in found:
        if stripe.start < position or stripe.end > end:
            raise EOFError("its stripes are not where they can be")
        position = stripe.end
    rows = sum(stripe.rows for stripe in found)
    if len(found) > _MOST_STRIPES or rows != number(footer, 6):
        raise EOFError(f"its {len(found)} stripes have {rows} rows, its footer says {number(footer, 6)}")
    return found


def check_stripe(stripe: Stripe, footer: Message, types: Sequence[Message]) -> None:
    """Checks the streams and encodings of a stripe.

    Args:
        stripe: where it is.
        footer: its footer.
        types: the types of all columns and their parts.

    Raises:
        EOFError: they cannot be those of the stripe.
    """
    streams = [(number(each, 1), number(each, 2), number(each, 3)) for each in messages(footer, 1)]
    length = sum(size for _, _, size in streams)
    if length != stripe.index + stripe.data:
        raise EOFError(f"the streams of a stripe have {length} bytes, it has {stripe.index + stripe.data}")
    places = {(kind, column) for kind, column, _ in streams}
    if len(places) < len(streams):
        raise EOFError("a stripe has a stream twice")
    if any(kind not in _STREAMS or column >= len(types) for kind, column in places):
        raise EOFError("a stripe has an unknown stream")
    encodings = messages(footer, 2)
    if len(encodings) != len(types):
        raise EOFError(f"a stripe has {len(encodings)} encodings for {len(types)} types")
    for encoding, kind in zip(encodings, types, strict=True):
        _check_encoding(encoding, kind)
    top = numbers(types[0], 2)
    if any(number(encodings[column], 2) > stripe.rows for column in top):
        raise EOFError("a dictionary has more entries than its stripe has rows")


def data_streams(stripe: Stripe, footer: Message) -> Iterator[tuple[int, int]]:
    """Start and length of each stream of a stripe that has data."""
    start = stripe.start
    for each in messages(footer, 1):
        length = number(each, 3)
        if length and number(each, 1) < _INDEX:
            yield start, length
        start += length


def data_bytes(footer: Message) -> Iterator[tuple[int, int]]:
    """The type and the bytes of each stream of a stripe that has data."""
    for each in messages(footer, 1):
        if number(each, 1) < _INDEX:
            yield number(each, 2), number(each, 3)


def _check_encoding(encoding: Message, kind: Message) -> None:
    name, entries = number(encoding, 1), number(encoding, 2)
    is_dictionary = name in _OF_DICTIONARIES
    if name not in _ENCODINGS or (is_dictionary and number(kind, 1) not in (_STRING, _CHAR, _VARCHAR)):
        raise EOFError("a column has an unknown encoding")
    if entries > (_MOST_DICTIONARY if is_dictionary else 0):
        raise EOFError(f"a dictionary has {entries} entries")
