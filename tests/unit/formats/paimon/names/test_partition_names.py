"""Partition values as names of directories, the names being what Java Paimon 1.4.2 was seen to write."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.files.types import Raw
from lithify.formats.paimon.names.partition_names import (
    escape,
    partition_path,
    partition_texts,
    same_float,
)
from lithify.formats.paimon.names.partition_values import partition_spec, partition_values
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from lithify.formats.protocol.partition import PartitionFilter, PartitionValues

DAY = 86_400_000
NOON_ISH = 10 * 3_600_000 + 11 * 60_000 + 12_000
LEAP_DAY = 19_782
LEAP_MILLIS = LEAP_DAY * DAY + NOON_ISH


def named(kind: str, value: Raw, *, legacy: bool) -> str | None:
    column = parse_type(kind)
    return partition_texts(encode_row([value], [column]), [column], legacy=legacy)[0]


@pytest.mark.parametrize(
    ("kind", "value", "legacy", "cast"),
    [
        ("STRING", "ü€😀".encode(), "ü€😀", "ü€😀"),
        ("BOOLEAN", 1, "true", "true"),
        ("TINYINT", -1, "-1", "-1"),
        ("DECIMAL(10, 2)", -5, "-0.05", "-0.05"),
        ("DECIMAL(10, 2)", 0, "0.00", "0.00"),
        ("DECIMAL(5, 0)", 12345, "12345", "12345"),
        ("DECIMAL(38, 20)", 10**37 + 1, "1" + "0" * 17 + "." + "0" * 19 + "1", None),
        ("DATE", LEAP_DAY, "19782", "2024-02-29"),
        ("DATE", -1, "-1", "1969-12-31"),
        ("DATE", -719162, "-719162", "0001-01-01"),
        ("TIME(0)", NOON_ISH, "36672000", "10:11:12"),
        ("TIME(3)", NOON_ISH + 500, "36672500", "10:11:12.5"),
        ("TIME(3)", NOON_ISH + 101, "36672101", "10:11:12.101"),
        ("TIME(2)", NOON_ISH + 101, "36672101", "10:11:12.10"),
        ("TIME(3)", 0, "0", "00:00:00.0"),
        ("TIMESTAMP(0)", LEAP_MILLIS, "2024-02-29T10:11:12", "2024-02-29 10:11:12"),
        ("TIMESTAMP(0)", LEAP_MILLIS - 12_000, "2024-02-29T10:11", "2024-02-29 10:11:00"),
        ("TIMESTAMP(3)", LEAP_MILLIS + 500, "2024-02-29T10:11:12.500", "2024-02-29 10:11:12.500"),
        ("TIMESTAMP(3)", -1, "1969-12-31T23:59:59.999", "1969-12-31 23:59:59.999"),
        ("TIMESTAMP(6)", -1, "1969-12-31T23:59:59.999999", "1969-12-31 23:59:59.999999"),
        ("TIMESTAMP(6)", LEAP_MILLIS * 1000 + 1, "2024-02-29T10:11:12.000001", "2024-02-29 10:11:12.000001"),
        ("TIMESTAMP_LTZ(6)", LEAP_MILLIS * 1000, "2024-02-29T10:11:12", "2024-02-29 10:11:12.000000"),
        ("FLOAT", 9.999e-4, "9.999E-4", None),
        ("DOUBLE", 1e7, "1.0E7", None),
        ("DOUBLE", 9999999.5, "9999999.5", None),
        ("DOUBLE", 1e-3, "0.001", None),
        ("DOUBLE", 100.0, "100.0", None),
        ("DOUBLE", 4.9e-324, "4.9E-324", None),
        ("DOUBLE", 1.7976931348623157e308, "1.7976931348623157E308", None),
        ("DOUBLE", -0.0, "-0.0", None),
        ("DOUBLE", math.nan, "NaN", None),
        ("DOUBLE", -math.inf, "-Infinity", None),
        ("STRING", None, None, None),
        ("STRING", b"", None, None),
        ("STRING", " \t\u2003".encode(), None, None),
        ("STRING", "\u00a0".encode(), "\u00a0", "\u00a0"),
        ("STRING", "\u0085".encode(), "\u0085", "\u0085"),
    ],
)
def test_values_are_spelt_as_java_does(kind: str, value: Raw, legacy: str | None, cast: str | None) -> None:
    assert named(kind, value, legacy=True) == legacy
    assert named(kind, value, legacy=False) == (legacy if cast is None else cast)
    if (kind, value) != ("TIME(2)", NOON_ISH + 101):  # a value that is more precise than its type
        assert is_selected_by_its_names(kind, value)


def is_selected_by_its_names(kind: str, value: Raw) -> bool:
    """Whether both spellings of a value select it, and nothing else does so by chance."""
    types = [parse_type(kind)]
    row, spec = encode_row([value], types), partition_spec(["p"], types, "none")
    values = partition_values(row, types, "none")
    texts = [named(kind, value, legacy=legacy) or "none" for legacy in (True, False)]
    found = PartitionValues(spec, values, (texts[0],))
    return all(PartitionFilter(({"p": text},)).selects(found) for text in texts)


def test_a_value_is_selected_however_it_is_written() -> None:
    types = [parse_type(kind) for kind in ("DATE", "DECIMAL(10, 2)", "STRING", "FLOAT")]
    spec = partition_spec(list("dnsf"), types, "none")
    row = encode_row([LEAP_DAY, 150, b"01", struct.unpack(">f", struct.pack(">f", 0.1))[0]], types)
    found = PartitionValues(spec, partition_values(row, types, "none"), ("", "", "", ""))
    for texts in (
        {"d": "2024-02-29"},
        {"d": "19782"},
        {"n": "1.5"},
        {"n": "01.50"},
        {"s": "01"},
        {"f": "0.10"},
    ):
        assert PartitionFilter((texts,)).selects(found), texts
    for texts in ({"d": "2024-03-01"}, {"n": "15"}, {"s": "1"}, {"s": "none"}, {"f": "0.2"}):
        assert not PartitionFilter((texts,)).selects(found), texts


def test_what_shares_the_directory_of_null_is_null() -> None:
    types = [parse_type("STRING")]
    values = [
        partition_values(encode_row([text], types), types, "none") for text in (None, b" ", b"none", b"null")
    ]
    assert values == [(None,), (None,), (None,), ("null",)]


def test_nanoseconds_are_spelt_in_full() -> None:
    column = parse_type("TIMESTAMP(9)")
    row = struct.pack(">i", 1) + bytes(8) + struct.pack("<qq", 16 << 32 | 999_999, -1)
    assert partition_texts(row, [column], legacy=True) == ["1969-12-31T23:59:59.999999999"]
    assert partition_texts(row, [column], legacy=False) == ["1969-12-31 23:59:59.999999999"]


def test_a_path_has_a_directory_for_each_column() -> None:
    types = [parse_type("STRING"), parse_type("INT"), parse_type("STRING")]
    row = encode_row([b"a/b", 7, None], types)
    path = partition_path(row, ["p=1", "q", "r"], types, "no:thing", legacy=True)
    assert path == "p%3D1=a%2Fb/q=7/r=no%3Athing"
    assert partition_path(encode_row([], []), [], [], "", legacy=True) == ""


def test_what_paths_cannot_hold_is_escaped() -> None:
    assert escape("\x01 \"#%'*/:=?\\{}[]^\x7f,;ü") == (
        "%01 %22%23%25%27%2A%2F%3A%3D%3F%5C%7B%7D%5B%5D%5E%7F,;ü"
    )


@given(st.floats(width=64) | st.floats(width=32), st.sampled_from(["FLOAT", "DOUBLE"]))
def test_a_floating_point_name_stands_for_its_number_and_no_other(value: float, kind: str) -> None:
    column = parse_type(kind)
    if kind == "FLOAT":
        try:
            (value,) = struct.unpack("<f", struct.pack("<f", value))
        except OverflowError:
            return
    text = named(kind, value, legacy=True)
    assert text is not None
    if math.isnan(value):
        assert text == "NaN"
        return
    assert same_float(text, value, column)
    assert not same_float(text, -value, column)
    assert not same_float("something else", value, column)
