"""The search for files that nothing names: against sets of texts, at every size of its portions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.column_groups import Flags, whole, with_columns
from lithify.engine.maintenance.orphan_search import Chosen, Orphans, delete_orphans, find_orphans, gather
from lithify.engine.maintenance.stored_files import StoredFiles
from lithify.formats.protocol.maintenance import MOST_SAMPLES
from lithify.io.listings import listing_of

NAMES = st.text("abc", min_size=1, max_size=3)
FILES = st.lists(st.tuples(NAMES, st.integers(0, 2), st.integers(-5, 20)), max_size=30)
"""Name, folder and time of each file; names repeat in other folders."""
CUTOFF = 10


def listing(files: Sequence[tuple[str, int, int]]) -> pa.Table:
    times = pa.array([at for _, _, at in files], pa.int64())
    return listing_of([f"{folder}/{name}" for name, folder, _ in files], [7] * len(files), times)


def choose(files: pa.Table) -> Chosen:
    """All files but those of folder 2; the kind is the folder."""
    kinds = np.array([int(path[0]) for path in files["path"].to_pylist()], dtype=np.int8)
    found = with_columns(files, kind=kinds).filter(pa.array(kinds < 2))
    return found, pa.array([path[2:] for path in found["path"].to_pylist()], pa.string())


def nobody(paths: pa.Array) -> Flags:
    return np.zeros(len(paths), dtype=bool)


def search(files: Sequence[tuple[str, int, int]], names: Sequence[str], portion: int = 1 << 20) -> Orphans:
    batches = [listing(files[at : at + 4]) for at in range(0, len(files), 4)]
    candidates = gather(batches, choose, CUTOFF, portion)
    return find_orphans(candidates, lambda: [pa.array(names, pa.string())], nobody, 2)


def paths_of(files: StoredFiles) -> list[str]:
    return [path for batch in files.batches() for path in batch["path"].to_pylist()]


@given(files=FILES, names=st.lists(NAMES, max_size=5), portion=st.integers(1, 40))
def test_orphans_are_old_files_in_their_place_that_nothing_names(
    files: list[tuple[str, int, int]], names: list[str], portion: int
) -> None:
    found = search(files, names, portion)

    expected = [
        f"{folder}/{name}"
        for name, folder, at in files
        if folder < 2 and 0 < at < CUTOFF and name not in names
    ]
    assert paths_of(found.files) == expected
    assert found.counts.tolist() == [sum(path[0] == kind for path in expected) for kind in "01"]
    assert found.amount.size == 7 * len(expected)
    assert (found.listed.files, found.listed.size) == (len(files), 7 * len(files))
    assert found.samples == tuple(expected[:MOST_SAMPLES])
    found.disk.close()


def test_names_are_read_once_for_each_portion() -> None:
    read: list[int] = []

    def names() -> Iterator[pa.Array]:
        read.append(1)
        return iter(())

    files = [(f"{number}", 0, 1) for number in range(8)]
    batches = [listing(files[:4]), listing(files[4:])]
    assert find_orphans(gather(batches, choose, CUTOFF, 4), names, nobody, 2).amount.files == 8
    assert len(read) == 2


def test_spared_files_stay() -> None:
    def is_b(paths: pa.Array) -> Flags:
        return np.array([path.endswith("b") for path in paths.to_pylist()])

    candidates = gather([listing([("a", 0, 1), ("b", 0, 1)])], choose, CUTOFF)
    assert paths_of(find_orphans(candidates, list, is_b, 2).files) == ["0/a"]


def test_deletion_reports_what_it_deleted() -> None:
    deleted: list[str] = []
    found = search([("a", 0, 1), ("b", 1, 1), ("c", 1, 1)], ["c"])
    counts, size = delete_orphans(found, "root", deleted.extend, list)
    assert (deleted, counts.tolist(), size) == (["root/0/a", "root/1/b"], [1, 1], 14)


@pytest.mark.thorough
def test_names_that_come_after_the_plan_are_kept() -> None:
    """Also in the portions of files that follow the one before which they were read."""
    files = [(f"{number}", 0, 1) for number in range(30_000)]
    found = search(files, [])
    news = iter([[pa.array(["5", "29999"])], [], []])
    deleted: list[str] = []
    counts, _ = delete_orphans(found, "r", deleted.extend, lambda: next(news))
    assert len(deleted) == counts[0] == 29_998
    assert not {"r/0/5", "r/0/29999"} & set(deleted)
    assert list(news) == [], "names are read before each portion"


def test_folder_on_the_local_disk_disappears_with_its_owner() -> None:
    found = search([("a", 0, 1)], [])
    folder = found.disk.folder
    assert folder.exists()
    del found
    assert not folder.exists()


@pytest.mark.thorough
def test_whole_column_is_read_back() -> None:
    files = [(f"{number}", 0, 1) for number in range(25_000)]
    found = search(files, [])
    assert sum(len(whole(batch["path"])) for batch in found.files.batches()) == len(found.files.hashes())
