"""Delete files that manifests list twice block nothing: a row that is deleted twice is deleted.

Unlike rows of data files, which count as often as these are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.formats.iceberg.model import Partition
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.iceberg_commits import (
    CLOCK,
    delete_equal,
    delete_positions,
    view_of,
)
from support.iceberg_tables import Lakehouse

pytestmark = pytest.mark.thorough

IDS = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])
Deleting = Callable[[TableAddress, Sequence[str]], None]
"""Deletes the rows 0 and 3 of the partition `a`, given the paths of its files and of `b`."""


def table(tmp_path: Path) -> list[str]:
    """A table with two partitions of three small files each, whose rows are numbered from 0; their paths."""
    _, paths = Lakehouse(tmp_path).named_files(
        lambda number: [2 * number, 2 * number + 1], properties={"format-version": "2"}
    )
    return paths


def live(address: TableAddress) -> list[tuple[str, int]]:
    """The rows of all data files; there must be no deletes of them."""
    paths = view_of(open_iceberg_table(address)).data["file_path"].to_pylist()
    parts = [pq.read_table(path.removeprefix("file://"), partitioning=None) for path in paths]
    found = pa.concat_tables(parts).to_pydict()
    return sorted(zip(found["name"], found["id"], strict=True))


def by_equality(address: TableAddress, paths: Sequence[str]) -> None:
    del paths
    delete_equal(address, pa.table([[0, 3]], schema=IDS), Partition(0, ("a",)), times=2)


def by_position(address: TableAddress, paths: Sequence[str]) -> None:
    for path, position in ((paths[0], 0), (paths[1], 1)):
        delete_positions(address, {path: [position]}, times=2)


def by_position_in_partition(address: TableAddress, paths: Sequence[str]) -> None:
    delete_positions(address, {paths[0]: [0], paths[1]: [1]}, times=2)


@pytest.mark.parametrize("strategy", [Strategy.MINOR, Strategy.FULL])
@pytest.mark.parametrize(
    "delete",
    [
        case(by_equality, id="equality deletes"),
        case(by_position, id="position deletes of a file"),
        case(by_position_in_partition, id="position deletes of several files"),
    ],
)
def test_both_groups_are_compacted(tmp_path: Path, delete: Deleting, strategy: Strategy) -> None:
    paths = table(tmp_path)
    address = Lakehouse(tmp_path).address(overrides={"min-input-files": "2"})
    delete(address, paths)
    listed = view_of(open_iceberg_table(address)).deletes["file_path"].to_pylist()
    assert len(set(listed)) < len(listed)

    report = compact(Request(address, Selection(strategy=strategy)), InlineRunner(), CLOCK)

    assert [group.group.partition("/")[0] for group in report.groups] == ["name=a", "name=b"]
    assert report.blocked == ()
    rows = [(name, number) for name in "ab" for number in range(6)]
    assert live(address) == [row for row in rows if row[0] != "a" or row[1] not in (0, 3)]
