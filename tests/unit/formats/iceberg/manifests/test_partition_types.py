"""Partition values between manifests and Python: nothing is lost on the way and back."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lithify.formats.iceberg.manifests.partition_types import (
    fixed_size,
    physical_of,
    value_of,
    wider_type,
)
from support.cases import case

DIGITS = 12345678901234567890123456789012345678


@pytest.mark.parametrize(
    ("kind", "unscaled", "value"),
    [
        case("decimal(38,2)", DIGITS, Decimal("123456789012345678901234567890123456.78"), id="38 digits"),
        case("decimal(38,38)", -DIGITS, Decimal(f"-0.{DIGITS}"), id="all of them after the point"),
        case("decimal(38,0)", 10**38 - 1, Decimal(10**38 - 1), id="greatest"),
        case("decimal(9,2)", 0, Decimal("0.00"), id="zero"),
        case("decimal(9,2)", -150, Decimal("-1.50"), id="negative"),
    ],
)
def test_decimals_keep_all_digits(kind: str, unscaled: int, value: Decimal) -> None:
    physical = unscaled.to_bytes(fixed_size(kind), "big", signed=True)
    found = value_of(physical, kind)
    assert (found, str(found)) == (value, str(value))
    assert physical_of(found, kind) == physical


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("sign", [1, -1])
def test_years_that_python_does_not_have_stay_numbers(kind: str, sign: int) -> None:
    physical = sign * (3_000_000 if kind == "date" else 1 << 60)
    assert value_of(physical, kind) == physical
    assert physical_of(physical, kind) == physical


def test_days_are_dates_whatever_their_writer_says() -> None:
    assert wider_type("int", "date") == wider_type("date", "int") == "date"
