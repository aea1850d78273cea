"""Numbers of rows of new files must be explained by those of old ones and their deletes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from lithify.clock import SystemClock
from lithify.errors import CorruptTable
from lithify.formats.iceberg.compaction import planning, step
from lithify.formats.iceberg.compaction.row_accounts import check_deletes, check_maps, check_rows
from lithify.formats.iceberg.compaction.tasks import tasks_of
from lithify.formats.iceberg.model import (
    Content,
    DataFile,
    DeleteFile,
    FileMetrics,
    NewDataFile,
    NewDeleteFile,
    Partition,
)
from lithify.formats.iceberg.rewriting.maps import MappedInput, MappedOutput, TaskMap
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.results import TaskOutputs
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from support.cases import case
from support.iceberg_tables import Lakehouse, rows

NOWHERE = Partition(0)
CLOCK = SystemClock(UTC)


def data(*deletes: DeleteFile, count: int = 10) -> DataFile:
    return DataFile("d", 1, count, "parquet", 1, NOWHERE, deletes=deletes)


def positions(count: int, path: str = "p") -> DeleteFile:
    return DeleteFile(path, 1, count, Content.POSITION_DELETES, "parquet", 2, NOWHERE)


def vector(count: int, offset: int = 4) -> DeleteFile:
    place = {"format": "puffin", "referenced": "d", "offset": offset, "length": 9}
    return replace(positions(count, "v"), **place)


EQUALITY = replace(positions(1), content=Content.EQUALITY_DELETES, equality_ids=(1,))
SHARED = positions(4)


@pytest.mark.parametrize(
    ("files", "least", "most"),
    [
        case([data(), data()], 20, 20, id="no deletes"),
        case([data(vector(3)), data()], 17, 17, id="vectors say how many rows they delete"),
        case([data(vector(3), vector(2, 99))], 5, 10, id="two vectors may have positions in common"),
        case([data(positions(3)), data()], 17, 20, id="position deletes may be of other files"),
        case([data(SHARED), data(SHARED)], 16, 20, id="a delete file of two files counts once"),
        case([data(positions(30))], 0, 10, id="more position deletes than rows"),
        case([data(EQUALITY), data()], 0, 20, id="equality deletes may remove any row"),
    ],
)
def test_rows_must_be_explained(files: list[DataFile], least: int, most: int) -> None:
    for after in range(most + 3):
        new = [NewDataFile("n", "parquet", 1, after, NOWHERE, None)]  # type: ignore[arg-type]
        with nullcontext() if least <= after <= most else pytest.raises(CorruptTable):
            check_rows(files, new)


def new_deletes(rows: int, of: str | None = "d") -> NewDeleteFile:
    return NewDeleteFile("n", "parquet", 1, rows, NOWHERE, of)


@pytest.mark.parametrize(
    ("deletes", "is_right"),
    [
        case([], True, id="none"),
        case([new_deletes(1)], True, id="of one row"),
        case([new_deletes(10)], True, id="of all rows"),
        case([new_deletes(11)], False, id="of more rows than there are"),
        case([new_deletes(0)], False, id="of no row"),
        case([new_deletes(1, "e")], False, id="of a file that is not kept"),
        case([new_deletes(1, None)], False, id="of any file"),
        case([new_deletes(1), new_deletes(1)], False, id="two of one file"),
    ],
)
def test_new_deletes_are_of_kept_files(deletes: list[NewDeleteFile], is_right: bool) -> None:
    with nullcontext() if is_right else pytest.raises(CorruptTable):
        check_deletes([data()], deletes)


@pytest.mark.parametrize("times", [0, 2])
def test_a_group_of_which_a_task_is_missing_or_counted_twice_is_blocked(tmp_path: Path, times: int) -> None:
    lakehouse = Lakehouse(tmp_path)
    made = lakehouse.table()
    for number in range(3):
        made.append(rows(number))
    table = open_iceberg_table(lakehouse.address())
    selection = Selection(strategy=Strategy.FULL)
    pinned = planning.pin_view(table, selection)
    assert pinned is not None
    plan = planning.plan(table, pinned, selection, CLOCK)
    running = step.begin(table, plan, tasks_of(table, plan, Sizing()), "run", 0, CLOCK)
    results = [task.run(CLOCK) for task in running.tasks]
    wrong = [
        replace(each, outputs=TaskOutputs(data=each.outputs.data * (times if not each.index else 1)))
        for each in results
    ]

    (block,) = running.finish(wrong, [])

    assert "3 rows" in str(block.error)
    assert not running.commit(0).snapshot


@pytest.mark.parametrize(
    ("read", "written", "fits"),
    [
        case([("d", 10)], [("n", 10)], True, id="all files"),
        case([], [], True, id="no maps"),
        case([("d", 11)], [("n", 11)], False, id="other rows of a file"),
        case([("e", 10)], [("n", 10)], False, id="another file was read"),
        case([("d", 10)], [("m", 10)], False, id="another file was written"),
        case([("d", 10)], [("n", 6), ("m", 4)], False, id="a file that is not among the outputs"),
    ],
)
def test_maps_are_about_the_files_of_their_group(
    read: list[tuple[str, int]], written: list[tuple[str, int]], fits: bool
) -> None:
    inputs, outputs = (
        tuple(MappedInput(*each) for each in read),
        tuple(MappedOutput(*each) for each in written),
    )
    maps = [TaskMap(inputs, outputs)] if read else []
    new = NewDataFile("n", "parquet", 1, 10, NOWHERE, FileMetrics())
    with nullcontext() if fits else pytest.raises(CorruptTable):
        check_maps([data()], [new], maps)
