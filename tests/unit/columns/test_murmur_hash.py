"""Murmur3 of single texts and of many words at once."""

from __future__ import annotations

import numpy as np
import pytest

from lithify.columns.murmur_hash import finished, mixed, murmur3


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"a", 0x3C2569B2),
        (b"abc", 0xB3DD93FA),
        (b"abcd", 0x43ED676A),
        (b"Hello, world!", 0xC0363E43),
    ],
)
def test_hash_of_bytes_is_that_of_the_reference(data: bytes, expected: int) -> None:
    assert murmur3(data) == expected


def test_many_hashes_at_once_are_those_of_each() -> None:
    words = np.array([0, 1, 0x64636261, 0xFFFF_FFFF], np.uint32)
    found = finished(mixed(np.zeros(4, np.uint32), words), np.full(4, 4, np.uint32))
    assert found.tolist() == [murmur3(word.tobytes()) for word in words.astype("<u4")]
