"""Numbers and booleans among properties: wrong ones are named, or mean the default."""

from __future__ import annotations

import pytest

from lithify.errors import InvalidOption
from lithify.formats.iceberg.properties import digits_in, is_true, number_in
from support.cases import case


@pytest.mark.parametrize("text", ["", "many", "1.5", "0", "9"])
def test_numbers_outside_of_their_bounds_are_named(text: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        number_in({"a": text}, "a", 5, 1, 8)
    assert refused.value.option == "a"


def test_a_number_or_its_default_is_taken() -> None:
    assert (number_in({"a": "7"}, "a", 5, 1, 8), number_in({}, "a", 5, 1, 8)) == (7, 5)


def test_a_default_outside_of_the_bounds_is_named_too() -> None:
    """It may follow from another option."""
    with pytest.raises(InvalidOption):
        number_in({}, "a", 0, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        case("12", 12, id="digits"),
        case("", 3, id="nothing"),
        case("-1", 3, id="a sign"),
        case("1.0", 3, id="a fraction"),
        case("\u0661", 3, id="digits of another script"),
        case("\u00b2", 3, id="a digit that is no number"),
        case(str(2**63 - 1), 2**63 - 1, id="the largest"),
        case("9" * 5000, 3, id="more digits than Python converts"),
    ],
)
def test_only_digits_count_where_anyone_may_write(text: str, expected: int) -> None:
    assert digits_in({"a": text}, "a", 3) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("TRUE", True), (" true", False), ("yes", False), ("", False)]
)
def test_whatever_is_not_true_is_false(text: str, *, expected: bool) -> None:
    assert is_true({"a": text}, "a", "true") is expected


def test_a_missing_boolean_is_the_default() -> None:
    assert is_true({}, "a", "true")
    assert not is_true({}, "a")
