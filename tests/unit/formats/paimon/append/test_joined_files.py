"""Small files whose pages a task of an append table joins: rows and metadata are those of decoding all."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.clock import SystemClock
from lithify.engine.rewrite.budget import Budget
from lithify.formats.paimon.append.pack_task import PackTask
from lithify.formats.paimon.options.table_options import read_options
from support.comparing.bloom_filters import filters_of
from support.data_files import Rows, target
from support.joining import joining_from
from support.manifests import schema
from support.properties import examples
from unit.formats.paimon.append.test_copied_files import (
    COLUMNS,
    FIRST,
    SCHEMA,
    STATS,
    UNFIT,
    assert_same,
    group_bytes,
    groups,
    outputs,
    rows_of,
    run,
    task_of,
    without_copies,
)

SIZES = (50, 20, 70)


def small_files(*sizes: int) -> list[list[Rows]]:
    """Files of one row group with this number of rows."""
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return [groups(size, start=start) for size, start in zip(sizes, starts, strict=True)]


def bytes_of(task: PackTask, column: int) -> int:
    """Bytes of a column in the task's files."""
    footers = [pq.read_metadata(file.path) for file in task.files]
    return sum(footer.row_group(0).column(column).total_compressed_size for footer in footers)


@pytest.mark.parametrize(
    "options", [{}, STATS, {"file.compression": "snappy"}], ids=["plain", "all statistics", "another codec"]
)
def test_pages_of_columns_without_a_dictionary_are_joined(tmp_path: Path, options: dict[str, str]) -> None:
    task = task_of(tmp_path, small_files(*SIZES), options=options)
    with joining_from():
        result = assert_same(task)
    (file,) = outputs(task, result)
    footer = pq.read_metadata(file.path)
    assert [footer.row_group(n).num_rows for n in range(footer.num_row_groups)] == [sum(SIZES)]
    assert (
        result.outputs.copied_bytes
        == bytes_of(task, 0)
        == footer.row_group(0).column(0).total_compressed_size
    )
    assert pl.read_parquet(file.path).height == sum(SIZES)
    assert pq.read_table(file.path, filters=[("id", "==", 66)])["id"].to_pylist() == [66]


@pytest.mark.parametrize("limits", [{"page": 1 << 20}, {"group": 1 << 20}, {"joined": 1 << 20}], ids=str)
def test_what_does_not_pay_is_decoded(tmp_path: Path, limits: dict[str, int]) -> None:
    task = task_of(tmp_path, small_files(*SIZES))
    with joining_from(**limits):
        assert assert_same(task).outputs.copied_bytes == 0


def test_columns_that_are_indexed_are_decoded(tmp_path: Path) -> None:
    task = task_of(tmp_path, small_files(*SIZES))
    options = {"file-index.bloom-filter.columns": "id", "file-index.in-manifest-threshold": "1 mb"}
    indexes = read_options(options).indexes
    task = replace(task, target=replace(task.target, indexes=indexes))
    with joining_from():
        assert assert_same(task).outputs.copied_bytes == 0


def test_columns_with_filters_are_decoded(tmp_path: Path) -> None:
    task = task_of(tmp_path, small_files(*SIZES), options={"parquet.bloom.filter.enabled": "true"})
    with joining_from():
        result = assert_same(task)
    assert result.outputs.copied_bytes == 0
    (file,) = outputs(task, result)
    assert len(filters_of(file.path)) == len(filters_of(task.files[0].path)) > 0


def test_texts_that_have_a_dictionary_in_one_file_only_are_decoded(tmp_path: Path) -> None:
    files = [
        [[{**row, "name": f"{row['id']}" if is_distinct else "same"} for row in rows] for rows in file]
        for file, is_distinct in zip(small_files(*SIZES), (False, True, False), strict=True)
    ]
    task = task_of(tmp_path, files)
    has_dictionary = [
        pq.read_metadata(file.path).row_group(0).column(1).has_dictionary_page for file in task.files
    ]
    assert has_dictionary == [True, False, True]
    with joining_from():
        assert assert_same(task).outputs.copied_bytes == bytes_of(task, 0)


@pytest.mark.parametrize("has_dictionary", [True, False])
def test_dictionaries_of_nested_texts_hide_their_size(tmp_path: Path, *, has_dictionary: bool) -> None:
    keyed = schema([("id", "INT"), ("words", {"type": "ARRAY", "element": "STRING"})], [])
    files = [
        [
            [{"id": each["id"], "words": ["word" if has_dictionary else f"{each['id']}"]} for each in rows]
            for rows in file
        ]
        for file in small_files(*SIZES)
    ]
    task = task_of(tmp_path, files, keyed)
    with joining_from():
        assert (assert_same(task).outputs.copied_bytes == 0) == has_dictionary


