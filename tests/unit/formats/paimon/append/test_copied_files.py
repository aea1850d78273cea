"""Row groups that a task of an append table copies: rows and metadata are those of decoding everything."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from lithify.clock import SystemClock
from lithify.engine.rewrite.budget import Budget
from lithify.files.model import InputFile
from lithify.formats.paimon.append.pack_task import PackTask
from lithify.formats.paimon.append.row_files import RowSummary
from lithify.formats.paimon.append.row_numbers import RowNumbers
from lithify.formats.paimon.data_files.writer import OpenDataFile
from lithify.formats.paimon.deletion_vectors.bitmaps import DeletionVector
from lithify.formats.paimon.deletion_vectors.index_files import located, write_vectors
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.protocol.results import TaskResult
from support.copying import copying_from
from support.data_files import Rows, input_file, local_storage, read, target
from support.manifests import schema
from support.parquet_files import by, with_footer
from support.properties import examples

COLUMNS: list[tuple[str, Any]] = [
    ("id", "INT"),
    ("name", "STRING"),
    ("ratio", "DOUBLE"),
    ("at", "TIMESTAMP(6)"),
    ("tags", {"type": "ARRAY", "element": "INT"}),
]
SCHEMA = schema(COLUMNS, [])
FIRST = 100
"""Sequence number of the first row."""


@pytest.fixture(autouse=True)
def _small_row_groups() -> Iterator[None]:
    with copying_from(1):
        yield


def row(number: int) -> dict[str, Any]:
    return {
        "id": number if number % 7 else None,
        "name": f"n{number % 3}" if number % 5 else None,
        "ratio": [-0.0, number / 3, None][number % 3],
        "at": None,
        "tags": [number] * (number % 3),
    }


def written(
    folder: Path, keyed: Schema, groups: Sequence[Rows], options: dict[str, str] | None = None
) -> FileMeta:
    """A file with one row group for each group of rows."""
    to = target(folder, keyed, options)
    numbers = RowNumbers(0, sum(map(len, groups)))
    file = OpenDataFile("f.parquet", to, local_storage(folder), lambda: 0, RowSummary(keyed, numbers, 0))
    for rows in groups:
        file.write(pa.Table.from_pylist([*rows], schema=keyed.rows_schema()))
    return file.close()


def task_of(
    folder: Path,
    files: Sequence[Sequence[Rows]],
    keyed: Schema = SCHEMA,
    options: dict[str, str] | None = None,
    newest: Schema | None = None,
) -> PackTask:
    """A task that joins files, each of which has row groups."""
    inputs = []
    for number, groups in enumerate(files):
        meta = written(folder / f"old-{number}", keyed, groups, options)
        inputs.append(replace(input_file(folder / f"old-{number}", meta), is_copyable=True))
    newest = newest or keyed
    return PackTask(
        index=0,
        prefix="12345678-1234-1234-1234",
        files=tuple(inputs),
        numbers=RowNumbers(FIRST, sum(file.rows for file in inputs), FIRST + 1_000_000),
        schemas={each.id: each for each in (keyed, newest)},
        target=target(folder / "out", newest, options),
        storage=local_storage(folder),
        budget=Budget(16 << 20),
    )


def without_copies(task: PackTask) -> PackTask:
    return replace(task, files=tuple(replace(file, is_copyable=False) for file in task.files))


def run(task: PackTask, attempt: int = 0) -> TaskResult:
    result = task.run(SystemClock(UTC), attempt_id=attempt)
    assert result.failure is None, result.failure
    return result


def outputs(task: PackTask, result: TaskResult) -> list[InputFile]:
    return [input_file(Path(task.target.folder), file) for file in result.outputs.data]


def rows_of(task: PackTask, result: TaskResult) -> list[str]:
    """The rows of a result in order, as texts: NaN is not equal to itself."""
    return [str(each) for each in read(outputs(task, result), [task.target.schema])]


def described(file: FileMeta) -> FileMeta:
    """The metadata of a file without what two files of the same rows may differ in."""
    return replace(file, name="", size=0, created_millis=0)


def assert_same(task: PackTask) -> TaskResult:
    copied, decoded = run(task), run(without_copies(task), attempt=1)
    assert decoded.outputs.copied_bytes == 0
    assert rows_of(task, copied) == rows_of(task, decoded)
    assert [*map(described, copied.outputs.data)] == [*map(described, decoded.outputs.data)]
    return copied


def groups(*sizes: int, start: int = 0) -> list[Rows]:
    """Row groups of so many rows."""
    found: list[Rows] = []
    for size in sizes:
        found.append([row(number) for number in range(start, start + size)])
        start += size
    return found


TWO_FILES = [groups(10, 20), groups(5, start=30)]
STATS = {"metadata.stats-mode": "full", "metadata.stats-dense-store": "false"}


@pytest.mark.parametrize(
    "options",
    [{}, STATS, {"parquet.bloom.filter.enabled": "true"}, {"file.compression": "snappy"}],
    ids=["plain", "all statistics", "bloom filters", "another codec"],
)
def test_row_groups_are_copied(tmp_path: Path, options: dict[str, str]) -> None:
    task = task_of(tmp_path, TWO_FILES, options=options)
    result = assert_same(task)
    (file,) = outputs(task, result)
    footers = [pq.read_metadata(each.path) for each in (*task.files, file)]
    sizes = [[group_bytes(footer, number) for number in range(footer.num_row_groups)] for footer in footers]
    assert sizes[2] == [*sizes[0], *sizes[1]]
    assert result.outputs.copied_bytes == sum(sizes[2])


def group_bytes(footer: pq.FileMetaData, number: int) -> int:
    group = footer.row_group(number)
    return sum(group.column(column).total_compressed_size for column in range(group.num_columns))


def test_polars_and_arrow_read_what_was_copied(tmp_path: Path) -> None:
    task = task_of(tmp_path, TWO_FILES)
    (file,) = outputs(task, run(task))
    ids = [each["id"] for size in TWO_FILES for rows in size for each in rows]
    assert pl.read_parquet(file.path)["id"].to_list() == ids
    assert pl.scan_parquet(file.path).filter(pl.col("id") == 33).select("id").collect().height == 1
    assert pq.read_table(file.path, filters=[("id", "==", 33)])["id"].to_pylist() == [33]


def test_nan_leaves_no_bounds(tmp_path: Path) -> None:
    """Footers of other writers have bounds beside a NaN, so the column is read."""
    files = [groups(9), [[{**row(3), "ratio": float("nan")}, row(4)]]]
    task = task_of(tmp_path, files, options=STATS)
    for file in task.files:
        pq.write_table(pq.read_table(file.path), file.path, store_schema=False, compression="zstd")
    task = replace(task, files=tuple(with_size(file) for file in task.files))
    assert assert_same(task).outputs.copied_bytes > 0


def with_size(file: InputFile) -> InputFile:
    return replace(file, size=Path(file.path).stat().st_size)


def test_small_row_groups_between_large_ones_are_decoded(tmp_path: Path) -> None:
    files = [groups(400), groups(3, start=400), groups(3, 3, start=403), groups(400, start=409)]
    task = task_of(tmp_path, files)
    with copying_from(1_000):
        result = assert_same(task)
    (file,) = outputs(task, result)
    footer = pq.read_metadata(file.path)
    assert [footer.row_group(n).num_rows for n in range(footer.num_row_groups)] == [400, 9, 400]
    assert 0 < result.outputs.copied_bytes < sum(each.size for each in task.files)


def test_row_groups_of_many_columns_have_to_be_larger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tmp_path, TWO_FILES)
    monkeypatch.setattr("lithify.files.parquet.copying.file_parts.SMALLEST_CHUNK", 1_000)
    assert assert_same(task).outputs.copied_bytes == 0


def test_files_roll_at_the_target_size(tmp_path: Path) -> None:
    task = task_of(tmp_path, [groups(300, 300, start=600 * number) for number in range(8)])
    large = pq.read_metadata(task.files[0].path)
    options = {"target-file-size": f"{2 * (group_bytes(large, 0) + group_bytes(large, 1))} b"}
    task = replace(task, target=target(tmp_path / "out", SCHEMA, options))
    copied = run(task)
    assert [file.rows for file in copied.outputs.data] == [1_200] * 4
    numbers = [(file.min_sequence, file.max_sequence) for file in copied.outputs.data]
    assert numbers == [(FIRST + start, FIRST + start + 1_199) for start in range(0, 4_800, 1_200)]
    assert rows_of(task, copied) == rows_of(task, run(without_copies(task), attempt=1))


@pytest.mark.parametrize("absorbs", [True, False])
def test_a_small_rest_is_copied_into_the_file_before(tmp_path: Path, *, absorbs: bool) -> None:
    task = task_of(tmp_path, [groups(300, start=300 * number) for number in range(5)])
    size = sum(group_bytes(pq.read_metadata(file.path), 0) for file in task.files)
    to = target(tmp_path / "out", SCHEMA, {"target-file-size": f"{size * 4 // 5} b"})
    task = replace(task, target=to, absorbs_rest=absorbs)
    result = run(task)
    assert [file.rows for file in result.outputs.data] == ([1_500] if absorbs else [1_200, 300])
    assert result.outputs.copied_bytes == size
    assert [*rows_of(task, result)] == rows_of(task, run(without_copies(task), attempt=1))


def written_by_another(task: PackTask, **options: Any) -> PackTask:
    """The task whose files were written with other options of Parquet."""
    for file in task.files:
        pq.write_table(pq.read_table(file.path), file.path, store_schema=False, **options)
    return replace(task, files=tuple(map(with_size, task.files)))


def of_writer(task: PackTask, writer: str) -> PackTask:
    """The task whose files have the name of another writer."""
    for file in map(Path, (file.path for file in task.files)):
        file.write_bytes(with_footer(file.read_bytes(), change=by(writer)))
    return replace(task, files=tuple(map(with_size, task.files)))


def marked(task: PackTask, rows: Sequence[int]) -> PackTask:
    """The task whose files have deletion vectors."""
    files = []
    for number, file in enumerate(task.files):
        name, vector = Path(file.path).name, DeletionVector(BitMap(rows), is_wide=False)
        folder = f"{task.target.folder}-index"
        index = write_vectors(task.storage, f"{folder}/index-{number}", {name: vector})
        files.append(replace(file, vector=located(folder, index, name)))
    return replace(task, files=tuple(files))


def into(task: PackTask, keyed: Schema = SCHEMA, **options: str) -> PackTask:
    """The task with another output."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    to = target(Path(task.target.folder), keyed, named)
    return replace(task, target=to, schemas={**task.schemas, keyed.id: keyed})


