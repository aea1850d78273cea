"""The map of a task finds every row of its inputs in its outputs, whichever way the task writes them.

A column tells which row is which: for each bit of a row's position, the rows with that bit are looked up, so
a row that is found in the place of another one is noticed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lithify.clock import SystemClock
from lithify.columns.orders import SortStrategy
from lithify.engine.rewrite.budget import Budget
from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.maintenance.orphan_places import OrphanPlaces
from lithify.formats.iceberg.model import DataFile
from lithify.formats.iceberg.rewriting import packing
from lithify.formats.iceberg.rewriting.maps import MappedInput, MappedOutput, RowMaps, TaskMap
from lithify.formats.iceberg.rewriting.ordering import CurveOrder, SortOrder
from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec
from lithify.formats.iceberg.table.row_orders import OrderField
from lithify.formats.protocol.results import TaskOutputs
from lithify.io.listings import listing_of
from support.iceberg_files import Files, run, schema_of, task_of, with_deletes
from support.properties import examples

pytestmark = pytest.mark.thorough

SCHEMA = schema_of(("id", "long"), ("key", "long"))
TINY = Budget(4 << 20)
BY_KEY = SortOrder((OrderField(2),), SCHEMA)
BUCKETS = PartitionSpec(3, (PartitionField(2, "b", "bucket[16]"),))
JOINABLE = {"compression": "zstd", "use_dictionary": False, "write_page_index": True}
UNPACKED = {"write.parquet.compression-codec": "uncompressed"}
PREFIX = "6c8d7959-43d4-4c51-8de8-"


class Rows:
    """Files whose rows have increasing ids, and keys at random."""

    def __init__(self, folder: Path) -> None:
        self.files = Files(folder, SCHEMA)
        self.rng = np.random.default_rng(1)
        self.next = 0

    def file(self, rows: int, **how: Any) -> DataFile:
        """A file of some rows."""
        first, self.next = self.next, self.next + rows
        keys = self.rng.integers(0, 1 << 60, rows)
        return self.files.data({"id": np.arange(first, first + rows), "key": keys}, **how)

    def of(self, rows: Sequence[int], **how: Any) -> list[DataFile]:
        """Files of some rows each."""
        return [self.file(each, **how) for each in rows]


def rewritten(
    files: Files, inputs: Sequence[DataFile], *, smallest: int | None = None, **how: Any
) -> TaskOutputs:
    """What a task returns that writes its map; `smallest` are the bytes of row groups that are copied."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "SMALLEST_COPIED", smallest or packing.SMALLEST_COPIED)
        return run(task_of(files, inputs, maps=f"{files.folder}/metadata", **{"prefix": PREFIX, **how}))


def assert_each_row_is_found(
    files: Files,
    inputs: Sequence[DataFile],
    outputs: TaskOutputs,
    dropped: dict[str, set[int]],
    folder: Path,
    step: int = 1,
) -> None:
    """Looks the rows of each input up that have a bit, for each bit, or for every `step`th one."""
    (found,) = pickle.loads(pickle.dumps(outputs.maps))
    maps = RowMaps([found], files.storage, folder)
    written = {each.path: _ids(each.path) for each in outputs.data}
    assert [each.path for each in found.outputs] == [*written]
    for file in inputs:
        ids, gone = _ids(file.path), np.array(sorted(dropped.get(file.path, ())), dtype=np.int64)
        for wanted in _subsets(file.rows, step):
            translation = maps.translate(file.path, bitmap_of(wanted))
            at = [written[path][[*positions]] for path, positions in translation.positions.items()]
            live = np.setdiff1d(wanted, gone)
            assert np.array_equal(np.sort(np.concatenate([np.zeros(0, int), *at])), ids[live])
            assert translation.dropped == len(wanted) - len(live)


def _subsets(rows: int, step: int) -> Iterator[np.ndarray]:
    positions = np.arange(rows)
    yield positions
    for bit in range(0, rows.bit_length(), step):
        yield positions[positions >> bit & 1 == 1]


def _ids(path: str) -> np.ndarray:
    ids: np.ndarray = pq.ParquetFile(path).read(["id"]).column(0).to_numpy()
    return ids


