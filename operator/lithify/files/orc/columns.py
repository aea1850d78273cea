"""Column statistics in the footer of an ORC file, including the parts of nested columns.

Called by `footers`. Pure. Follows the ORC v1 specification (orc.apache.org/specification/ORCv1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lithify.files.orc.layout import LIST, MAP
from lithify.files.orc.protobuf import (
    Message,
    messages,
    number,
    numbers,
    signed,
)

_PARTS = {LIST: ("element",), MAP: ("key", "value")}
"""Names of parts that have no names in the file, as in `types`."""

_TOTALS = {**dict.fromkeys((1, 2, 3, 4), (2, 3)), 7: (4, 3), 8: (8, 1)}
"""Where statistics have the total of a column, by its type: bytes, shorts, ints, longs, strings, binaries."""


@dataclass(frozen=True, slots=True)
class ColumnFooter:
    """A column as the footer describes it, including the parts of a nested one.

    Attributes:
        rows: non-null values, None if the writer did not count them.
        values: non-null values of all parts together.
        parts: number of physical columns.
        has_null: whether there are nulls.
        text_bytes: bytes of all texts or binaries, 0 for other types.
        stored_bytes: bytes on disk if the writer recorded them, else 0.
        integers: smallest and largest integer.
        total: sum of the integers, or bytes of the texts or binaries; None if the writer did not record it.
        millis: smallest and largest timestamp in milliseconds, ignoring time zones.
        dictionary: entries of its dictionary in the first stripe.
        fields: its own parts, by name; those that the footer does not describe are left out.
    """

    rows: int | None
    values: int
    parts: int
    has_null: bool
    text_bytes: int
    stored_bytes: int
    integers: tuple[int, int] | None
    total: int | None
    millis: tuple[int, int] | None
    dictionary: int
    fields: Mapping[str, ColumnFooter]


def columns_of(
    types: Sequence[Message], statistics: Sequence[Message], dictionaries: Sequence[int]
) -> Mapping[str, ColumnFooter]:
    """The columns of a file by name; those that the footer does not describe are left out.

    Args:
        types: the types of all physical columns, which form a tree (`layout`).
        statistics: the statistics of the first of them.
        dictionaries: number of dictionary entries of each.

    Raises:
        UnicodeDecodeError: a name is no text.
    """
    return _fields(0, _Stored(types, statistics, dictionaries))


@dataclass(frozen=True, slots=True)
class _Stored:
    """Types, statistics and dictionaries of all physical columns, by number."""

    types: Sequence[Message]
    statistics: Sequence[Message]
    dictionaries: Sequence[int]


def _fields(whole: int, stored: _Stored) -> dict[str, ColumnFooter]:
    return {
        name: _column(part, stored)
        for name, part in _numbered(stored.types[whole])
        if part < len(stored.statistics)
    }


def _numbered(kind: Message) -> Iterator[tuple[str, int]]:
    """Names and numbers of the parts of a type."""
    names = [name.decode() for name in kind.get(3, []) if isinstance(name, bytes)]
    yield from zip(_PARTS.get(number(kind, 1), names), numbers(kind, 2), strict=False)


def _column(at: int, stored: _Stored) -> ColumnFooter:
    told = stored.statistics[at]
    fields = _fields(at, stored)
    parts = fields.values()
    integers, stamps = (_first(told, field) for field in (2, 9))
    return ColumnFooter(
        rows=number(told, 1) if 1 in told else None,
        values=number(told, 1) + sum(part.values for part in parts),
        parts=1 + sum(part.parts for part in parts),
        has_null=bool(number(told, 10)),
        text_bytes=_text_bytes(told) + sum(part.text_bytes for part in parts),
        stored_bytes=number(told, 11) + sum(part.stored_bytes for part in parts),
        integers=_bounds(integers, (1,), (2,)),
        total=_total(told, number(stored.types[at], 1)),
        millis=_bounds(stamps, (1, 3), (2, 4)),
        dictionary=sum(stored.dictionaries[at : at + 1]) + sum(part.dictionary for part in parts),
        fields=fields,
    )


def _total(statistics: Message, kind: int) -> int | None:
    """The total of a column of integers, texts of any length, or binaries; None for other types."""
    place = _TOTALS.get(kind)
    return None if place is None else signed(_first(statistics, place[0]), place[1])


def _text_bytes(statistics: Message) -> int:
    texts, binaries = (_first(statistics, field) for field in (4, 8))
    return max(signed(texts, 3) or 0, signed(binaries, 1) or 0)


def _first(message: Message, field: int) -> Message:
    return next(iter(messages(message, field)), {})


def _bounds(statistics: Message, lows: Sequence[int], highs: Sequence[int]) -> tuple[int, int] | None:
    """Minimum and maximum from these fields; timestamps have two of each, local and UTC."""
    low, high = (
        [value for field in fields if (value := signed(statistics, field)) is not None]
        for fields in (lows, highs)
    )
    return (min(low), max(high)) if low and high else None
