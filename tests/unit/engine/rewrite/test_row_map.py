"""A row map translates as a dictionary of all rows would, and refuses what contradicts itself."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from lithify.engine.rewrite import row_map
from lithify.engine.rewrite.row_map import RowMap, Slab
from lithify.errors import CorruptTable
from support.properties import examples

WINDOW = 8
"""A small window and slab, so that few rows cross many."""


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_map, "SLAB_ROWS", WINDOW)


@st.composite
def _tasks(draw: st.DrawFn) -> tuple[list[list[bool]], list[int], list[int] | None]:
    """Whether each row of each input is live, the rows of the outputs, and the places if rows are moved."""
    inputs = draw(st.lists(st.lists(st.booleans(), max_size=4 * WINDOW), max_size=4))
    live = sum(map(sum, inputs))
    cuts = sorted(draw(st.lists(st.integers(0, live), max_size=4)))
    outputs = np.diff([0, *cuts, live]).tolist()
    places = draw(st.none() | st.permutations(range(live)))
    return inputs, outputs, places


@settings(max_examples=examples(200), deadline=None)
@given(task=_tasks(), data=st.data())
def test_a_map_translates_like_a_dictionary(
    task: tuple[list[list[bool]], list[int], list[int] | None], data: st.DataObject
) -> None:
    inputs, outputs, places = task
    rows = [(file, at) for file, live in enumerate(inputs) for at, is_live in enumerate(live) if is_live]
    homes = [(output, at) for output, count in enumerate(outputs) for at in range(count)]
    order = range(len(rows)) if places is None else places
    expected = {row: homes[place] for row, place in zip(rows, order, strict=True)}

    def slab(number: int) -> Slab:
        return np.array(places[number * WINDOW : (number + 1) * WINDOW], dtype=np.int32)

    found = RowMap("map", [*map(sum, inputs)], outputs, None if places is None else slab)

    for file, live in enumerate(inputs):
        wanted = data.draw(st.sets(st.integers(0, len(live) - 1)) if live else st.just(set()))
        gone = BitMap64(at for at, is_live in enumerate(live) if not is_live)
        moved = [*found.translate(file, BitMap64(wanted), gone or None)]
        homes_found = chain.from_iterable(zip(each.outputs, each.positions, strict=True) for each in moved)
        stay = sorted(at for at in wanted if live[at])
        assert [*homes_found] == [expected[file, at] for at in stay]
        assert sum(each.dropped for each in moved) == len(wanted) - len(stay)


def test_more_rows_in_inputs_than_in_outputs_are_refused() -> None:
    with pytest.raises(CorruptTable, match="5 live rows, and wrote 4"):
        RowMap("map", [2, 3], [4])


@pytest.mark.parametrize("position", [3, 8, 1 << 40])
def test_a_position_behind_the_end_of_its_file_is_refused(position: int) -> None:
    found = RowMap("map", [3, 20], [23])

    with pytest.raises(CorruptTable, match=f"position {position} is not among them"):
        list(found.translate(0, BitMap64([position])))


@pytest.mark.parametrize("place", [-1, 2])
def test_a_place_outside_the_outputs_is_refused(place: int) -> None:
    found = RowMap("map", [2], [2], lambda _: np.array([0, place], dtype=np.int32))

    with pytest.raises(CorruptTable, match="2 rows have places"):
        list(found.translate(0, BitMap64([1])))
