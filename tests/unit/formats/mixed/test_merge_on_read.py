"""Rows of keyed tables that change stores delete, against a model that compares every row and delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite.budget import Budget
from lithify.errors import CorruptTable
from lithify.formats.mixed.merge_on_read import FILE_OFFSET, change_deletes
from lithify.formats.mixed.units import KeyedFile, Subtree
from support.iceberg_files import Files, schema_of, with_deletes

SCHEMA = schema_of(("id", "long"), ("name", "string"))
KEY = (1, 2)
SPILLING = Budget(1 << 10)
"""Less than any deletes take."""


class Change(NamedTuple):
    """A row of a change file: its key, and its number in the transaction."""

    id: int
    offset: int


class File(NamedTuple):
    """A file: its transaction, and its rows; base files have keys only."""

    transaction: int
    rows: Sequence[Change]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, SCHEMA)


def _written(files: Files, file: File, *, is_change: bool) -> KeyedFile:
    schema = SCHEMA.file_schema((FILE_OFFSET,) if is_change else ())
    ids, offsets = [row.id for row in file.rows], [row.offset for row in file.rows]
    columns = [pa.array(ids, pa.int64()), pa.array([f"n{each}" for each in ids], pa.string())]
    rows = pa.table([*columns, *([pa.array(offsets, pa.int64())] if is_change else [])], schema=schema)
    return KeyedFile(files.data(rows), 1, file.transaction)


def _survivors(
    files: Files,
    base: Sequence[File] = (),
    inserts: Sequence[File] = (),
    deletes: Sequence[File] = (),
    budget: Budget | None = None,
) -> list[list[int]]:
    """The ids that stay in each base file, then in each file of inserts."""
    part = Subtree(
        1,
        tuple(_written(files, each, is_change=False) for each in base),
        tuple(_written(files, each, is_change=True) for each in inserts),
        tuple(_written(files, each, is_change=True) for each in deletes),
    )
    inputs = [each.file for each in part.rows]
    found = change_deletes(part, KEY).positions(
        inputs, files.reader, SCHEMA, budget or Budget(), files.folder
    )
    for left in files.folder.glob("changes*"):
        left.unlink()
    rows = [each.rows for each in (*base, *inserts)]
    return [
        [row.id for at, row in enumerate(each) if at not in found.get(file.path, ())]
        for each, file in zip(rows, inputs, strict=True)
    ]


def _model(base: Sequence[File], inserts: Sequence[File], deletes: Sequence[File]) -> list[list[int]]:
    """The same, by comparing every row with every delete."""
    dead = [(each.transaction, row.offset, row.id) for each in deletes for row in each.rows]
    return [
        [
            row.id
            for row in each.rows
            if not any(
                key == row.id and (when, at) > (each.transaction, row.offset if is_change else 1 << 62)
                for when, at, key in dead
            )
        ]
        for is_change, group in ((False, base), (True, inserts))
        for each in group
    ]


ONE = (Change(1, 1),)


@pytest.mark.parametrize(
    ("base", "inserts", "deletes", "expected"),
    [
        pytest.param([File(1, ONE)], [], [File(2, ONE)], [[]], id="later-delete-of-a-base-row"),
        pytest.param([File(2, ONE)], [], [File(2, ONE)], [[1]], id="delete-of-the-base-files-transaction"),
        pytest.param([File(3, ONE)], [], [File(2, ONE)], [[1]], id="earlier-delete-of-a-base-row"),
        pytest.param([], [File(2, ONE)], [File(2, [Change(1, 2)])], [[]], id="delete-after-an-insert"),
        pytest.param([], [File(2, ONE)], [File(2, ONE)], [[1]], id="update-whose-rows-share-an-offset"),
        pytest.param([], [File(2, [Change(1, 3)])], [File(2, ONE)], [[1]], id="insert-after-a-delete"),
        pytest.param([File(1, ONE)], [File(2, ONE)], [], [[1], [1]], id="insert-of-a-living-key-stays-two"),
        pytest.param([], [File(1, ONE)], [File(2, ONE)], [[]], id="order-is-by-transaction"),
        pytest.param([File(1, [Change(7, 0)])], [], [File(2, ONE)], [[7]], id="another-key"),
        pytest.param([File(0, ONE)], [], [File(1, ONE)], [[]], id="base-file-of-a-plain-name"),
    ],
)
def test_rows_die_by_strictly_later_deletes_of_their_key(
    files: Files,
    base: Sequence[File],
    inserts: Sequence[File],
    deletes: Sequence[File],
    expected: list[list[int]],
) -> None:
    assert _survivors(files, base, inserts, deletes) == expected == _model(base, inserts, deletes)


CHANGES = st.lists(st.builds(Change, st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=6)
FILES = st.lists(st.builds(File, st.integers(0, 4), CHANGES), max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(base=FILES, inserts=FILES, deletes=FILES, is_spilling=st.booleans())
def test_any_files_are_merged_as_the_model_says(
    files: Files,
    base: Sequence[File],
    inserts: Sequence[File],
    deletes: Sequence[File],
    is_spilling: bool,
) -> None:
    found = _survivors(files, base, inserts, deletes, SPILLING if is_spilling else None)

    assert found == _model(base, inserts, deletes)


def test_position_deletes_count_besides_changes(files: Files) -> None:
    base = _written(files, File(1, [Change(each, 0) for each in range(4)]), is_change=False)
    dropped = KeyedFile(with_deletes(base.file, files.positions([(base.file, 0)])), 1, 1)
    deletes = _written(files, File(2, [Change(3, 1)]), is_change=True)
    part = Subtree(1, (dropped,), (), (deletes,))

    found = change_deletes(part, KEY).positions([dropped.file], files.reader, SCHEMA, Budget(), files.folder)

    assert sorted(found[base.file.path]) == [0, 3]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(base=FILES, kept=FILES, deletes=FILES, gone=st.sets(st.integers(0, 5)))
def test_positions_of_kept_files_are_those_that_their_deletes_lack(
    files: Files, base: Sequence[File], kept: Sequence[File], deletes: Sequence[File], gone: set[int]
) -> None:
    rewritten, staying = (
        tuple(_written(files, each, is_change=False) for each in group) for group in (base, kept)
    )
    known = [sorted(at for at in gone if at < len(each.rows)) for each in kept]
    staying = tuple(
        replace(each, file=with_deletes(each.file, files.positions([(each.file, at) for at in positions])))
        for each, positions in zip(staying, known, strict=True)
    )
    changes = tuple(_written(files, each, is_change=True) for each in deletes)
    part = Subtree(1, rewritten, (), changes, staying)

    inputs = [each.file for each in (*rewritten, *staying)]
    found = change_deletes(part, KEY).positions(inputs, files.reader, SCHEMA, Budget(), files.folder)

    living = _model([*base, *kept], [], deletes)
    rows = [each.rows for each in (*base, *kept)]
    dead = [
        {at for at, row in enumerate(every) if row.id not in left}
        for every, left in zip(rows, living, strict=True)
    ]
    expected = [
        *dead[: len(base)],
        *(each - set(old) for each, old in zip(dead[len(base) :], known, strict=True)),
    ]
    assert [set(found.get(file.path, ())) for file in inputs] == expected


@pytest.mark.parametrize("offset", [-1, 1 << 40, None], ids=["negative", "too-large", "missing"])
def test_offsets_that_have_no_order_are_refused(files: Files, offset: int | None) -> None:
    schema = SCHEMA.file_schema((FILE_OFFSET,))
    rows = pa.table([[1], ["n1"], pa.array([offset], pa.int64())], schema=schema)
    part = Subtree(
        1,
        (_written(files, File(1, ONE), is_change=False),),
        (),
        (KeyedFile(files.data(rows), 1, 2),),
    )

    with pytest.raises(CorruptTable) as caught:
        change_deletes(part, KEY).positions([part.base[0].file], files.reader, SCHEMA, Budget(), files.folder)
    assert caught.value.path == part.deletes[0].file.path
