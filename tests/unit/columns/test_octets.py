"""Rows of bytes of fixed-width values, and big-endian numbers as Java's BigInteger has them."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.octets import (
    Octets,
    decimal_words,
    fixed_array,
    fixed_octets,
    number_bytes,
    ordered,
    redundant_bytes,
    shortest,
    widened,
)
from support.cases import case

NUMBERS = st.lists(
    st.integers(-(1 << 127), (1 << 127) - 1) | st.integers(-(1 << 16), 1 << 16), min_size=1, max_size=20
)
WIDTH = 16


def big_endian(numbers: list[int], width: int = WIDTH) -> Octets:
    data = b"".join(number.to_bytes(width, "big", signed=True) for number in numbers)
    return np.frombuffer(data, np.uint8).reshape(-1, width)


def least_width(number: int) -> int:
    """Bytes of Java's `BigInteger.toByteArray`."""
    return (number if number >= 0 else ~number).bit_length() // 8 + 1


@given(NUMBERS)
def test_shortest_numbers_are_those_of_java(numbers: list[int]) -> None:
    data, lengths = shortest(big_endian(numbers))
    parts = np.split(data, np.cumsum(lengths)[:-1])
    assert [int.from_bytes(part.tobytes(), "big", signed=True) for part in parts] == numbers
    assert lengths.tolist() == [least_width(number) for number in numbers]
    assert [part.tobytes() for part in parts] == [number_bytes(number) for number in numbers]
    assert (redundant_bytes(big_endian(numbers)) + lengths == WIDTH).all()


@given(NUMBERS)
def test_ordered_bytes_have_the_order_of_the_numbers(numbers: list[int]) -> None:
    found = [row.tobytes() for row in ordered(big_endian(numbers))]
    assert sorted(found) == [row.tobytes() for row in ordered(big_endian(sorted(numbers)))]


@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=1), st.integers(4, 16))
def test_wider_numbers_are_the_same(numbers: list[int], width: int) -> None:
    assert (widened(big_endian(numbers, 4), width) == big_endian(numbers, width)).all()


ROWS = {
    "decimals": pa.array([Decimal("-1.5"), None, Decimal("2.5")], pa.decimal128(9, 1)),
    "integers": pa.array([-1, None, 2], pa.int32()),
    "fixed": pa.array([UUID(int=7).bytes, None, UUID(int=9).bytes], pa.binary(16)),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_octets_are_those_of_a_slice(name: str, start: int) -> None:
    values = ROWS[name].slice(start)
    octets = fixed_octets(values)
    assert octets.shape == (len(values), values.type.bit_width // 8)
    for row, value in zip(octets, values, strict=True):
        if value.is_valid:
            alone = fixed_octets(pa.array([value.as_py()], values.type))
            assert row.tobytes() == alone.tobytes()


def test_words_of_decimals_are_their_unscaled_values() -> None:
    values = pa.array([Decimal(-1), Decimal((1 << 64) + 5)], pa.decimal128(38, 0))
    assert decimal_words(values).tolist() == [[-1, -1], [5, 1]]


@pytest.mark.parametrize(
    "values",
    [
        case(ROWS["fixed"], id="with a null"),
        case(ROWS["fixed"].slice(1), id="from the second on"),
        case(ROWS["fixed"].slice(0, 0), id="no values"),
    ],
)
def test_octets_become_values_again(values: pa.Array) -> None:
    assert fixed_array(fixed_octets(values), values.is_valid()) == values
