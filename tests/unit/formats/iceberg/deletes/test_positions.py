"""Deleted positions of data files, from delete files of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite.budget import Budget
from lithify.errors import CorruptTable
from lithify.formats.iceberg.deletes.positions import deleted_positions
from lithify.formats.iceberg.model import DataFile
from support.iceberg_files import Files, schema_of, with_deletes

SCHEMA = schema_of(("id", "long"))
ROWS = 40


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, SCHEMA)


def _deleted(files: Files, inputs: Sequence[DataFile]) -> dict[str, list[int]]:
    found = deleted_positions(inputs, files.reader, SCHEMA, Budget(), files.folder)
    return {path: sorted(bitmap) for path, bitmap in found.items()}


def _file(files: Files) -> DataFile:
    return files.data({"id": range(ROWS)})


PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, ROWS - 1)), max_size=30)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deletes=st.lists(PAIRS, max_size=4), vectors=st.lists(st.sets(st.integers(0, ROWS - 1)), max_size=3))
def test_deletes_of_a_file_are_united(
    files: Files, deletes: list[list[tuple[int, int]]], vectors: list[set[int]]
) -> None:
    data = [_file(files) for _ in range(3)]
    others = [files.positions([(data[which], at) for which, at in pairs]) for pairs in deletes]
    own = [files.vector(data[0], sorted(each)) for each in vectors]
    inputs = [with_deletes(file, *others, *(own if file is data[0] else ())) for file in data]

    found = _deleted(files, inputs)

    expected: dict[str, set[int]] = {file.path: set() for file in data}
    for which, at in (pair for pairs in deletes for pair in pairs):
        expected[data[which].path].add(at)
    expected[data[0].path].update(*vectors)
    assert found == {path: sorted(positions) for path, positions in expected.items() if positions}


def test_positions_of_files_to_which_a_delete_does_not_apply_stay(files: Files) -> None:
    one, other, outside = (_file(files) for _ in range(3))
    delete = files.positions([(one, 1), (other, 2), (outside, 3)])

    assert _deleted(files, [with_deletes(one, delete), other]) == {one.path: [1]}


@pytest.mark.parametrize("has_statistics", [True, False], ids=["with bounds", "without bounds"])
def test_delete_file_of_one_data_file(files: Files, has_statistics: bool) -> None:
    one, other = _file(files), _file(files)
    delete = replace(
        files.positions([(one, 1), (one, 3)], has_statistics=has_statistics), referenced=one.path
    )

    assert _deleted(files, [with_deletes(one, delete), other]) == {one.path: [1, 3]}


def test_paths_of_a_delete_file_count_whatever_its_manifest_says(files: Files) -> None:
    one, other = _file(files), _file(files)
    delete = replace(files.positions([(one, 1), (other, 2)]), referenced=one.path)

    assert _deleted(files, [with_deletes(one, delete), other]) == {one.path: [1]}


@pytest.mark.parametrize("is_about_one", [True, False], ids=["of one data file", "of any"])
@pytest.mark.parametrize("at", [-1, ROWS])
def test_position_outside_of_its_file_is_corrupt(files: Files, at: int, is_about_one: bool) -> None:
    file = _file(files)
    delete = replace(files.positions([(file, at)]), referenced=file.path if is_about_one else None)

    with pytest.raises(CorruptTable) as failure:
        _deleted(files, [with_deletes(file, delete)])

    assert failure.value.path == delete.path


def test_vector_with_a_position_outside_of_its_file_is_corrupt(files: Files) -> None:
    file = _file(files)

    with pytest.raises(CorruptTable):
        _deleted(files, [with_deletes(file, files.vector(file, [ROWS]))])


@pytest.mark.parametrize("is_about_one", [True, False], ids=["of one data file", "of any"])
def test_delete_file_with_other_rows_than_the_manifest_says_is_corrupt(
    files: Files, is_about_one: bool
) -> None:
    file = _file(files)
    referenced = file.path if is_about_one else None
    delete = replace(files.positions([(file, 1)]), rows=2, referenced=referenced)

    with pytest.raises(CorruptTable):
        _deleted(files, [with_deletes(file, delete)])
