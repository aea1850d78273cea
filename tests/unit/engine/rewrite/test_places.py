"""Places in the order of numbers are the inverse of numbers in the order of places, in memory and on disk."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite import places
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.places import Places, PlacesInMemory, PlacesOnDisk, place_type, places_of
from lithify.errors import CorruptTable, StorageError
from support.properties import examples

SLAB = 8


@pytest.fixture(autouse=True)
def _small_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "SLAB_ROWS", SLAB)


def _both(rows: int, folder: Path) -> list[Places]:
    return [PlacesInMemory(rows, "folder"), PlacesOnDisk(rows, "folder", 512, folder / "places")]


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data(), rows=st.integers(0, 5 * SLAB))
def test_array_and_disk_find_the_place_of_each_number(data: st.DataObject, rows: int) -> None:
    numbers = np.array(data.draw(st.permutations(range(rows))), dtype=np.int64)
    cuts = sorted(data.draw(st.sets(st.integers(0, rows), max_size=6)))
    with TemporaryDirectory() as folder:
        for collected in _both(rows, Path(folder)):
            for part in np.split(numbers, cuts):
                collected.add(part)
            slabs = [*collected.slabs()]
            assert [len(each) for each in slabs] == [min(SLAB, rows - at) for at in range(0, rows, SLAB)]
            assert np.concatenate([np.zeros(0, int), *slabs])[numbers].tolist() == [*range(rows)]


@pytest.mark.parametrize(
    "numbers",
    [range(19), range(1, 20), [*range(19), 18], [*range(19), 20], [-1, *range(19)], range(21), []],
    ids=["last missing", "first missing", "twice", "too large", "negative", "too many", "none"],
)
@pytest.mark.parametrize("kind", [0, 1], ids=["array", "disk"])
def test_holes_and_doubles_are_refused(tmp_path: Path, kind: int, numbers: list[int]) -> None:
    collected = _both(20, tmp_path)[kind]

    with pytest.raises(CorruptTable, match="rows were"):
        _ = collected.add(np.array(numbers, dtype=np.int64)), *collected.slabs()


@pytest.mark.parametrize(
    ("rows", "budget", "kind"),
    [(1 << 20, 32 << 20, PlacesInMemory), ((1 << 20) + 1, 32 << 20, PlacesOnDisk)],
)
def test_an_array_takes_at_most_an_eighth_of_the_budget(
    tmp_path: Path, rows: int, budget: int, kind: type[Places]
) -> None:
    collected = places_of(rows, "folder", Budget(budget), tmp_path)

    assert isinstance(collected, kind)
    assert collected.memory == budget // 8


def test_rows_are_counted_with_more_bits_where_they_need_them() -> None:
    assert (place_type((1 << 31) - 1), place_type(1 << 31)) == (np.int32, np.int64)


def test_full_disk_is_told_as_such(tmp_path: Path) -> None:
    collected = PlacesOnDisk(20, "folder", 8, tmp_path / "missing" / "places")

    with pytest.raises(StorageError, match="mapping rows needs more room on the local disk"):
        collected.add(np.arange(20))
