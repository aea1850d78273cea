"""Serialized bitmaps have the containers that Java's RoaringBitmap chooses; damage of frames is found."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest

from lithify.columns.bitmaps import FRAME, bitmap_of, deserialize, framed, serialize, unframed
from support.cases import case


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


@pytest.mark.parametrize("content", [b"", b"a vector"])
def test_frames_are_taken_off_whatever_follows(content: bytes) -> None:
    stored = framed(content)
    assert len(stored) == len(content) + FRAME
    assert unframed(stored) == unframed(stored + b"the next one") == content


@pytest.mark.parametrize(
    "damaged",
    [
        case(b"", id="nothing"),
        case(framed(b"abc")[:-1], id="cut off"),
        case(b"\xff" + framed(b"abc")[1:], id="another length"),
        case(framed(b"abc")[:5] + b"x" + framed(b"abc")[6:], id="another byte"),
        case(framed(b"abc")[:-1] + b"\0", id="another checksum"),
    ],
)
def test_damaged_frames_are_refused(damaged: bytes) -> None:
    with pytest.raises(ValueError, match="vector"):
        unframed(damaged)
