"""Serialized bitmaps have the containers that Java's RoaringBitmap chooses."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest

from lithify.columns.bitmaps import bitmap_of, deserialize, serialize


@pytest.mark.parametrize(
    ("positions", "kind"),
    [
        ([1, 2], "list"),
        ([1, 2, 3], "list"),  # as many bytes as a run
        ([1, 2, 3, 4], "run"),
        ([1, 2, 3, 5, 6], "list"),
        ([*range(0, 8192, 2)], "list"),
        ([*range(0, 8194, 2)], "bits"),
        ([*range(5000)], "run"),
    ],
)
def test_containers_are_those_of_java(positions: list[int], kind: str) -> None:
    data = serialize(bitmap_of(positions))
    has_runs = struct.unpack_from("<H", data)[0] == 12347
    size = len(data) - (4 + 1 + 4 if has_runs else 8 + 4 + 4)
    assert has_runs == (kind == "run")
    runs = 1 + sum(before + 1 != after for before, after in pairwise(positions))
    assert size == {"run": 2 + 4 * runs, "list": 2 * len(positions), "bits": 8192}[kind]
    assert deserialize(data) == bitmap_of(positions)


@pytest.mark.parametrize("content", [b"", b"not a bitmap"])
def test_bytes_that_are_no_bitmap_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        deserialize(content)
