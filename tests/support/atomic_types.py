"""Every atomic type that is supported: raw values, what Python and Arrow hold for them, at the edges too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from lithify.files.types import ColumnType, Raw, arrow_type
from lithify.formats.paimon.schema.type_texts import parse_type

_EXACT = Context(prec=60)
_EPOCH = datetime(1970, 1, 1)
_MIN_MICROS, _MAX_MICROS = (
    (moment - _EPOCH) // timedelta(microseconds=1) for moment in (datetime.min, datetime.max)
)
_MIN_DAY, _MAX_DAY = ((day - _EPOCH.date()).days for day in (date.min, date.max))


@dataclass(frozen=True)
class Atomic:
    """A type: its text in a schema file, its raw values, and how Python has them."""

    text: str
    raws: st.SearchStrategy[Raw]
    python: Callable[[Any], Any] = lambda raw: raw

    @property
    def column(self) -> ColumnType:
        return parse_type(self.text)

    def arrow(self, raws: list[Any]) -> pa.Array:
        """A column of these values as files of this type read."""
        values = [None if raw is None else self.python(raw) for raw in raws]
        return pa.array(values, arrow_type(self.column))


def _integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return st.sampled_from([low, -1, 0, 1, high]) | st.integers(low, high)


def exact_decimal(unscaled: int, scale: int) -> Decimal:
    """A decimal of any precision, by its unscaled value."""
    return Decimal(unscaled).scaleb(-scale, _EXACT)


def _decimal(precision: int, scale: int) -> Atomic:
    top = 10**precision - 1
    edges = [-top, -(1 << 64), -(1 << 63), -129, -128, -1, 0, 1, 127, 128, 1 << 63, 1 << 64, top]
    return Atomic(
        f"DECIMAL({precision}, {scale})",
        st.sampled_from([edge for edge in edges if abs(edge) <= top]) | st.integers(-top, top),
        lambda unscaled: exact_decimal(unscaled, scale),
    )


def _timestamp(text: str, per_second: int, *, zoned: bool) -> Atomic:
    step = 1_000_000 // per_second
    low, high = -(-_MIN_MICROS // step), _MAX_MICROS // step
    return Atomic(
        text,
        st.sampled_from([low, -per_second - 1, -1, 0, 1, per_second - 1, high]) | st.integers(low, high),
        lambda raw: _moment(raw * step, zoned=zoned),
    )


def instant(raw: int) -> bytes:
    """Nanoseconds since 1970 as Parquet's INT96."""
    days, nanos = divmod(raw, 86_400 * 10**9)
    return nanos.to_bytes(8, "little") + (days + 2_440_588).to_bytes(4, "little")


def _moment(micros: int, *, zoned: bool) -> datetime:
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.replace(tzinfo=UTC) if zoned else moment


def _time(millis: int) -> time:
    return (_EPOCH + timedelta(milliseconds=millis)).time()


_NANOS = st.sampled_from([_MIN_MICROS * 1000, -1, 0, 1, 1 << 63, _MAX_MICROS * 1000 + 999]) | st.integers(
    _MIN_MICROS * 1000, _MAX_MICROS * 1000 + 999
)
_TEXTS = st.text(max_size=12) | st.sampled_from(["", "1234567", "12345678", "\U0001f600", "\x00", "é" * 2500])
_BLOBS = st.binary(max_size=20) | st.sampled_from(
    [b"", b"1234567", b"12345678", b"\xff" * 7, b"\x00" * 8, b"x" * 5000]
)

ATOMICS = [
    Atomic("BOOLEAN", st.integers(0, 1), bool),
    Atomic("TINYINT", _integers(8)),
    Atomic("SMALLINT", _integers(16)),
    Atomic("INT", _integers(32)),
    Atomic("BIGINT", _integers(64)),
    Atomic("FLOAT", st.floats(width=32, allow_nan=False)),
    Atomic("DOUBLE", st.floats(allow_nan=False)),
    _decimal(1, 0),
    _decimal(9, 2),
    _decimal(10, 10),
    _decimal(18, 3),
    _decimal(19, 3),
    _decimal(38, 0),
    _decimal(38, 38),
    Atomic(
        "DATE",
        st.sampled_from([_MIN_DAY, -1, 0, 1, _MAX_DAY]) | st.integers(_MIN_DAY, _MAX_DAY),
        lambda days: _EPOCH.date() + timedelta(days=days),
    ),
    Atomic("TIME(3)", st.sampled_from([0, 1, 86_399_999]) | st.integers(0, 86_399_999), _time),
    _timestamp("TIMESTAMP(0)", 1000, zoned=False),
    _timestamp("TIMESTAMP(3)", 1000, zoned=False),
    _timestamp("TIMESTAMP(4)", 1_000_000, zoned=False),
    _timestamp("TIMESTAMP(6)", 1_000_000, zoned=False),
    _timestamp("TIMESTAMP(3) WITH LOCAL TIME ZONE", 1000, zoned=True),
    _timestamp("TIMESTAMP(6) WITH LOCAL TIME ZONE", 1_000_000, zoned=True),
    Atomic("TIMESTAMP(9)", _NANOS, instant),
    Atomic("TIMESTAMP(7) WITH LOCAL TIME ZONE", _NANOS, instant),
    Atomic("CHAR(5)", _TEXTS.map(str.encode), bytes.decode),
    Atomic("STRING", _TEXTS.map(str.encode), bytes.decode),
    Atomic("BINARY(5)", _BLOBS),
    Atomic("BYTES", _BLOBS),
]
