"""Figures of partitions equal those that are counted file by file."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.mixed.figures import Files, keyed_figures, keyless_figures

COUNT = 3
SIZES = st.integers(0, 20) | st.just(1 << 60)
FILES = st.lists(st.tuples(st.integers(0, COUNT - 1), SIZES), max_size=6)
SINCE = np.array([1, 2, 3])


def files_of(pairs: list[tuple[int, int]]) -> Files:
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return Files(columns[:, 0], columns[:, 1])


def bytes_of(pairs: list[tuple[int, int]]) -> list[int]:
    return [sum(size for partition, size in pairs if partition == number) for number in range(COUNT)]


def counts_of(pairs: list[tuple[int, int]]) -> list[int]:
    return [sum(partition == number for partition, _ in pairs) for number in range(COUNT)]


@given(FILES, FILES, FILES, FILES)
def test_figures_of_keyed_tables(
    base: list[tuple[int, int]],
    base_deletes: list[tuple[int, int]],
    inserts: list[tuple[int, int]],
    deletes: list[tuple[int, int]],
) -> None:
    found = keyed_figures(SINCE, 10, *map(files_of, (base, base_deletes, inserts, deletes)))

    assert found.base_bytes.tolist() == bytes_of(base)
    assert found.insert_bytes.tolist() == bytes_of(inserts)
    assert found.delete_bytes.tolist() == bytes_of(deletes)
    assert found.change_files.tolist() == counts_of([*inserts, *deletes])
    assert found.small_base_files.tolist() == counts_of([each for each in base if each[1] < 10])
    assert found.base_deletes.tolist() == counts_of(base_deletes)
    assert (len(found), found.since_millis.tolist()) == (COUNT, SINCE.tolist())


@given(FILES, FILES)
def test_tables_without_keys_have_no_changes(
    base: list[tuple[int, int]], deletes: list[tuple[int, int]]
) -> None:
    found = keyless_figures(SINCE, 10, files_of(base), files_of(deletes))

    assert found.base_bytes.tolist() == bytes_of(base)
    assert found.delete_bytes.tolist() == bytes_of(deletes)
    assert found.base_deletes.tolist() == counts_of(deletes)
    assert found.small_base_files.tolist() == counts_of([each for each in base if each[1] < 10])
    assert not found.change_files.any()
    assert not found.insert_bytes.any()
