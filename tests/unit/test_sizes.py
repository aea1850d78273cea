"""Sizes as people write them: the units of Paimon's options, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon.common.memory_size import MemorySize

from lithify.sizes import parse_size
from support.cases import case

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7", 7),
        ("7b", 7),
        ("2 kb", 2048),
        ("2KB", 2048),
        ("3 mb", 3 * MIB),
        ("1 g", 1 << 30),
        ("1tb", 1 << 40),
    ],
)
def test_sizes_are_read_in_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@given(
    st.integers(0, 1 << 20),
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(
        ["", "b", "bytes", "k", "kB", "KibiBytes", "m", "mb", "mebibytes", "g", "Gb", "t", "tebibytes"]
    ),
)
def test_they_mean_what_they_mean_to_paimon(number: int, space: str, unit: str) -> None:
    text = f"{number}{space}{unit}"
    assert parse_size(text) == MemorySize.parse(text).get_bytes()


@pytest.mark.parametrize(
    "text",
    [
        case("", id="nothing"),
        case("mb", id="no number"),
        case("1.5gb", id="a fraction"),
        case("-1", id="below nothing"),
        case("1 parsec", id="no unit of bytes"),
        case("1gib", id="a unit that says that it is binary"),
        case("٣mb", id="digits that Java does not take"),
        case("9223372036854775808", id="more than 64 bits"),
        case("8388608 tb", id="more than 64 bits with its unit"),
        case("9" * 5000, id="more digits than Python takes"),
    ],
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_size(text)
