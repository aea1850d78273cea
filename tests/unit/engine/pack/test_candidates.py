"""Files that packing may take are found in columns, before any object is made."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given

from lithify.engine.pack.bins import pack, pack_fully
from lithify.engine.pack.candidates import candidates, rests
from lithify.engine.pack.options import PackingOptions
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.merge_trees import repeatable
from support.packed_files import File, cases


def columns_of(files: Sequence[File]) -> pa.Table:
    return pa.table(
        {
            "size": pa.array([each.size for each in files], pa.int64()),
            "rows": pa.array([each.rows for each in files], pa.int64()),
            "vector_file": pa.array([each.vector_file for each in files], pa.string()),
            "deleted_rows": pa.array([each.deleted_rows for each in files], pa.int64()),
        }
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        case(PackingOptions(small_file_size=70, max_files=2), [0, 2], id="small ones, up to the limit"),
        case(PackingOptions(small_file_size=70, is_ordered=True), [0, 1, 2, 3], id="all of an ordered group"),
        case(PackingOptions(small_file_size=70, delete_ratio=0.1), [0, 2, 3], id="no columns of deletes"),
    ],
)
def test_small_files_are_candidates(options: PackingOptions, expected: list[int]) -> None:
    files = columns_of([File("a", 10), File("b", 70), File("c", 20), File("d", 30)])
    assert candidates(files.select(["size", "rows"]), options, Strategy.MINOR).tolist() == expected


@repeatable
@given(cases(is_ordered=False))
def test_candidates_are_the_files_that_are_packed(drawn: tuple[PackingOptions, tuple[File, ...]]) -> None:
    options, files = drawn
    for strategy in (Strategy.MINOR, Strategy.FULL):
        packed = pack(files, options)
        bins = (*packed.bins, packed.leftovers) if strategy is Strategy.MINOR else pack_fully(files, options)
        found = {files[row].name for row in candidates(columns_of(files), options, strategy)}
        left_out = found - {each.name for one in bins for each in one}
        assert len(found) - len(left_out) == sum(map(len, bins))
        assert len(left_out) <= (strategy is Strategy.FULL), "one small file alone stays as it is"


def test_group_with_one_small_file_and_no_deleted_rows_rests() -> None:
    statistics = pa.table({"files": [3, 3, 3], "small_files": [1, 2, 0], "vector_files": [0, 0, 1]})
    assert rests(statistics, PackingOptions(), Strategy.MINOR).tolist() == [True, False, False]
