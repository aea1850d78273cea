"""One round of ours against one round of Java's real compaction manager, on copies of the same table."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from differential.shapes import SHAPES, Shape
from oracle.client import Oracle, Table
from oracle.model import DataFile, KeyValue
from support.runs import run_inline
from support.tables import stray_files

pytestmark = pytest.mark.oracle

TARGET = 128 << 20
SMALL = 0.7
INFINITE = ("-Infinity", "Infinity")


@dataclass(frozen=True, slots=True)
class Round:
    """A table before and after a round."""

    table: Table
    before: list[DataFile]
    after: list[DataFile]

    @property
    def removed(self) -> set[str]:
        """Files that were rewritten."""
        return names(self.before) - names(self.after)

    @property
    def upgraded(self) -> set[tuple[str, int]]:
        """Files that changed level, and to which."""
        levels = {file.name: file.level for file in self.before}
        return {(f.name, f.level) for f in self.after if levels.get(f.name, f.level) != f.level}

    @property
    def added(self) -> list[DataFile]:
        """New files, by bucket and key."""
        return [file for file in in_order(self.after) if file.name not in names(self.before)]


def names(files: list[DataFile]) -> set[str]:
    return {file.name for file in files}


def in_order(files: list[DataFile]) -> list[DataFile]:
    return sorted(files, key=lambda file: (str(file.partition), file.bucket, file.level, file.min_key))


@pytest.fixture(params=[*SHAPES], ids=lambda shape: shape.name)
def original(request: pytest.FixtureRequest, oracle: Oracle, tmp_path: Path) -> Table:
    shape: Shape = request.param
    return shape.make(oracle, tmp_path / "original")


@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_round_is_the_one_that_java_makes(
    oracle: Oracle, original: Table, tmp_path: Path, full: bool
) -> None:
    rows = oracle.read(original)
    before = oracle.files(original)

    java = copy(original, tmp_path / "java")
    oracle.manager_round(java, full=full, commit=True)
    ours = copy(original, tmp_path / "ours")
    run_inline(ours, full=full)

    theirs_round, our_round = (Round(table, before, oracle.files(table)) for table in (java, ours))
    assert oracle.read(ours) == rows
    assert our_round.removed == theirs_round.removed
    assert our_round.upgraded == theirs_round.upgraded
    assert contents(oracle, our_round) == contents(oracle, theirs_round)
    for mine, theirs in zip(groups(our_round), groups(theirs_round), strict=True):
        assert outline(mine) == outline(theirs)
        assert abs(len(mine) - len(theirs)) <= 1
        assert not any(is_small(a) and is_small(b) for a, b in pairwise(mine))
    assert [metadata(f) for f in our_round.added] == [metadata(f) for f in theirs_round.added]
    assert stored_columns(our_round) == stored_columns(theirs_round)
    assert stray_files(oracle, ours) == set()


def copy(table: Table, warehouse: Path) -> Table:
    shutil.copytree(Path(str(table.warehouse)), warehouse)
    return Table(warehouse, table.name)


def contents(oracle: Oracle, round_: Round) -> list[KeyValue]:
    """Every key-value of the new files with sequence and kind, in the order of the files."""
    return [
        row
        for file in round_.added
        for row in oracle.kv_rows(round_.table, file.name, file.partition, file.bucket)
    ]


def stored_columns(round_: Round) -> set[str]:
    """How new Parquet files store their columns: names, types, nesting and field ids.

    Java marks the entries of a map with an old annotation that readers need not know, and PyArrow does not.
    """
    paths = (file.path for file in round_.added if file.name.endswith(".parquet"))
    schemas = (str(pq.read_metadata(path).schema) for path in paths)
    return {schema.partition("schema {")[2].replace("key_value (Map) {", "key_value {") for schema in schemas}


def groups(round_: Round) -> Iterator[list[DataFile]]:
    """New files that are neighbours: of one bucket and level, with no older file between them."""
    fresh = names(round_.added)
    group: list[DataFile] = []
    for file in in_order(round_.after):
        belongs = group and place(file) == place(group[-1])
        if group and not (belongs and file.name in fresh):
            yield group
            group = []
        if file.name in fresh:
            group.append(file)
    if group:
        yield group


def place(file: DataFile) -> tuple[str, int, int]:
    return str(file.partition), file.bucket, file.level


def outline(group: list[DataFile]) -> tuple[object, ...]:
    """What a group of rewritten files must have in common with Java's."""
    return (
        place(group[0]),
        group[0].min_key,
        group[-1].max_key,
        sum(file.rows for file in group),
        sum(file.delete_rows or 0 for file in group),
        min(file.min_sequence for file in group),
        max(file.max_sequence for file in group),
    )


def is_small(file: DataFile) -> bool:
    return file.size < TARGET * SMALL


def metadata(file: DataFile) -> DataFile:
    """All metadata but for what has to differ: name, place, size and time.

    Where there are NaNs Lithify states no bounds, for the reason that `FloatStats` tells. Java takes NaN for
    the largest value in Parquet and Avro, and passes over it in ORC, where the infinities are what is left.
    """
    stats = file.value_stats
    pairs = [
        (None, None) if high == "NaN" or (low, high) == INFINITE else (low, high)
        for low, high in zip(stats.min, stats.max, strict=True)
    ]
    bounded = replace(stats, min=[low for low, _ in pairs], max=[high for _, high in pairs])
    return replace(file, name="", path="", size=0, creation_time=0, value_stats=bounded)
