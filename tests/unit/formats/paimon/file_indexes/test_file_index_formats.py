"""File indexes as bytes: what is read from them is what was put in, however rows are divided."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from lithify.columns.bitmaps import serialize
from lithify.columns.order import EPOCH_DAY
from lithify.files.types import arrow_type
from lithify.formats.paimon.file_indexes.bit_slices import BitSliceIndex
from lithify.formats.paimon.file_indexes.bitmap import BitmapIndex
from lithify.formats.paimon.file_indexes.bloom_filter import BloomFilter
from lithify.formats.paimon.file_indexes.building import FileIndexes
from lithify.formats.paimon.file_indexes.container import encode
from lithify.formats.paimon.file_indexes.map_values import values_of_key
from lithify.formats.paimon.file_indexes.model import (
    ColumnIndex,
    FileIndexOptions,
    IndexedColumn,
    IndexKind,
    IndexSettings,
    Unindexable,
)
from lithify.formats.paimon.file_indexes.range_bitmap import RangeBitmap
from lithify.formats.paimon.file_indexes.stored_values import cuts
from lithify.formats.paimon.schema.type_texts import parse_type
from support.comparing.file_indexes import Reader, bitmap_index, indexes_in, width_of
from support.manifests import schema
from support.properties import examples

USUAL = IndexSettings()
INT, BIGINT, TEXT, DOUBLE = (parse_type(each) for each in ("INT", "BIGINT", "STRING", "DOUBLE"))


@given(
    st.dictionaries(
        st.text(
            st.characters(exclude_characters="\0", exclude_categories=["Cs"], max_codepoint=0xFFFF),
            max_size=9,
        ),
        st.dictionaries(st.sampled_from([*IndexKind]), st.binary(max_size=9), min_size=1),
        max_size=5,
    )
)
def test_the_container_holds_every_index(indexes: dict[str, dict[str, bytes]]) -> None:
    assert indexes_in(encode(indexes)) == indexes


def test_names_are_written_as_java_writes_texts() -> None:
    content = encode({"\0\U0001f600": {"bsi": b""}})
    assert b"\x00\x08\xc0\x80\xed\xa0\xbd\xed\xb8\x80" in content


NUMBERS: Mapping[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-(2**7), 2**7 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DATE": st.integers(-9_999, 99_999),
    "TIME(3)": st.integers(0, 86_399_999),
    "TIMESTAMP(3)": st.integers(-(2**40), 2**40),
    "TIMESTAMP(6)": st.integers(-(2**50), 2**50),
    "DECIMAL(18, 2)": st.integers(1 - 10**18, 10**18 - 1),
    "FLOAT": st.sampled_from([0.0, -0.0, 1.5, -2.5, float("inf"), float("-inf"), float("nan")]),
    "DOUBLE": st.floats(),
    "STRING": st.text(max_size=5),
}


def arrays(name: str, values: Sequence[Any]) -> pa.Array:
    kind = parse_type(name)
    if kind.root == "DECIMAL":
        scaled = [None if value is None else Decimal(value).scaleb(-2) for value in values]
        return pa.array(scaled, arrow_type(kind))
    plain = {"DATE": pa.int32(), "TIME": pa.int32(), "TIMESTAMP": pa.int64()}.get(kind.root)
    if plain is None:
        return pa.array(values, arrow_type(kind))
    return pa.array(values, plain).view(arrow_type(kind))


def number_of(name: str, value: Any) -> int:
    """The number of a value in an index."""
    if name in ("FLOAT", "DOUBLE"):
        if value != value:
            return {"FLOAT": 0x7FC00000, "DOUBLE": 0x7FF8000000000000}[name]
        forms = {"FLOAT": (">f", ">i"), "DOUBLE": (">d", ">q")}[name]
        return int(struct.unpack(forms[1], struct.pack(forms[0], value))[0])
    return int(value)


def stored_value(name: str, value: Any) -> bytes:
    if name == "STRING":
        return value.encode()
    width = width_of(name)
    assert width is not None
    return number_of(name, value).to_bytes(width, signed=True)


@st.composite
def columns(draw: st.DrawFn, names: Sequence[str]) -> tuple[str, list[Any], list[int]]:
    """A type, values that are often alike, and where the rows are divided."""
    name = draw(st.sampled_from(names))
    few = draw(st.lists(NUMBERS[name], min_size=1, max_size=6))
    values = draw(st.lists(st.one_of(st.none(), st.sampled_from(few), NUMBERS[name]), max_size=40))
    return name, values, sorted(draw(st.lists(st.integers(0, len(values)), max_size=2)))


def index_of(
    make: Callable[..., ColumnIndex], drawn: tuple[str, list[Any], list[int]], how: IndexSettings
) -> bytes:
    name, values, divided = drawn
    index = make(parse_type(name), how)
    whole = arrays(name, values)
    for start, end in zip([0, *divided], [*divided, len(values)], strict=True):
        index.add(whole.slice(start, end - start))
    return index.finish()


SIZES = [IndexSettings(version=1), USUAL, IndexSettings(block_size=64)]


@settings(max_examples=examples(300), deadline=None)
@given(columns([*NUMBERS]), st.sampled_from(SIZES))
def test_bitmaps_have_the_rows_of_each_value(
    drawn: tuple[str, list[Any], list[int]], how: IndexSettings
) -> None:
    name, values, _ = drawn
    version, rows, found = bitmap_index(index_of(BitmapIndex, drawn, how), width_of(name))
    expected: dict[bytes | None, list[int]] = {}
    for row, value in enumerate(values):
        expected.setdefault(None if value is None else stored_value(name, value), []).append(row)
    assert (version, rows, found) == (how.version, len(values), expected)


def test_a_value_larger_than_a_block_cannot_be_indexed() -> None:
    index = BitmapIndex(TEXT, USUAL)
    index.add(pa.array(["a", "b" * (1 << 14)]))
    with pytest.raises(Unindexable):
        index.finish()
    index = BitmapIndex(TEXT, IndexSettings(version=1))
    index.add(pa.array(["a", "b" * (1 << 14)]))
    assert bitmap_index(index.finish(), None)[1] == 2


def slices_in(reader: Reader, count: int) -> list[BitMap]:
    """Bitmaps one after the other, whose lengths nothing tells."""
    found = []
    for _ in range(count):
        one = BitMap.deserialize(reader.data[reader.at :])
        own = serialize(one)
        assert reader.take(len(own)) == own
        found.append(one)
    return found


def numbers_of(rows: BitMap, slices: Sequence[BitMap]) -> dict[int, int]:
    return {row: sum((row in one) << bit for bit, one in enumerate(slices)) for row in rows}


WHOLE = [name for name in NUMBERS if name not in ("STRING", "FLOAT", "DOUBLE", "BOOLEAN")]


@settings(max_examples=examples(200), deadline=None)
@given(columns(WHOLE))
def test_slices_have_the_bits_of_each_number(drawn: tuple[str, list[Any], list[int]]) -> None:
    _, values, _ = drawn
    if -(2**63) in values:
        with pytest.raises(Unindexable):
            index_of(BitSliceIndex, drawn, USUAL)
        return
    reader = Reader(index_of(BitSliceIndex, drawn, USUAL))
    assert reader.numbers("bi") == (1, len(values))
    found: dict[int, int] = {}
    for sign in (1, -1):
        if reader.number("b"):
            version, low, high = reader.numbers("bqq")
            (rows,) = slices_in(reader, 1)
            numbers = numbers_of(rows, slices_in(reader, reader.number()))
            assert (version, low, high) == (1, 0, max(numbers.values()))
            found.update({row: sign * number for row, number in numbers.items()})
    assert found == {row: int(value) for row, value in enumerate(values) if value is not None}
    assert reader.at == len(reader.data)


@settings(max_examples=examples(200), deadline=None)
@given(columns([*NUMBERS]), st.sampled_from([None, 0, 10, 40]))
def test_range_bitmaps_have_the_values_in_order(
    drawn: tuple[str, list[Any], list[int]], chunk: int | None
) -> None:
    name, values, _ = drawn
    width = width_of(name)
    reader = Reader(index_of(RangeBitmap, drawn, IndexSettings(chunk_size=chunk)))

    def value() -> bytes:
        return reader.take(reader.number() if width is None else width)

    end = reader.number() + reader.at
    version, rows, count = reader.numbers("bii")
    bounds = [value() for _ in range(2)] if count else []
    size = reader.number()
    assert (version, rows, reader.at) == (1, len(values), end)
    dictionary = dictionary_in(Reader(reader.take(size)), width)
    assert len(dictionary) == count
    assert bounds == ([dictionary[0], dictionary[-1]] if count else [])
    codes = codes_in(reader)
    different = {stored_value(name, each): each for each in values if each is not None}
    assert dictionary == sorted(different, key=lambda stored: place_of(different[stored]))
    assert codes == {
        row: dictionary.index(stored_value(name, each)) for row, each in enumerate(values) if each is not None
    }


def place_of(value: Any) -> Any:
    """Where Java has a value: negative zero below zero, NaN above all."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value, str(value) != "-0.0")
    return value


