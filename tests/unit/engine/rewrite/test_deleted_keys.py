"""Deleted keys are found in memory and in parts on disk, whatever hashes they have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.rewrite.deleted_keys import KeyIndex
from lithify.engine.rewrite.key_tables import PLACE, SEQUENCE, hashes_of, key_names, newest_of, same_keys
from lithify.engine.rewrite.parted_rows import PartedRows
from lithify.errors import StorageError

Key = tuple[int | None, str | None]
KEYS = st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from(["", "x", "y"]))
DELETES = st.lists(st.tuples(KEYS, st.integers(1, 5)), max_size=20)


def table(keys: Sequence[Key], **more: Sequence[int]) -> pa.Table:
    columns = {
        "k0": pa.array([key[0] for key in keys], pa.int64()),
        "k1": pa.array([key[1] for key in keys], pa.large_string()),
    }
    return pa.table({**columns, **{name: pa.array(values, pa.int64()) for name, values in more.items()}})


def deletes(found: Sequence[tuple[Key, int]]) -> pa.Table:
    return table([key for key, _ in found], **{SEQUENCE: [sequence for _, sequence in found]})


@given(DELETES, st.lists(st.tuples(KEYS, st.integers(0, 6)), min_size=1, max_size=20))
def test_rows_are_deleted_that_are_older_than_a_delete_of_their_key(
    deleted: list[tuple[Key, int]], rows: list[tuple[Key, int]]
) -> None:
    written = np.array([sequence for _, sequence in rows], dtype=np.int64)
    found = KeyIndex(deletes(deleted)).deleted(table([key for key, _ in rows]), written)
    assert found.tolist() == [
        any(key == other and sequence < newer for other, newer in deleted) for key, sequence in rows
    ]


@given(DELETES, st.lists(KEYS, min_size=1, max_size=20))
def test_keys_with_the_same_hash_are_told_apart(deleted: list[tuple[Key, int]], rows: list[Key]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "lithify.engine.rewrite.deleted_keys.hashes_of",
            lambda keys: np.full(keys.num_rows, 7, dtype=np.uint64),
        )
        found = KeyIndex(deletes(deleted)).deleted(table(rows), 0)
    assert found.tolist() == [key in {other for other, _ in deleted} for key in rows]


@given(DELETES)
def test_the_newest_delete_of_each_key_counts(deleted: list[tuple[Key, int]]) -> None:
    found = newest_of(deletes(deleted)).to_pylist()
    newest: dict[Key, int] = {}
    for key, sequence in deleted:
        newest[key] = max(sequence, newest.get(key, 0))
    assert {(row["k0"], row["k1"]): row[SEQUENCE] for row in found} == newest
    assert len(found) == len(newest)


def test_places_and_sequences_are_no_part_of_keys() -> None:
    one = table([(1, "x")], **{SEQUENCE: [1], PLACE: [7]})
    other = table([(1, "x")], **{SEQUENCE: [2], PLACE: [8]})
    assert key_names(one) == ["k0", "k1"]
    assert hashes_of(one) == hashes_of(other)
    assert same_keys(one, other).all()


@given(st.lists(st.lists(KEYS, max_size=10), max_size=5), st.sampled_from([1, 300, 1 << 20]))
def test_parts_have_all_rows_and_equal_keys_are_in_one(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Key]], memory: int
) -> None:
    parted = PartedRows(tmp_path_factory.mktemp("parts") / "rows", 4, memory)
    for batch in batches:
        rows = table(batch)
        parted.add(rows, hashes_of(rows))
    parted.flush()
    found = [
        [(row["k0"], row["k1"]) for piece in parted.slices(part) for row in piece.to_pylist()]
        for part in range(parted.parts)
    ]
    everything = [key for part in found for key in part]
    assert sorted(everything, key=str) == sorted((key for batch in batches for key in batch), key=str)
    assert sum(len(set(part)) for part in found) == len(set(everything))


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    rows = table([(1, "x")])
    parted = PartedRows(tmp_path / "no such folder" / "rows", 4, 1)
    with pytest.raises(StorageError):
        parted.add(rows, hashes_of(rows))
