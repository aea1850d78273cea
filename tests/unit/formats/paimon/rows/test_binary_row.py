"""Rows in manifests are byte for byte what pypaimon, and so Java, writes, and nothing is lost in them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypaimon.schema.data_types import AtomicType, DataField
from pypaimon.table.row.generic_row import GenericRow, GenericRowDeserializer, GenericRowSerializer

from lithify.columns.order import encode_key, key_at, parts_of_column
from lithify.errors import CorruptTable
from lithify.files.types import ColumnType, Raw
from lithify.formats.paimon.rows.binary_row import decode_row, encode_row, order_key
from lithify.formats.paimon.schema.type_texts import parse_type
from support.atomic_types import ATOMICS, Atomic
from support.properties import examples

every_type = pytest.mark.parametrize("atomic", ATOMICS, ids=lambda atomic: atomic.text)

FEW = settings(max_examples=examples(20), deadline=None)
MANY = settings(max_examples=examples(60), deadline=None)

Drawn = tuple[list[Atomic], list[Raw]]


SHARED = [atomic for atomic in ATOMICS if not atomic.column.is_nanos]
"""What pypaimon has, too: its timestamps end at microseconds."""


@st.composite
def any_rows(draw: st.DrawFn, types: Sequence[Atomic] = ATOMICS) -> Drawn:
    """Some columns, and a row of them; many columns need more than one word of null bits."""
    atomics = draw(st.lists(st.sampled_from(types), max_size=6)) * draw(st.sampled_from([1, 1, 1, 1, 25]))
    return atomics, [draw(st.none() | atomic.raws) for atomic in atomics]


def columns_of(atomics: list[Atomic]) -> list[ColumnType]:
    return [atomic.column for atomic in atomics]


def pypaimon_fields(atomics: list[Atomic]) -> list[DataField]:
    return [DataField(number, f"f{number}", AtomicType(atomic.text)) for number, atomic in enumerate(atomics)]


def python_values(atomics: list[Atomic], raws: list[Raw]) -> list[Any]:
    pairs = zip(atomics, raws, strict=True)
    return [None if raw is None else atomic.python(raw) for atomic, raw in pairs]


def zoneless(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def has_a_byte_too_many(atomic: Atomic, raw: Raw) -> bool:
    """Whether pypaimon writes a decimal longer than Java's BigInteger: -2^7, -2^15 and so on."""
    return atomic.column.is_wide_decimal and any(raw == -(1 << 8 * size - 1) for size in range(1, 17))