def _deleted(rows: Rows, inputs: Sequence[DataFile]) -> tuple[list[DataFile], dict[str, set[int]]]:
    """The files with deletes of all three kinds, and the positions that they delete; the last one stays."""
    first, second, third = inputs[:3]
    of_first, of_third = {0, *range(5, first.rows, 7)}, {*range(1, third.rows, 2)}
    ids = [int(_ids(second.path)[0]), int(_ids(third.path)[-1])]
    equal = rows.files.equality({"id": ids}, [1])
    found = [
        with_deletes(first, rows.files.vector(first, sorted(of_first))),
        with_deletes(second, equal),
        with_deletes(third, rows.files.positions([(third, at) for at in sorted(of_third)]), equal),
        *inputs[3:],
    ]
    gone = {first.path: of_first, second.path: {0}, third.path: {*of_third, third.rows - 1}}
    return found, gone


def _sorted_files(rows: Rows) -> list[DataFile]:
    """Sixteen files, each in the order of its keys."""
    parts = np.sort(rows.rng.integers(0, 1 << 60, (16, 300)), axis=1)
    return [
        rows.files.data({"id": np.arange(300) + 300 * number, "key": keys})
        for number, keys in enumerate(parts)
    ]


WAYS: list[tuple[str, Callable[[Rows], list[DataFile]], dict[str, Any], bool, range]] = [
    # name, inputs, how they are written, whether places are stored, number of files
    ("streamed", lambda rows: rows.of((5, 900, 70, 1)), {}, False, range(1, 2)),
    (
        "row groups copied",
        lambda rows: rows.of((9, 9, 9, 70_000, 50_000), row_group_size=40_000, **JOINABLE),
        {"smallest": 64 << 10},
        False,
        range(1, 2),
    ),
    (
        "pages joined",
        lambda rows: rows.of((9, 9, 9, 40_000, 40_000, 40_000), **JOINABLE),
        {"smallest": None},
        False,
        range(1, 2),
    ),
    (
        "rolled",
        lambda rows: rows.of((30_000,) * 4, compression="none", use_dictionary=False),
        {"properties": {"write.target-file-size-bytes": "500000", **UNPACKED}, "budget": TINY},
        False,
        range(3, 5),
    ),
    (
        "rest written into the last file",
        lambda rows: rows.of((30_000, 30_000, 30_000, 4_000), compression="none", use_dictionary=False),
        {"properties": {"write.target-file-size-bytes": "700000", **UNPACKED}, "budget": TINY},
        False,
        range(2, 3),
    ),
    ("sorted inputs merged", _sorted_files, {"order": BY_KEY}, True, range(1, 2)),
    (
        "sorted, through disk, rolled, rest appended",
        lambda rows: rows.of((40_000, 40_000, 9_000, 1_000), compression="none"),
        {
            "order": BY_KEY,
            "budget": Budget(2 << 20),
            "properties": {"write.target-file-size-bytes": "600000", **UNPACKED},
        },
        True,
        range(2, 3),
    ),
    (
        "along a curve",
        lambda rows: rows.of((500, 700, 90, 4)),
        {"order": CurveOrder((1, 2), SortStrategy.HILBERT, SCHEMA)},
        True,
        range(1, 2),
    ),
    ("re-partitioned", lambda rows: rows.of((500, 700, 90, 4)), {"spec": BUCKETS}, True, range(16, 17)),
    (
        "re-partitioned and sorted",
        lambda rows: rows.of((500, 700, 90, 4)),
        {"spec": BUCKETS, "order": BY_KEY},
        True,
        range(16, 17),
    ),
]


