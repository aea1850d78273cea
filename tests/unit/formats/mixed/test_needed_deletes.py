"""Which position delete files still apply to a file, by node, partition and sequence number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from lithify.formats.mixed.needed_deletes import needed_deletes
from support.cases import case
from support.iceberg_views import POSITION, Data, Delete, view

BASE = "{}-B-1-00000-0-77-00000.parquet"


def needed(data: Sequence[Data], deletes: Sequence[tuple[Delete, int]]) -> list[bool]:
    """Of each delete file with its node, whether it is needed."""
    found = view(data, [delete for delete, _ in deletes])
    paths = [f"{node}-PD-1-00000-0-77-{number:05}.parquet" for number, (_, node) in enumerate(deletes)]
    with_paths = found.deletes.append_column("file_path", [pa.array(paths, pa.string())])
    return list(needed_deletes(replace(found, deletes=with_paths)).tolist())


@pytest.mark.parametrize(
    ("delete", "node", "is_needed"),
    [
        case(Delete(POSITION, 5), 5, True, id="of the node of a file"),
        case(Delete(POSITION, 6), 5, True, id="newer than the file"),
        case(Delete(POSITION, 4), 5, False, id="older than the file"),
        case(Delete(POSITION, 5), 3, True, id="of the node above"),
        case(Delete(POSITION, 5), 2, False, id="of a node that is not above"),
        case(Delete(POSITION, 5), 1, True, id="of the root"),
        case(Delete(POSITION, 5), 4, False, id="of a node beside"),
        case(Delete(POSITION, 5), 9, False, id="of a node below"),
        case(Delete(POSITION, 5, partition=1), 5, False, id="of another partition"),
        case(Delete(POSITION, 5, of=BASE.format(5)), 5, True, id="of the file alone"),
        case(Delete(POSITION, 5, of="gone"), 5, False, id="of a file that is gone"),
    ],
)
def test_deletes_are_needed_while_they_apply(delete: Delete, node: int, is_needed: bool) -> None:
    data = [Data(BASE.format(4), sequence=9), Data(BASE.format(5), sequence=5)]

    assert needed(data, [(delete, node)]) == [is_needed]


def test_deletes_of_several_nodes_and_partitions_are_told_apart() -> None:
    data = [Data(BASE.format(4), sequence=2), Data(BASE.format(7), sequence=4, partition=1)]
    third, fourth = Delete(POSITION, 3, partition=1), Delete(POSITION, 4, partition=1)

    assert needed(data, [(Delete(POSITION, 3), 4), (third, 7), (fourth, 1), (fourth, 4)]) == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("data", [[], [Data(BASE.format(4))]], ids=["no-files", "a-file"])
def test_there_may_be_no_deletes(data: list[Data]) -> None:
    assert needed(data, []) == []


def test_no_delete_is_needed_without_files() -> None:
    assert needed([], [(Delete(POSITION, 1), 1)]) == [False]