def test_all_columns_may_be_joined(tmp_path: Path) -> None:
    keyed = schema([("id", "INT"), ("number", "BIGINT")], [])
    files = [
        [[{"id": each["id"], "number": each["id"]} for each in rows] for rows in file]
        for file in small_files(*SIZES)
    ]
    task = task_of(tmp_path, files, keyed)
    with joining_from():
        result = assert_same(task)
    assert result.outputs.copied_bytes == bytes_of(task, 0) + bytes_of(task, 1)


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_decoded(tmp_path: Path, name: str) -> None:
    task = UNFIT[name](task_of(tmp_path, small_files(*SIZES)))
    with joining_from():
        assert assert_same(task).outputs.copied_bytes == 0


def test_files_of_several_row_groups_and_of_older_columns_are_decoded_in_between(tmp_path: Path) -> None:
    files = [*small_files(40, 40), groups(5, 5, start=80), *small_files(30, 30)]
    task = task_of(tmp_path, files)
    with joining_from():
        result = assert_same(task)
    (file,) = outputs(task, result)
    footer = pq.read_metadata(file.path)
    assert [footer.row_group(n).num_rows for n in range(footer.num_row_groups)] == [80, 10, 60]


@pytest.mark.thorough
def test_row_groups_end_so_that_files_have_the_target_size(tmp_path: Path) -> None:
    task = task_of(tmp_path, small_files(*[600] * 48))
    with joining_from():
        (whole,) = run(task).outputs.data
        to = target(tmp_path / "out", SCHEMA, {"target-file-size": f"{whole.size // 2} b"})
        task = replace(task, target=to)
        result = run(task, attempt=2)
    first, second = result.outputs.data
    assert (first.rows, first.min_sequence) == (pytest.approx(14_400, rel=0.2), FIRST)
    assert (second.rows, second.min_sequence) == (28_800 - first.rows, FIRST + first.rows)
    groups_of = [pq.read_metadata(file.path).num_row_groups for file in outputs(task, result)]
    assert all(count > 1 for count in groups_of)
    assert rows_of(task, result) == rows_of(task, run(without_copies(task), attempt=1))


def test_a_damaged_file_leaves_none(tmp_path: Path) -> None:
    task = task_of(tmp_path, small_files(500, 500))
    path = Path(task.files[1].path)
    data = bytearray(path.read_bytes())
    data[4:20] = bytes(16)
    path.write_bytes(data)
    with joining_from():
        result = task.run(SystemClock(UTC))
    assert result.failure is not None
    assert result.failure.kind == "CorruptTable"
    assert [*Path(task.target.folder).glob("*")] == []


def test_a_missing_file_is_reported_as_missing(tmp_path: Path) -> None:
    task = task_of(tmp_path, small_files(*SIZES))
    Path(task.files[1].path).unlink()
    with joining_from():
        result = task.run(SystemClock(UTC))
    assert result.failure is not None
    assert result.failure.kind == "MissingFile"


@given(
    sizes=st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=2), min_size=1, max_size=6),
    copyable=st.lists(st.booleans(), min_size=6, max_size=6),
    limits=st.fixed_dictionaries(
        {
            "page": st.integers(1, 400),
            "group": st.integers(1, 5_000),
            "joined": st.integers(1, 800),
        }
    ),
    target_size=st.integers(500, 20_000),
    columns=st.lists(st.sampled_from([name for name, _ in COLUMNS]), min_size=1, unique=True),
)
@settings(max_examples=examples(60), deadline=None)
def test_joining_never_changes_rows(
    sizes: list[list[int]],
    copyable: list[bool],
    limits: dict[str, int],
    target_size: int,
    columns: Sequence[str],
) -> None:
    keyed = schema([(name, kind) for name, kind in COLUMNS if name in columns], [])
    files, start = [], 0
    for of_file in sizes:
        made = groups(*of_file, start=start)
        files.append([[{name: row[name] for name in columns} for row in rows] for rows in made])
        start += sum(of_file)
    with tempfile.TemporaryDirectory() as folder, joining_from(**limits):
        task = task_of(Path(folder), files, keyed)
        task = replace(
            task,
            files=tuple(
                replace(file, is_copyable=may) for file, may in zip(task.files, copyable, strict=False)
            ),
            target=target(Path(folder) / "out", keyed, {"target-file-size": f"{target_size} b"}),
            budget=Budget(8 << 20),
        )
        joined, decoded = run(task), run(without_copies(task), attempt=1)
        assert rows_of(task, joined) == rows_of(task, decoded)
        ends = [file.max_sequence for file in joined.outputs.data]
        starts = [file.min_sequence for file in joined.outputs.data]
        assert starts == [FIRST, *(end + 1 for end in ends[:-1])]
        for file in outputs(task, joined):
            group = pq.read_metadata(file.path)
            assert sum(group_bytes(group, n) for n in range(group.num_row_groups)) < file.size