@pytest.mark.parametrize("deletes", [False, True], ids=["no deletes", "deletes"])
@pytest.mark.parametrize(
    ("inputs", "how", "moves", "count"), [way[1:] for way in WAYS], ids=[way[0] for way in WAYS]
)
def test_each_row_is_found_where_it_was_written(
    tmp_path: Path,
    inputs: Callable[[Rows], list[DataFile]],
    how: dict[str, Any],
    count: range,
    *,
    moves: bool,
    deletes: bool,
) -> None:
    rows = Rows(tmp_path)
    files = inputs(rows)
    files, dropped = _deleted(rows, files) if deletes else (files, {})

    is_copied = "smallest" in how
    outputs = rewritten(rows.files, files, **how)

    assert (outputs.copied_bytes > 200_000) is is_copied
    assert len(outputs.data) in count or deletes
    assert bool(outputs.maps[0].places) is moves
    assert bool(outputs.maps[0].dropped) is deletes
    (tmp_path / "local").mkdir()
    assert_each_row_is_found(rows.files, files, outputs, dropped, tmp_path / "local")


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, list[DataFile]]:
    """Files of which row groups are copied, pages joined, or rows decoded, if small row groups may be
    copied."""
    rows = Rows(tmp_path_factory.mktemp("pool"))
    some = rows.of((1, 700, 40_000, 40_000, 40_000), **JOINABLE)
    return rows, [*some, rows.file(30_000, row_group_size=20_000)]


@settings(
    max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    order=st.just([*range(6)]) | st.permutations(range(6)),
    taken=st.integers(1, 6),
    holes=st.sets(st.integers(0, 5), max_size=2),
    target=st.sampled_from(["100000", "400000", "536870912"]),
    smallest=st.sampled_from([64 << 10, None]),
    budget=st.sampled_from([TINY, Budget()]),
)
@example(  # pages of three files are joined
    order=[0, 2, 3, 4, 1, 5], taken=5, holes={0}, target="536870912", smallest=None, budget=Budget()
)
def test_rows_that_are_not_moved_keep_their_order(
    pool: tuple[Rows, list[DataFile]],
    tmp_path_factory: pytest.TempPathFactory,
    order: list[int],
    taken: int,
    holes: set[int],
    target: str,
    smallest: int | None,
    budget: Budget,
) -> None:
    rows, files = pool
    dropped = {files[each].path: {*range(each, files[each].rows, 3)} for each in holes}
    inputs = [
        with_deletes(files[each], rows.files.vector(files[each], sorted(dropped[files[each].path])))
        if dropped.get(files[each].path)
        else files[each]
        for each in order[:taken]
    ]
    properties = {"write.target-file-size-bytes": target}

    outputs = rewritten(rows.files, inputs, smallest=smallest, properties=properties, budget=budget)

    folder = tmp_path_factory.mktemp("local")
    assert_each_row_is_found(rows.files, inputs, outputs, dropped, folder, step=3)


@pytest.mark.parametrize("order", [None, BY_KEY], ids=["in order", "sorted"])
def test_task_that_drops_every_row_has_a_map_without_outputs(tmp_path: Path, order: SortOrder | None) -> None:
    rows = Rows(tmp_path)
    file = rows.file(30)
    inputs = [with_deletes(file, rows.files.vector(file, range(30)))]

    outputs = rewritten(rows.files, inputs, order=order)

    assert (outputs.data, outputs.maps[0].outputs, outputs.maps[0].places) == ((), (), None)
    assert_each_row_is_found(rows.files, inputs, outputs, {file.path: {*range(30)}}, tmp_path)