def dictionary_in(reader: Reader, width: int | None) -> list[bytes]:
    def value(reader: Reader) -> bytes:
        return reader.take(reader.number() if width is None else width)

    reader.number()
    version, count, offsets_size, heads_size = reader.numbers("biii")
    assert version == 1
    offsets = [reader.number() for _ in range(count)]
    assert offsets_size == 4 * count
    start, body, found = reader.at, reader.at + heads_size, []
    for at in offsets:
        assert reader.at == start + at
        assert reader.number("b") == 1
        first = value(reader)
        code, offset, size = reader.numbers("iii")
        assert code == len(found)
        found.append(first)
        if width is None:
            places, content = reader.numbers("ii")
            keys = Reader(reader.data, body + offset + places)
            found += [value(keys) for _ in range(size)]
            assert (places, keys.at) == (4 * size, body + offset + places + content)
        else:
            content, own = reader.numbers("ii")
            keys = Reader(reader.data, body + offset)
            found += [value(keys) for _ in range(size)]
            assert (own, content) == (width, size * width)
    return found


def codes_in(reader: Reader) -> dict[int, int]:
    reader.number()
    version, count, own, places_size = reader.numbers("bbii")
    assert (version, places_size) == (1, 8 * count)
    places = [reader.numbers("ii") for _ in range(count)]
    rows = BitMap.deserialize(reader.take(own))
    start = reader.at
    slices = [BitMap.deserialize(reader.data[start + at : start + at + size]) for at, size in places]
    return numbers_of(rows, slices)


