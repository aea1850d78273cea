"""How Java Paimon spells partition values in the names of directories.

Used by `file_locations`. Pure. By default a value is spelt as Java's `toString` has it
(`partition.legacy-name`), or else as a cast to STRING does (`InternalRowPartitionComputer`,
`PartitionPathUtils`). FLOAT and DOUBLE are spelt as Java does since 19; earlier versions take more digits
than they need for some values, so a directory that is there already may have another name for the same value:
`same_float` tells.
"""

from __future__ import annotations

import math
import struct
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from lithify.tables.files.types import ColumnType, Raw
from lithify.tables.paimon.metadata.binary_row import decode_row

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
    """The directories of a partition, one below the other; empty without partition columns.

    Args:
        row: the partition as a BinaryRow.
        names: its columns.
        types: their types.
        default: what stands for values that are null or blank.
        legacy: spelt as Java's `toString` does.
    """
    texts = partition_texts(row, types, legacy=legacy)
    pairs = zip(names, texts, strict=True)
    return "/".join(f"{escape(name)}={escape(text or default)}" for name, text in pairs)


def partition_texts(row: bytes, types: Sequence[ColumnType], *, legacy: bool) -> list[str | None]:
    """The values of a partition as text; None for null and for blank ones."""
    values = decode_row(row, types)
    texts = []
    for field, (value, column) in enumerate(zip(values, types, strict=True)):
        text = None
        if value is not None:
            text = (
                _timestamp(*_instant(row, field, len(types), column), column, legacy=legacy)
                if column.is_timestamp
                else _spelt(value, column, legacy=legacy)
            )
        texts.append(None if text is None or is_blank(text) else text)
    return texts


def is_blank(text: str) -> bool:
    """Whether a text has nothing but what Java calls white space."""
    return all(map(_is_white, text))


def escape(text: str) -> str:
    """A text as part of a path."""
    return "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in text)


def same_float(text: str, value: float, column: ColumnType) -> bool:
    """Whether a text is some spelling of exactly this number, also of its zero's sign."""
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
    """The shortest decimal from two digits on that reads as this number, laid out as by Double.toString."""
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
    """`DateTimeUtils.formatTimestampMillis`: digits of the fraction until only zeros are left."""
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


def _instant(row: bytes, field: int, fields: int, column: ColumnType) -> tuple[int, int]:
    """Seconds since the epoch and nanoseconds in the second, all of them as they are stored."""
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
    """`LocalDateTime.toString`, or else `DateTimeUtils.formatTimestamp`; both of the time in UTC."""
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