def test_maps_of_several_tasks_are_asked_by_input(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    inputs = rows.of((30, 40))
    tasks = [rewritten(rows.files, [file], order=BY_KEY, index=number) for number, file in enumerate(inputs)]
    maps = RowMaps(TaskOutputs.joined(tasks).maps, rows.files.storage, tmp_path)

    for file, task in zip(inputs, tasks, strict=True):
        (positions,) = maps.translate(file.path, bitmap_of([7])).positions.values()
        assert [_ids(task.data[0].path)[at] for at in positions] == [_ids(file.path)[7]]


def test_asking_again_reads_no_place_again(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    inputs = rows.of((30,))
    outputs = rewritten(rows.files, inputs, order=BY_KEY)
    maps = RowMaps(outputs.maps, rows.files.storage, tmp_path)
    first = maps.translate(inputs[0].path, bitmap_of([3]))
    Path(outputs.maps[0].places).unlink()

    assert maps.translate(inputs[0].path, bitmap_of([3])) == first
    assert [*maps.translate(inputs[0].path, bitmap_of([4])).positions] == [*first.positions]


def test_files_of_maps_are_found_by_clean_up(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    file = rows.file(30)
    inputs = [with_deletes(file, rows.files.vector(file, [3]))]

    paths = rewritten(rows.files, inputs, order=BY_KEY).maps[0].paths

    names = [Path(path).relative_to(tmp_path).as_posix() for path in paths]
    assert names == [f"metadata/{PREFIX}000000000000-{end}" for end in ("dropped.puffin", "places.parquet")]
    listing = listing_of(names, [1, 1], pa.array([1, 1], pa.int64()))
    assert len(OrphanPlaces("data", "metadata").candidates(listing)[0]) == len(names)


def test_task_that_nobody_asks_writes_no_map(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    file = rows.file(30)

    outputs = run(task_of(rows.files, [with_deletes(file, rows.files.vector(file, [3]))], order=BY_KEY))

    assert outputs.maps == ()
    assert not (tmp_path / "metadata").exists()


def test_failed_task_leaves_no_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(tmp_path)
    file = rows.file(30)
    inputs = [with_deletes(file, rows.files.vector(file, [3]))]
    task = task_of(rows.files, inputs, order=BY_KEY, maps=f"{tmp_path}/metadata")
    monkeypatch.setenv("LITHIFY_FAULTS", "map-written=raise:5")

    with pytest.raises(OSError, match="asked for"):
        task.run(SystemClock())

    assert [*(tmp_path / "metadata").iterdir()] == []
    assert [*(tmp_path / "data").iterdir()] == []


def test_map_that_loses_rows_is_refused() -> None:
    with pytest.raises(CorruptTable, match="its task read 3 rows that are not deleted, but wrote 2"):
        TaskMap((MappedInput("a", 4, dropped=1),), (MappedOutput("b", 2),))


@pytest.fixture
def both(tmp_path: Path) -> tuple[Rows, DataFile, TaskMap]:
    """A task's map with dropped positions and places."""
    rows = Rows(tmp_path)
    file = rows.file(3_000)
    inputs = [with_deletes(file, rows.files.vector(file, [3]))]
    return rows, file, rewritten(rows.files, inputs, order=BY_KEY).maps[0]


@pytest.mark.parametrize("number", [0, 1], ids=["dropped", "places"])
def test_file_of_a_map_that_is_gone_is_missing(
    both: tuple[Rows, DataFile, TaskMap], number: int, tmp_path: Path
) -> None:
    rows, file, found = both
    Path(found.paths[number]).unlink()

    with pytest.raises(MissingFile, match=Path(found.paths[number]).name):
        RowMaps([found], rows.files.storage, tmp_path).translate(file.path, bitmap_of([1]))


@pytest.mark.parametrize("at", [0.1, 0.5, 0.999], ids=["front", "middle", "end"])
@pytest.mark.parametrize("number", [0, 1], ids=["dropped", "places"])
def test_damaged_map_is_corrupt(
    both: tuple[Rows, DataFile, TaskMap], number: int, at: float, tmp_path: Path
) -> None:
    rows, file, found = both
    path = Path(found.paths[number])
    data = bytearray(path.read_bytes())
    if number == 0:  # of the file with blobs only a blob is read
        place = found.inputs[0]
        at = (place.offset + at * place.length) / len(data)
    data[int(at * len(data))] ^= 1
    path.write_bytes(data)

    with pytest.raises(CorruptTable):
        RowMaps([found], rows.files.storage, tmp_path).translate(file.path, bitmap_of([1]))


@pytest.mark.parametrize(
    ("path", "position", "message"),
    [("else", 1, "no task of this run"), (None, 3_000, "position 3000 is not among them")],
    ids=["unknown input", "position behind its end"],
)
def test_delete_of_a_row_that_no_task_read_is_refused(
    both: tuple[Rows, DataFile, TaskMap], path: str | None, position: int, message: str, tmp_path: Path
) -> None:
    rows, file, found = both

    with pytest.raises(CorruptTable, match=message):
        RowMaps([found], rows.files.storage, tmp_path).translate(path or file.path, bitmap_of([position]))


def test_full_local_disk_is_told_as_such(both: tuple[Rows, DataFile, TaskMap], tmp_path: Path) -> None:
    rows, file, found = both

    with pytest.raises(StorageError, match="mapping rows needs more room"):
        RowMaps([found], rows.files.storage, tmp_path / "none").translate(file.path, bitmap_of([1]))
