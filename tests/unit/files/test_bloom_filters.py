"""Bloom filters in Parquet files: every value is found, few others are, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.files.parquet.xx_hash import xx_hashes
from support.comparing.bloom_filters import filters_of
from support.data_files import input_file, read, write
from support.manifests import schema
from support.properties import examples

_MASK = (1 << 64) - 1
_1, _2, _3, _4, _5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)
_SALTS = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)

WRITTEN = schema(
    [
        ("id", "BIGINT NOT NULL"),
        ("name", "STRING"),
        ("kind", "STRING"),
        ("at", "TIMESTAMP(9)"),
        ("flag", "BOOLEAN"),
    ],
    ["id"],
)


def one_by_one(value: bytes) -> int:
    """XXH64 as its specification tells it, for a single value."""
    at = len(value) // 32 * 32
    result = (of_stripes(value[:at]) if at else _5) + len(value) & _MASK
    while at + 8 <= len(value):
        result = (turned(result ^ mixed(number(value[at : at + 8])), 27) * _1 + _4) & _MASK
        at += 8
    if at + 4 <= len(value):
        result = (turned(result ^ (number(value[at : at + 4]) * _1 & _MASK), 23) * _2 + _3) & _MASK
        at += 4
    for byte in value[at:]:
        result = turned(result ^ (byte * _5 & _MASK), 11) * _1 & _MASK
    for shift, prime in ((33, _2), (29, _3)):
        result = (result ^ result >> shift) * prime & _MASK
    return result ^ result >> 32


def of_stripes(value: bytes) -> int:
    lanes = [_1 + _2, _2, 0, -_1]
    for at in range(0, len(value), 8):
        lane = at // 8 % 4
        lanes[lane] = turned((lanes[lane] + number(value[at : at + 8]) * _2) & _MASK, 31) * _1 & _MASK
    result = sum(turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    for lane in lanes:
        result = ((result ^ mixed(lane)) * _1 + _4) & _MASK
    return result


def turned(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def mixed(value: int) -> int:
    return turned(value * _2 & _MASK, 31) * _1 & _MASK


def number(value: bytes) -> int:
    return int.from_bytes(value, "little")


def hashed(values: list[bytes]) -> list[int]:
    lengths = np.array([len(value) for value in values], np.int64)
    data = np.frombuffer(b"".join(values), np.uint8)
    return [int(value) for value in xx_hashes(data, np.cumsum(lengths) - lengths, lengths)]


def may_hold(bits: bytes, value: bytes) -> bool:
    """What a reader of the filter finds."""
    found = one_by_one(value)
    block = (found >> 32) * (len(bits) // 32) >> 32
    words = np.frombuffer(bits[32 * block : 32 * block + 32], "<u4")
    return all(
        int(word) >> ((found & 0xFFFFFFFF) * salt % 2**32 >> 27) & 1
        for word, salt in zip(words, _SALTS, strict=True)
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_hashes_are_the_known_ones(value: bytes, expected: int) -> None:
    assert hashed([value]) == [expected] == [one_by_one(value)]


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.binary(max_size=100), min_size=1, max_size=20))
def test_hashes_of_many_values_are_those_of_each(values: list[bytes]) -> None:
    assert hashed(values) == [one_by_one(value) for value in values]


def rows(first: int, count: int) -> list[dict[str, object]]:
    return [
        {"id": number, "name": f"n{number}" if number % 7 else None, "kind": "ab"[number % 2], "flag": True}
        for number in range(first, first + count)
    ]


@pytest.mark.parametrize("dictionaries", [[], ["kind"]], ids=["plain", "dictionary"])
def test_filters_of_each_row_group_hold_its_values(tmp_path: Path, dictionaries: list[str]) -> None:
    groups = [rows(0, 3000), rows(3000, 10)]
    meta = write(tmp_path, WRITTEN, groups, {"parquet.bloom.filter.enabled": "true"}, dictionaries)
    path = f"{tmp_path}/{meta.name}"
    found = filters_of(path)
    assert [{*one} for one in found] == [
        {"_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "name", "kind"}
    ] * 2
    for filters, group in zip(found, groups, strict=True):
        for row in group:
            for name in ("id", "_KEY_id"):
                assert may_hold(filters[name], int(str(row["id"])).to_bytes(8, "little"))
            assert row["name"] is None or may_hold(filters["name"], str(row["name"]).encode())
            assert may_hold(filters["kind"], str(row["kind"]).encode())
        wrong = sum(may_hold(filters["name"], b"no such name %d" % number) for number in range(1000))
        assert wrong < 30, "one in a hundred is allowed"
    assert not may_hold(found[0]["kind"], b"c")
    assert len(found[1]["id"]) == 32, "few values have a small filter"
    assert [row["id"] for row in read([input_file(tmp_path, meta)], [WRITTEN])] == [*range(3010)]
    assert meta.size == Path(path).stat().st_size
    assert pq.read_metadata(path).schema.column(6).physical_type == "INT96"


def test_a_larger_share_of_errors_makes_smaller_filters(tmp_path: Path) -> None:
    options = {
        "parquet.bloom.filter.enabled#id": "true",
        "parquet.bloom.filter.enabled#name": "true",
        "parquet.bloom.filter.fpp#name": "0.5",
    }
    (found,) = filters_of(f"{tmp_path}/{write(tmp_path, WRITTEN, [rows(0, 5000)], options).name}")
    assert found.keys() == {"id", "name"}
    assert 2 * len(found["name"]) <= len(found["id"])


def test_nulls_are_in_no_filter(tmp_path: Path) -> None:
    nothing = [{"id": number, "name": None, "kind": None} for number in range(3)]
    meta = write(tmp_path, WRITTEN, [nothing], {"parquet.bloom.filter.enabled": "true"})
    (found,) = filters_of(f"{tmp_path}/{meta.name}")
    assert (found["name"], found["kind"]) == (bytes(32), bytes(32))
    assert may_hold(found["id"], bytes(8))


@pytest.mark.parametrize(
    ("distinct", "rate", "size"),
    [
        (str((1 << 63) - 1), "0.01", 1 << 20),
        ("1000", "1e-300", 1 << 20),
        ("1000", "5e-324", 1 << 20),
        ("1", "0.01", 32),
        ("1000000", "0.9999999999", 1 << 16),
    ],
)
def test_sizes_have_bounds(tmp_path: Path, distinct: str, rate: str, size: int) -> None:
    options = {
        "parquet.bloom.filter.expected.ndv#id": distinct,
        "parquet.bloom.filter.fpp#id": rate,
    }
    (found,) = filters_of(f"{tmp_path}/{write(tmp_path, WRITTEN, [rows(0, 50)], options).name}")
    assert {name: len(bits) for name, bits in found.items()} == {"id": size}
