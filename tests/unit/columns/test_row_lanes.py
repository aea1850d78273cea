"""Numbers and texts are read at many offsets at once, as reading one after the other finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.row_lanes import ByteBlock, Lanes
from lithify.files.avro.container import as_long
from support.properties import examples


def after_numbers(data: bytes, at: int, count: int) -> int | None:
    """The offset after some numbers, read byte by byte; None if there are not as many."""
    for place in range(at, len(data)):
        count -= data[place] < 0x80
        if not count:
            return place + 1
    return None


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from([0, 2, 127, 128, 255]), min_size=1, max_size=60).map(bytes), st.data())
def test_past_numbers_agrees_with_reading_bytes(data: bytes, given_data: st.DataObject) -> None:
    places = st.tuples(st.integers(0, len(data)), st.integers(1, len(data)))
    at, counts = np.array(given_data.draw(st.lists(places, min_size=1, max_size=9))).T
    found = ByteBlock(data).past_numbers(at, counts)
    for start, count, end in zip(at.tolist(), counts.tolist(), found.tolist(), strict=True):
        expected = after_numbers(data, start, count)
        assert end == expected if expected is not None else end > len(data)


def test_past_numbers_from_nowhere_leads_past_the_block() -> None:
    block = ByteBlock(bytes(16))
    nowhere = Lanes(block, np.zeros(1, dtype=np.int64)).nowhere
    assert block.past_numbers(np.array([nowhere]), np.array([1]))[0] > block.size


ENTRIES = {
    "empty value": (as_long(3) + as_long(0), [3], 2),
    "value": (as_long(63) + as_long(2) + b"ab", [63], 4),
    "negative key": (b"\x05" + as_long(1) + b"a", [-3], 3),
}


@pytest.mark.parametrize(("data", "keys", "end"), ENTRIES.values(), ids=ENTRIES)
def test_short_entries_are_read_as_key_and_length(data: bytes, keys: list[int], end: int) -> None:
    lanes = Lanes(ByteBlock(data), np.array([0]))
    found = lanes.short_entries()
    assert found is not None
    assert (found.tolist(), lanes.at.tolist()) == (keys, [end])


OTHERS = {
    "key of two bytes": as_long(64) + as_long(1) + b"a",
    "length of two bytes": as_long(1) + as_long(64) + bytes(64),
    "negative length": as_long(1) + b"\x01" + bytes(9),
}


@pytest.mark.parametrize("data", OTHERS.values(), ids=OTHERS)
def test_other_entries_are_left_to_the_general_way(data: bytes) -> None:
    lanes = Lanes(ByteBlock(data), np.array([0]))
    assert lanes.short_entries() is None
    assert lanes.at.tolist() == [0]


def test_short_entries_that_are_cut_off_lead_nowhere() -> None:
    lanes = Lanes(ByteBlock(as_long(1) + as_long(5) + b"abc"), np.array([0]))
    assert lanes.short_entries() is not None
    assert lanes.at.tolist() == [lanes.nowhere]


BRANCHES = {
    "all there": (b"\x02\x02", [True, True], [1, 2]),
    "none there": (b"\x00\x00", [False, False], [1, 2]),
    "some there": (b"\x02\x00", [True, False], [1, 2]),
    "no such branch": (b"\x02\x04", [True, False], [1, 3]),
}


@pytest.mark.parametrize(("data", "is_there", "at"), BRANCHES.values(), ids=BRANCHES)
def test_branches_tell_what_is_there(data: bytes, is_there: list[bool], at: list[int]) -> None:
    lanes = Lanes(ByteBlock(data), np.array([0, 1]))
    assert (lanes.branches().tolist(), lanes.at.tolist()) == (is_there, at)
