"""The nodes of rows: hash codes are those of Java, for which it was asked, and those of a model of it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import UnsupportedTable
from lithify.files.types import Field, arrow_type
from lithify.formats.iceberg.data_files.schema import parse_type
from lithify.formats.mixed.key_hashes import key_hashes, nodes_of, refused_keys
from lithify.formats.mixed.nodes import indexes_of, is_ancestor_or_same
from support.cases import case

EPOCH = datetime(1970, 1, 1)
LONG_BYTES = bytes(number * 7 % 256 for number in range(600_001))
LONG_TEXT = "".join("\N{GRINNING FACE}" if n % 3 == 0 else "ü" if n % 3 == 1 else "x" for n in range(200_001))


def field_of(kind: str) -> Field:
    return Field("k", parse_type(kind, "k"))


def hashes_of(kind: str, values: Sequence[Any]) -> list[int]:
    field = field_of(kind)
    found: list[int] = key_hashes([pa.array(values, arrow_type(field.type))], [field]).tolist()
    return found


@pytest.mark.parametrize(
    ("kind", "value", "hashed"),
    [
        case("int", 7, 38, id="int"),
        case("int", -7, 24, id="negative int"),
        case("long", 5_000_000_000, 705032736, id="long"),
        case("long", -5_000_000_000, 705032733, id="negative long"),
        case("string", "iceberg", 1629187810, id="ASCII"),
        case("string", "", 31, id="empty text"),
        case("string", "Grüße", 69215382, id="two bytes"),
        case("string", "湖仓一体", 861507951, id="three bytes"),
        case("string", "a\N{GRINNING FACE}b", 57849725, id="surrogates"),
        case("string", LONG_TEXT, -957223148, id="long text"),
        case("string", None, 31, id="null"),
        case("boolean", True, 1262, id="true"),
        case("boolean", False, 1268, id="false"),
        case("float", 1.5, 1069547551, id="float"),
        case("float", -0.0, -2147483617, id="negative zero"),
        case("float", math.nan, 2143289375, id="NaN"),
        case("double", -2.25, -1073610721, id="double"),
        case("double", -0.0, -2147483617, id="negative zero, double"),
        case("double", math.nan, 2146959391, id="NaN, double"),
        case("decimal(9, 2)", Decimal("14.20"), 44053, id="decimal"),
        case("decimal(9, 2)", Decimal("-14.20"), -43987, id="negative decimal"),
        case("decimal(9, 2)", Decimal("0.00"), 33, id="zero with a scale"),
        case("decimal(38, 3)", Decimal("12345678901234567890123456789.012"), -1747325861, id="wide"),
        case("decimal(38, 3)", Decimal("-12345678901234567890123456789.012"), 1747325929, id="negative wide"),
        case("decimal(38, 2)", Decimal(-(1 << 63)).scaleb(-2), -2147483615, id="the least of 64 bits"),
        case("binary", b"\x00\x01\xfe\x03", 1011034, id="bytes"),
        case("fixed[4]", b"\x00\x01\xfe\x03", 1011034, id="fixed"),
        case("binary", b"", 32, id="no bytes"),
        case("binary", LONG_BYTES, -1381318306, id="long bytes"),
    ],
)
def test_hash_codes_are_those_of_java(kind: str, value: object, hashed: int) -> None:
    """`Arrays.hashCode` of one value, as a program in Java has printed it."""
    assert hashes_of(kind, [value]) == [abs(hashed)]


def test_several_columns_are_hashed_in_order() -> None:
    kinds = ["long", "string", "date", "decimal(9, 1)", "int"]
    values = [42, "key", date.fromordinal(date(1970, 1, 1).toordinal() + 19000), Decimal("1.5"), None]
    fields = [field_of(kind) for kind in kinds]
    columns = [pa.array([value], arrow_type(field.type)) for value, field in zip(values, fields, strict=True)]

    assert key_hashes(columns, fields).tolist() == [1049077328], "Java: -1049077328"


def test_the_least_hash_code_has_the_largest_absolute_value() -> None:
    assert hashes_of("int", [(1 << 31) - 31]) == [(1 << 31) - 1]


def model(value: Any) -> int:
    """The hash code of a value of a Java class, modulo 2 to the 32."""
    match value:
        case None:
            return 0
        case bool():
            return 1231 if value else 1237
        case str():
            return folded(
                struct.unpack(f"<{len(value.encode('utf-16-le')) // 2}H", value.encode("utf-16-le")), 0
            )
        case bytes():
            return folded([byte if byte < 128 else byte - 256 for byte in reversed(value)], 1)
        case Decimal():
            sign, digits, exponent = value.as_tuple()
            magnitude = int("".join(map(str, digits)))
            words = [magnitude >> shift & 0xFFFFFFFF for shift in (96, 64, 32, 0)]
            return 31 * folded(words, 0) * (-1 if sign else 1) - int(exponent)
    raise TypeError(value)


def folded(parts: Sequence[int], first: int) -> int:
    for part in parts:
        first = (31 * first + part) % (1 << 32)
    return first


def long_hash(value: int) -> int:
    return (value ^ value >> 32) & 0xFFFFFFFF


def micros(value: datetime) -> int:
    return (value.replace(tzinfo=None) - EPOCH).days * 86_400_000_000 + (
        (value.replace(tzinfo=None) - EPOCH).seconds * 1_000_000 + value.microsecond
    )


KINDS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], int]]] = {
    "boolean": (st.booleans(), model),
    "int": (st.integers(-(1 << 31), (1 << 31) - 1), lambda value: value),
    "long": (st.integers(-(1 << 63), (1 << 63) - 1), long_hash),
    "date": (st.dates(), lambda value: value.toordinal() - date(1970, 1, 1).toordinal()),
    "time": (
        st.times(),
        lambda value: long_hash(micros(datetime.combine(EPOCH.date(), value))),
    ),
    "timestamp": (st.datetimes(), lambda value: long_hash(micros(value))),
    "timestamptz": (st.datetimes(timezones=st.just(UTC)), lambda value: long_hash(micros(value))),
    "string": (st.text(st.characters(codec="utf-8"), max_size=20), model),
    "binary": (st.binary(max_size=20), model),
    "fixed[5]": (st.binary(min_size=5, max_size=5), model),
    "decimal(18, 2)": (st.decimals(Decimal(-(10**15)), Decimal(10**15), places=2), model),
    "decimal(38, 3)": (st.integers(-(10**38) + 1, 10**38 - 1).map(lambda value: exact(value, 3)), model),
    "float": (
        st.floats(width=32, allow_nan=False),
        lambda value: struct.unpack("<I", struct.pack("<f", value))[0],
    ),
    "double": (
        st.floats(allow_nan=False),
        lambda value: long_hash(struct.unpack("<Q", struct.pack("<d", value))[0]),
    ),
}


def exact(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


@settings(deadline=None)
@given(data=st.data())
def test_keys_of_any_types_are_hashed_as_by_the_model(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    rows = data.draw(st.lists(st.tuples(*(st.none() | KINDS[kind][0] for kind in kinds)), max_size=8))
    fields = [field_of(kind) for kind in kinds]
    columns = [
        pa.array([row[place] for row in rows], arrow_type(field.type)) for place, field in enumerate(fields)
    ]

    found = key_hashes(columns, fields).tolist()

    for row, hashed in zip(rows, found, strict=True):
        codes = [
            0 if value is None else KINDS[kind][1](value) for kind, value in zip(kinds, row, strict=True)
        ]
        signed = (folded(codes, 1) ^ 1 << 31) - (1 << 31)
        assert hashed == min(abs(signed), (1 << 31) - 1)


@pytest.mark.parametrize("window", [4, 5, 7])
@settings(deadline=None)
@given(data=st.data())
def test_values_longer_than_a_window_are_hashed_alike(window: int, data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.none() | KINDS["string"][0], max_size=8))
    binaries = data.draw(st.lists(st.none() | KINDS["binary"][0], max_size=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lithify.formats.mixed.text_hashes._WINDOW", window)
        patched = hashes_of("string", texts), hashes_of("binary", binaries)

    assert patched == (hashes_of("string", texts), hashes_of("binary", binaries))


def test_sliced_and_dictionary_columns_are_hashed_alike() -> None:
    texts = pa.array(["skip", "ü", None, "b", "ü"]).slice(1)
    fields = [field_of("string")]

    expected = hashes_of("string", ["ü", None, "b", "ü"])
    assert key_hashes([texts], fields).tolist() == expected
    assert key_hashes([texts.dictionary_encode()], fields).tolist() == expected
    assert key_hashes([pa.array([None], pa.string()).dictionary_encode()], fields).tolist() == [31]


@given(st.lists(KINDS["string"][0], min_size=1, max_size=8), st.integers(0, 5))
def test_deeper_nodes_of_a_row_are_below_its_others(texts: list[str], level: int) -> None:
    fields, column = [field_of("string")], pa.array(texts)

    above = nodes_of([column], fields, (1 << level) - 1)
    below = nodes_of([column], fields, (2 << level) - 1)

    assert is_ancestor_or_same(above, below).all()
    assert (indexes_of(above) == key_hashes([column], fields) & ((1 << level) - 1)).all()


@pytest.mark.parametrize("kind", ["uuid", "timestamp_ns", "timestamptz_ns", "unknown"])
def test_keys_that_engines_hash_differently_are_refused_by_name(kind: str) -> None:
    field = field_of(kind)

    assert [reason.split(":")[0] for reason in refused_keys([field_of("int"), field])] == ["column k"]
    with pytest.raises(UnsupportedTable):
        key_hashes([pa.nulls(1)], [field])


def test_texts_that_are_not_utf_8_are_refused() -> None:
    damaged = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(struct.pack("<ii", 0, 2)), pa.py_buffer(b"\xed\xa0")]
    )

    with pytest.raises(UnsupportedTable) as failure:
        key_hashes([damaged], [field_of("string")])

    assert "column k" in failure.value.reasons[0]


def test_times_are_microseconds() -> None:
    assert hashes_of("time", [time(0, 0, 1)]) == [31 + 1_000_000]