def changed(**names: Any) -> Schema:
    """The next schema, with columns of other names or types."""
    columns = [names.get(name, (name, kind)) for name, kind in COLUMNS]
    return schema([each for each in columns if each], [], number=1)


LONGER = schema([*COLUMNS, ("more", "INT")], [], number=1)
UNFIT = {
    "another codec": partial(written_by_another, compression="snappy"),
    "no statistics": partial(written_by_another, compression="zstd", write_statistics=False),
    "a writer that hides NaN": partial(of_writer, writer="parquet-rs version 55.0.0"),
    "a writer that readers distrust": partial(of_writer, writer="parquet-mr version 1.8.1"),
    "deleted rows": partial(marked, rows=[0, 3]),
    "filters are wanted": partial(into, parquet_bloom_filter_enabled="true"),
    "another codec is wanted": partial(into, file_compression="gzip"),
    "another format is wanted": partial(into, file_format="orc"),
    "a renamed column": partial(into, keyed=changed(name=("title", "STRING"))),
    "a new column": partial(into, keyed=LONGER),
    "a cast": partial(into, keyed=changed(id=("id", "BIGINT"))),
    "shorter texts": partial(into, keyed=changed(name=("name", "VARCHAR(1)"))),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_decoded(tmp_path: Path, name: str) -> None:
    task = UNFIT[name](task_of(tmp_path, TWO_FILES))
    assert assert_same(task).outputs.copied_bytes == 0


def test_files_of_older_schemas_with_the_same_columns_are_copied(tmp_path: Path) -> None:
    """Options are part of a schema: most schemas of a table differ in nothing else."""
    task = task_of(tmp_path, TWO_FILES, newest=schema(COLUMNS, [], number=1))
    result = assert_same(task)
    assert result.outputs.copied_bytes > 0
    assert {file.schema_id for file in result.outputs.data} == {1}


def test_files_that_fit_are_copied_beside_others(tmp_path: Path) -> None:
    task = task_of(tmp_path, [groups(10), groups(10, start=10), groups(10, start=20)])
    middle = replace(task.files[1], is_copyable=False)
    task = replace(task, files=(task.files[0], middle, task.files[2]))
    result = assert_same(task)
    assert 0 < result.outputs.copied_bytes < sum(file.size for file in task.files)


def test_a_file_without_floats_is_not_read_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = schema([("id", "INT"), ("name", "STRING")], [])
    task = task_of(tmp_path, [groups(10), groups(10, start=10)], keyed)
    expected = rows_of(task, run(without_copies(task), attempt=1))

    def refused(*_: object) -> Iterator[pa.RecordBatch]:
        raise AssertionError("it was decoded")

    with monkeypatch.context() as patched:
        patched.setattr("lithify.files.parquet.reader.ParquetReader.batches", refused)
        result = run(task)
    assert rows_of(task, result) == expected


@pytest.mark.parametrize("is_copyable", [True, False])
def test_a_wrong_number_of_rows_is_found(tmp_path: Path, *, is_copyable: bool) -> None:
    task = task_of(tmp_path, TWO_FILES)
    wrong = replace(task.files[0], rows=31, is_copyable=is_copyable)
    result = replace(task, files=(wrong, task.files[1])).run(SystemClock(UTC))
    assert result.failure is not None
    assert result.failure.kind == "CorruptTable"
    assert [*Path(task.target.folder).glob("*")] == []


def test_a_damaged_page_leaves_no_file(tmp_path: Path) -> None:
    task = task_of(tmp_path, [groups(500), groups(500, start=500)])
    path = Path(task.files[1].path)
    data = bytearray(path.read_bytes())
    data[4:20] = bytes(16)
    path.write_bytes(data)
    result = task.run(SystemClock(UTC))
    assert result.failure is not None
    assert result.failure.kind == "CorruptTable"
    assert [*Path(task.target.folder).glob("*")] == []


@pytest.mark.parametrize("is_copyable", [True, False])
def test_a_missing_file_is_reported_as_missing(tmp_path: Path, *, is_copyable: bool) -> None:
    task = task_of(tmp_path, TWO_FILES)
    Path(task.files[1].path).unlink()
    files = tuple(replace(file, is_copyable=is_copyable) for file in task.files)
    result = replace(task, files=files).run(SystemClock(UTC))
    assert result.failure is not None
    assert result.failure.kind == "MissingFile"


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[Rows]], list[bool], int, int, bool]:
    """Files with row groups of several sizes, whether each may be copied, and sizes of outputs."""
    files, start = [], 0
    for sizes in draw(st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=4), min_size=1, max_size=5)):
        files.append(groups(*sizes, start=start))
        start += sum(sizes)
    copyable = draw(st.lists(st.booleans(), min_size=len(files), max_size=len(files)))
    return files, copyable, draw(st.integers(1, 2_500)), draw(st.integers(500, 20_000)), draw(st.booleans())


@pytest.mark.thorough
@given(drawn=tables())
@settings(max_examples=examples(60), deadline=None)
def test_copying_never_changes_rows(drawn: tuple[list[list[Rows]], list[bool], int, int, bool]) -> None:
    files, copyable, smallest, target_size, absorbs = drawn
    with tempfile.TemporaryDirectory() as folder, copying_from(smallest):
        task = task_of(Path(folder), files)
        options = {"target-file-size": f"{target_size} b"}
        task = replace(
            task,
            files=tuple(
                replace(file, is_copyable=may) for file, may in zip(task.files, copyable, strict=True)
            ),
            target=target(Path(folder) / "out", SCHEMA, options),
            absorbs_rest=absorbs,
        )
        copied, decoded = run(task), run(without_copies(task), attempt=1)
        assert rows_of(task, copied) == rows_of(task, decoded)
        ends = [file.max_sequence for file in copied.outputs.data]
        starts = [file.min_sequence for file in copied.outputs.data]
        assert starts == [FIRST, *(end + 1 for end in ends[:-1])]
        assert sum(file.rows for file in copied.outputs.data) == sum(file.rows for file in task.files)