BLOOMS = [name for name in NUMBERS if name not in ("BOOLEAN", "DECIMAL(18, 2)", "STRING")]


def long_hash(key: int) -> int:
    """Thomas Wang's hash of a number of 64 bits, with signed shifts, for a single value."""

    def signed(number: int) -> int:
        return (number + (1 << 63)) % (1 << 64) - (1 << 63)

    key = signed(~key + (key << 21))
    key = key ^ (key >> 24)
    key = signed(key + (key << 3) + (key << 8))
    key = key ^ (key >> 14)
    key = signed(key + (key << 2) + (key << 4))
    key = key ^ (key >> 28)
    return signed(key + (key << 31))


@settings(max_examples=examples(100), deadline=None)
@given(columns(BLOOMS), st.sampled_from([(1, 0.5), (100, 0.1), (5_000, 0.001)]))
def test_bloom_filters_have_the_bits_of_each_value(
    drawn: tuple[str, list[Any], list[int]], size: tuple[int, float]
) -> None:
    name, values, _ = drawn
    how = IndexSettings(items=size[0], false_positives=size[1])
    content = index_of(BloomFilter, drawn, how)
    functions, bits = int.from_bytes(content[:4]), content[4:]
    assert len(bits) * 8 == how.bits
    expected = bytearray(len(bits))
    for value in values:
        if value is not None:
            hashed = long_hash(number_of(name, value)) % (1 << 64)
            for number in range(1, functions + 1):
                place = ((hashed & 0xFFFFFFFF) + number * (hashed >> 32)) & 0xFFFFFFFF
                place = (place if place < 1 << 31 else ~place & 0xFFFFFFFF) % (len(bits) * 8)
                expected[place // 8] |= 1 << place % 8
    assert bits == bytes(expected)


@pytest.mark.parametrize(
    ("items", "rate", "bits", "functions"),
    [(1_000_000, 0.1, 4_792_536, 3), (1, 0.5, 8, 6), (100, 0.01, 960, 7)],
)
def test_the_size_of_a_bloom_filter(items: int, rate: float, bits: int, functions: int) -> None:
    content = BloomFilter(INT, IndexSettings(items=items, false_positives=rate)).finish()
    assert (len(content) - 4, int.from_bytes(content[:4])) == (bits // 8, functions)


def test_timestamps_of_nanoseconds_count_in_microseconds() -> None:
    instants = [struct.pack("<qi", -1, EPOCH_DAY), struct.pack("<qi", 1_999, EPOCH_DAY + 1)]
    kind = parse_type("TIMESTAMP(9)")
    index = BitmapIndex(kind, USUAL)
    index.add(pa.array(instants, arrow_type(kind)))
    _, _, found = bitmap_index(index.finish(), 8)
    assert {int.from_bytes(value or b"", signed=True): rows for value, rows in found.items()} == {
        -1: [0],
        86_400_000_001: [1],
    }


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 9)))),
    st.integers(0, 5),
)
def test_values_of_a_key(maps: list[dict[str, int | None] | None], start: int) -> None:
    kind = pa.map_(pa.string(), pa.int32())
    array = pa.array([None if one is None else [*one.items()] for one in maps], kind).slice(start)
    expected = [None if one is None else one.get("b") for one in maps[start:]]
    assert values_of_key(array, "b").to_pylist() == expected


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(0, 20), st.booleans())
def test_blocks_have_what_fits(sizes: list[int], room: int, free: bool) -> None:
    found = [*cuts(np.array(sizes, np.int64), room, first_is_free=free)]
    if found and found[-1][0] == found[-1][1]:
        assert sizes[found.pop()[0]] > room
    else:
        assert (found[-1][1] if found else 0) == len(sizes)
    for number, (first, end) in enumerate(found):
        assert first == (found[number - 1][1] if number else 0)
        used = sum(sizes[first + free : end])
        assert used <= room
        assert end == len(sizes) or used + sizes[end] > room


def test_errors_name_the_column_and_the_index() -> None:
    indexed = (IndexedColumn("n", IndexKind.BIT_SLICES, USUAL),)
    indexes = FileIndexes(FileIndexOptions(indexed), schema([("n", "BIGINT")], []))
    with pytest.raises(Unindexable, match=r"column n: .*bsi index"):
        indexes.add(pa.table({"n": pa.array([-(2**63)])}))


def test_dictionaries_are_indexed_as_plain_values() -> None:
    made = []
    values = pa.array(["a", "b", None, "a", "unused"])
    for column in (values.slice(0, 4), values.dictionary_encode().slice(0, 4)):
        indexed = tuple(
            IndexedColumn("v", kind, IndexSettings(items=9)) for kind in IndexKind if kind != "bsi"
        )
        indexes = FileIndexes(FileIndexOptions(indexed), schema([("v", "STRING")], []))
        indexes.add(pa.table({"v": column}))
        made.append(indexes.finish())
    assert made[0] == made[1]