class TestCodec:
    @MANY
    @given(any_rows(SHARED))
    def test_rows_are_written_as_pypaimon_writes_them(self, drawn: Drawn) -> None:
        atomics, raws = drawn
        raws = [0 if has_a_byte_too_many(*pair) else pair[1] for pair in zip(atomics, raws, strict=True)]
        theirs = GenericRow(python_values(atomics, raws), pypaimon_fields(atomics))
        assert encode_row(raws, columns_of(atomics)) == GenericRowSerializer.to_bytes(theirs)

    @pytest.mark.parametrize(
        ("unscaled", "size"),
        [(0, 1), (-1, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (-(1 << 63), 8), (1 << 63, 9)],
    )
    def test_a_wide_decimal_is_as_short_as_javas(self, unscaled: int, size: int) -> None:
        row = encode_row([unscaled], [parse_type("DECIMAL(38, 0)")])
        assert row[12:16] == struct.pack("<i", size)
        assert row[20:] == unscaled.to_bytes(size, "big", signed=True).ljust(16, b"\x00")

    @pytest.mark.parametrize("atomic", SHARED, ids=lambda atomic: atomic.text)
    @FEW
    @given(data=st.data())
    def test_every_type_is_written_as_pypaimon_writes_it(self, atomic: Atomic, data: st.DataObject) -> None:
        raw = data.draw(atomic.raws)
        theirs = GenericRow([atomic.python(raw)], pypaimon_fields([atomic]))
        written = GenericRowSerializer.to_bytes(theirs)
        assert decode_row(written, [atomic.column]) == (raw,)
        assert encode_row([raw], [atomic.column]) == written or has_a_byte_too_many(atomic, raw)

    @pytest.mark.thorough
    @MANY
    @given(any_rows())
    def test_what_is_written_is_read_back(self, drawn: Drawn) -> None:
        atomics, raws = drawn
        assert decode_row(encode_row(raws, columns_of(atomics)), columns_of(atomics)) == tuple(raws)

    @MANY
    @given(any_rows(SHARED))
    def test_pypaimon_reads_it(self, drawn: Drawn) -> None:
        atomics, raws = drawn
        written = encode_row(raws, columns_of(atomics))
        theirs = GenericRowDeserializer.from_bytes(written, pypaimon_fields(atomics))
        assert list(map(zoneless, theirs.values)) == list(map(zoneless, python_values(atomics, raws)))

    @pytest.mark.parametrize(
        ("text", "raw"),
        [
            pytest.param("TIMESTAMP(3)", (1 << 63) - 1, id="the last millisecond of a long"),
            pytest.param("TIMESTAMP(3)", -(1 << 63), id="the first millisecond of a long"),
            pytest.param("TIMESTAMP(6)", (1 << 63) - 1, id="the last microsecond that Arrow has"),
            pytest.param("TIMESTAMP(6)", -(1 << 63), id="the first microsecond that Arrow has"),
            pytest.param("DATE", (1 << 31) - 1, id="the last day"),
            pytest.param("DATE", -(1 << 31), id="the first day"),
            pytest.param("DECIMAL(38, 0)", 10**38 - 1, id="38 nines"),
            pytest.param("DECIMAL(38, 0)", -(10**38) + 1, id="38 nines, negative"),
            pytest.param("STRING", b"\xff\xfe", id="what is not UTF-8"),
            pytest.param("STRING", b"x" * 100_000, id="a long text"),
        ],
    )
    def test_values_that_python_has_no_type_for(self, text: str, raw: Raw) -> None:
        columns = [parse_type("INT"), parse_type(text), parse_type("STRING")]
        row = (7, raw, b"behind it all")
        assert decode_row(encode_row(row, columns), columns) == row

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 5e-324], ids=str)
    def test_floats_keep_their_bits(self, value: float) -> None:
        columns = [parse_type("DOUBLE")]
        (read,) = decode_row(encode_row([value], columns), columns)
        assert isinstance(read, float)
        assert struct.pack("<d", read) == struct.pack("<d", value)

    def test_a_narrow_decimal_is_a_long(self) -> None:
        columns = [parse_type("DECIMAL(18, 2)")]
        assert encode_row([-5], columns)[12:] == struct.pack("<q", -5)

    @pytest.mark.parametrize("fields", [0, 1, 56, 57, 120, 121], ids=str)
    def test_null_bits_take_whole_words(self, fields: int) -> None:
        columns = [parse_type("BIGINT")] * fields
        row = encode_row([None] * fields, columns)
        assert (len(row) - 4) % 8 == 0
        assert len(row) == 4 + 8 * ((fields + 8 + 63) // 64) + 8 * fields
        assert decode_row(row, columns) == (None,) * fields

    @pytest.mark.parametrize("fields", [0, 1], ids=["an empty row", "a row with fewer fields"])
    def test_statistics_that_a_file_does_not_have(self, fields: int) -> None:
        columns = [parse_type("INT"), parse_type("STRING")]
        assert decode_row(encode_row([1] * fields, columns[:fields]), columns) == (None, None)

    def test_a_row_and_its_types_must_match(self) -> None:
        with pytest.raises(ValueError):
            encode_row([1, 2], [parse_type("INT")])


class TestOrderKey:
    @every_type
    @FEW
    @given(data=st.data())
    def test_it_is_that_of_the_same_value_in_a_column(self, atomic: Atomic, data: st.DataObject) -> None:
        raw = data.draw(atomic.raws)
        bound = encode_row([raw], [atomic.column])
        assert order_key(bound, [atomic.column]) == encode_key(
            key_at(parts_of_column(atomic.arrow([raw])), 0)
        )

    @MANY
    @given(data=st.data(), atomics=st.lists(st.sampled_from(ATOMICS), min_size=1, max_size=3))
    def test_bounds_compare_as_their_values(self, data: st.DataObject, atomics: list[Atomic]) -> None:
        one, other = ([data.draw(atomic.raws) for atomic in atomics] for _ in range(2))
        columns = columns_of(atomics)
        keys = [order_key(encode_row(raws, columns), columns) for raws in (one, other)]
        values = [list(map(_comparable, raws)) for raws in (one, other)]
        assert (keys[0] < keys[1]) == (values[0] < values[1])
        assert (keys[0] == keys[1]) == (values[0] == values[1])

    def test_a_bound_without_a_value_is_corrupt(self) -> None:
        columns = [parse_type("INT"), parse_type("STRING")]
        with pytest.raises(CorruptTable):
            order_key(encode_row([1, None], columns), columns)


def _comparable(raw: Raw) -> Any:
    """Raw values compare as they are."""
    return raw
