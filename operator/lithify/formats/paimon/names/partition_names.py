"""Formats partition values in directory names as Java Paimon does.

Used by `file_locations`. Pure. By default a value is formatted like Java's `toString`
(`partition.legacy-name`), else like a cast to STRING (`InternalRowPartitionComputer`, `PartitionPathUtils`).
FLOAT and DOUBLE are formatted like Java since 19; earlier versions write more digits than necessary for some
values, so an existing directory may have another name for the same value: `same_float` detects that.
"""

from __future__ import annotations

import math
import struct
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from lithify.files.types import ColumnType, Raw
from lithify.formats.paimon.rows.binary_row import decode_row

_ESCAPED = frozenset("\"#%'*/:=?\\{}[]^\x7f") | {chr(code) for code in range(32)}
_NO_BREAK = frozenset("\u00a0\u2007\u202f")
_OTHER_BLANKS = frozenset("\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f")
_DAY_MILLIS = 86_400_000
_EPOCH = date(1970, 1, 1)
_MOST_DIGITS = {"FLOAT": 9, "DOUBLE": 17}
_PLAIN_FROM, _PLAIN_TO = Decimal("1e-3"), Decimal("1e7")
_FIGURES = {"FLOAT": ">f", "DOUBLE": ">d"}


def partition_path(
    row: bytes, names: Sequence[str], types: Sequence[ColumnType], default: str, *, legacy: bool
) -> str:
    """The nested directories of a partition; empty without partition columns.

    Args:
        row: the partition as a BinaryRow.
        names: its columns.
        types: their types.
        default: replacement for null or blank values.
        legacy: whether to format like Java's `toString`.
    """
    texts = partition_texts(row, types, legacy=legacy)
    pairs = zip(names, texts, strict=True)
    return "/".join(f"{escape(name)}={escape(text or default)}" for name, text in pairs)


def partition_texts(row: bytes, types: Sequence[ColumnType], *, legacy: bool) -> list[str | None]:
    """The values of a partition as text; None for null and blank values."""
    values = decode_row(row, types)
    texts = []
    for field, (value, column) in enumerate(zip(values, types, strict=True)):
        text = None
        if value is not None:
            text = (
                _timestamp(*instant(row, field, len(types), column), column, legacy=legacy)
                if column.is_timestamp
                else _spelt(value, column, legacy=legacy)
            )
        texts.append(None if text is None or is_blank(text) else text)
    return texts


def is_blank(text: str) -> bool:
    """Whether a text consists only of what Java calls white space."""
    return all(map(_is_white, text))


def escape(text: str) -> str:
    """Escapes a text for use in a path."""
    return "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in text)


def same_float(text: str, value: float, column: ColumnType) -> bool:
    """Whether a text is a spelling of exactly this number, including the sign of zero."""
    try:
        return struct.pack(_FIGURES[column.root], float(text)) == struct.pack(_FIGURES[column.root], value)
    except (ValueError, OverflowError):
        return False


def _is_white(letter: str) -> bool:
    is_separator = unicodedata.category(letter) in ("Zs", "Zl", "Zp")
    return (is_separator and letter not in _NO_BREAK) or letter in _OTHER_BLANKS


def _spelt(value: Raw, column: ColumnType, *, legacy: bool) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, float):
        return _float(value, column)
    number = int(value or 0)
    if column.root == "BOOLEAN":
        return "true" if number else "false"
    if column.root == "DECIMAL":
        figures = tuple(map(int, str(abs(number))))
        return format(Decimal((int(number < 0), figures, -column.scale)), "f")
    if column.root == "DATE" and not legacy:
        return _date(_EPOCH + timedelta(days=number))
    if column.root == "TIME" and not legacy:
        return _time(number, column.precision)
    return str(number)


def _float(value: float, column: ColumnType) -> str:
    """The shortest decimal of at least two digits that parses to this number, as in Double.toString."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    most = _MOST_DIGITS[column.root]
    digits = (format(value, f".{number}g") for number in range(2, most))
    text = next((text for text in digits if same_float(text, value, column)), format(value, f".{most}g"))
    number = Decimal(text)
    if number.is_zero() or _PLAIN_FROM <= abs(number) < _PLAIN_TO:
        plain = format(number, "f")
        whole, _, fraction = plain.partition(".")
        return f"{whole}.{fraction.rstrip('0') or '0'}"
    sign, figures, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidOperation(text)
    first, *others = map(str, figures)
    rest = "".join(others).rstrip("0") or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{exponent + len(figures) - 1}"


def _time(millis: int, precision: int) -> str:
    """`DateTimeUtils.formatTimestampMillis`: fraction digits without trailing zeros."""
    millis %= _DAY_MILLIS
    seconds, fraction = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if precision <= 0:
        return text
    figures = ""
    for _ in range(precision):
        figures += str(fraction // 100)
        fraction = fraction % 100 * 10
        if fraction == 0:
            break
    return f"{text}.{figures}"


def instant(row: bytes, field: int, fields: int, column: ColumnType) -> tuple[int, int]:
    """Seconds since the epoch and nanoseconds of the second of a timestamp in a row, as stored."""
    body = row[4:]
    at = (fields + 63 + 8) // 64 * 8 + 8 * field
    (slot,) = struct.unpack_from("<q", body, at)
    millis, nanos = slot, 0
    if column.precision > 3:
        (millis,) = struct.unpack_from("<q", body, slot >> 32)
        nanos = slot & 0xFFFF_FFFF
    seconds, rest = divmod(millis, 1000)
    return seconds, rest * 1_000_000 + nanos


def _timestamp(seconds: int, nanos: int, column: ColumnType, *, legacy: bool) -> str:
    """`LocalDateTime.toString`, or else `DateTimeUtils.formatTimestamp`; both in UTC."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    figures = f"{nanos:09d}"
    if not legacy:
        while len(figures) > column.precision and figures.endswith("0"):
            figures = figures[:-1]
        text = f"{_date(moment.date())} {moment:%H:%M:%S}"
        return f"{text}.{figures}" if figures else text
    text = f"{_date(moment.date())}T{moment:%H:%M}"
    if moment.second or nanos:
        text += f":{moment:%S}"
    while figures.endswith("000"):
        figures = figures[:-3]
    return f"{text}.{figures}" if figures else text


def _date(day: date) -> str:
    return f"{day.year:04d}-{day.month:02d}-{day.day:02d}"
