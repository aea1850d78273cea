"""Append tables whose rows Java deletes by vectors: ours beside Java's compactions of copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, OracleError
from infrastructure.oracle.model import DataFile, IndexFile, Row, Table
from support.cases import case
from support.comparing.rounds import Round, metadata
from support.comparing.vectors import REFUSED, assert_refused, cardinality, stored, unpaired, with_ids
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

COLUMNS = {"id": "INT", "v": "STRING", "p": "STRING"}
MARKED = {"deletion-vectors.enabled": "true", "compaction.min.file-num": "4"}


@dataclass(frozen=True)
class Deletes:
    """How an append table comes to have deleted rows.

    Attributes:
        name: for people, and the seed.
        options: of the table.
        commits: number of rows of each commit; a commit makes a file in each partition.
        deletes: after which commit which filters delete rows.
        partitions: partitions that rows are in.
        counted: whether the writer counts the rows that a vector deletes.
    """

    name: str
    options: dict[str, str] = field(default_factory=dict)
    commits: tuple[int, ...] = (60, 50, 40, 30, 20, 10)
    deletes: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    partitions: str = ""
    counted: bool = True

    def make(self, oracle: Oracle, warehouse: Path) -> Table:
        """The table."""
        table, random = Table(warehouse, "db.t"), Random(self.name)
        keys = ["p"] if self.partitions else []
        oracle.create_table(table, COLUMNS, partition_keys=keys, options={**MARKED, **self.options})
        start = 0
        for number, rows in enumerate(self.commits):
            oracle.write(table, [self._row(random, start + row) for row in range(rows)])
            start += rows
            for where in self.deletes.get(number, ()):
                oracle.delete(table, where, counted=self.counted)
        return table

    def _row(self, random: Random, key: int) -> Row:
        text = "".join(random.choices("abcdef", k=40))
        return ["+I", key, text, random.choice(self.partitions) if self.partitions else None]


def below(key: int) -> dict[str, Any]:
    return {"column": "id", "op": "less_than", "literal": key}


LARGE = {"target-file-size": "2 kb"}
"""The files of 60, 50 and 40 rows are large then."""

CASES = [
    Deletes("few rows of one file", deletes={5: (with_ids(3),)}),
    Deletes("rows of every file", deletes={5: (with_ids(*range(0, 210, 9)),)}),
    Deletes("one after the other", deletes={n: (with_ids(n, n + 60), with_ids(n * 7)) for n in range(6)}),
    Deletes("a whole file", deletes={5: (below(61),)}),
    Deletes("all rows", deletes={5: (below(1000),)}),
    Deletes(
        "partitions",
        partitions="abc",
        deletes={3: (with_ids(*range(40)),), 5: (with_ids(*range(9, 190, 5)),)},
    ),
    Deletes("few files", commits=(9, 8), deletes={0: (with_ids(1),)}),
    Deletes("a file alone", commits=(9,), deletes={0: (with_ids(1, 2),)}),
    Deletes("large files with few deleted rows", LARGE, deletes={5: (with_ids(3, 64, 115),)}),
    Deletes("a large file with many", LARGE, deletes={5: (below(20), with_ids(64))}),
    Deletes(
        "a ratio of its own",
        {**LARGE, "compaction.delete-ratio-threshold": "0.01"},
        deletes={5: (with_ids(3, 64, 115),)},
    ),
    Deletes("nobody has counted them", LARGE, deletes={5: (with_ids(3, 64, 115),)}, counted=False),
    Deletes(
        "wide vectors",
        {**LARGE, "deletion-vectors.bitmap64": "true"},
        deletes={1: (with_ids(*range(9)), with_ids(61)), 5: (with_ids(30, 70, 160),)},
    ),
    Deletes(
        "index files that roll",
        {**LARGE, "deletion-vector.index-file.target-size": "1 b"},
        deletes={5: (with_ids(3, 64, 115, 155, 185, 205),)},
    ),
    Deletes(
        "index files beside the data",
        {**LARGE, "index-file-in-data-file-dir": "true"},
        partitions="ab",
        deletes={3: (with_ids(*range(40)),), 5: (with_ids(3, 64, 115),)},
    ),
    Deletes("orc", {"file.format": "orc"}, deletes={5: (with_ids(*range(0, 210, 7)),)}),
    Deletes("avro", {"file.format": "avro"}, deletes={5: (with_ids(*range(0, 210, 7)),)}),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("shape", CASES, ids=lambda shape: shape.name)
def test_deleted_rows_are_dropped_as_by_java(oracle: Oracle, shape: Deletes, tmp_path: Path) -> None:
    table = shape.make(oracle, tmp_path / "ours")
    rows, before = oracle.read(table), oracle.files(table)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java)

    report = run_inline(table, full=False)

    ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
    assert ours.removed == theirs.removed
    assert report.status == ("Compacted" if ours.removed else "NothingToDo")
    assert oracle.read(table) == oracle.read(java) == rows
    assert alike(ours) == alike(theirs)
    assert vectors(oracle, table) == vectors(oracle, java)
    assert not unpaired(oracle, table)
    assert stray_files(oracle, table) == set()
    # Java goes on with what ours has left.
    oracle.delete(table, with_ids(5, 66, 117, 199))
    rows = oracle.read(table)
    oracle.write(table, [])
    oracle.compact(table)
    assert oracle.read(table) == rows


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", CASES, ids=lambda shape: shape.name)
def test_a_full_compaction_drops_every_deleted_row(oracle: Oracle, shape: Deletes, tmp_path: Path) -> None:
    table = shape.make(oracle, tmp_path / "ours")
    rows = oracle.read(table)
    assert run_inline(table, full=True).status == "Compacted"
    assert oracle.read(table) == rows
    assert sum(file.rows for file in oracle.files(table)) == len(rows)
    assert oracle.index_files(table) == []
    assert stray_files(oracle, table) == set()
    counts = [len(oracle.files(table))]
    while run_inline(table, full=True).status == "Compacted":
        counts.append(len(oracle.files(table)))
        assert counts[-1] < counts[-2], "what is small is joined, until nothing is to be done"


def test_cases_leave_vectors_and_take_some(oracle: Oracle, tmp_path: Path) -> None:
    """Otherwise the comparison would say little."""
    left = 0
    for number, shape in enumerate(CASES):
        table = shape.make(oracle, tmp_path / f"{number}")
        before = cardinality(oracle, table) if shape.counted else 1
        run_inline(table, full=False)
        assert before > 0
        left += cardinality(oracle, table) > 0
    assert left > 2


def alike(one: Round) -> list[DataFile]:
    """The metadata of new files. Java packs files of one index file in any order."""
    return sorted((metadata(each) for each in one.added), key=repr)


def vectors(oracle: Oracle, table: Table) -> list[tuple[str, list[tuple[str, int | None, bytes]]]]:
    """The partition of each index file, and the vectors in it by the names of their files."""

    def content(index: IndexFile) -> list[tuple[str, int | None, bytes]]:
        found = index.deletion_vectors.items()
        return sorted((name, each.cardinality, stored(index.path, each.offset)) for name, each in found)

    return sorted(((str(each.partition), content(each)) for each in oracle.index_files(table)), key=repr)


REFUSED_HERE = {**REFUSED, "buckets": ({"bucket": "2", "bucket-key": "id"}, "bucket = 2")}


@pytest.mark.parametrize(("options", "name"), REFUSED_HERE.values(), ids=REFUSED_HERE)
def test_what_cannot_be_combined_is_refused(
    oracle: Oracle, tmp_path: Path, options: dict[str, str], name: str
) -> None:
    table = Table(tmp_path / "w", "db.t")
    oracle.create_table(table, COLUMNS, options={**MARKED, **options})
    assert_refused(table, name)


@pytest.mark.parametrize(
    ("options", "is_lost"),
    [
        case({"bucket": "-1"}, False, id="no buckets"),
        case({"bucket": "1", "bucket-key": "id"}, True, id="bucket"),
    ],
)
def test_why_buckets_are_refused(
    oracle: Oracle, tmp_path: Path, options: dict[str, str], is_lost: bool
) -> None:
    """Java's own compaction beside Java's own DELETE: in a bucket nothing notices, and the row comes back."""
    table = Table(tmp_path / "w", "db.t")
    oracle.create_table(table, COLUMNS, options={**MARKED, **options})
    for number in range(5):
        oracle.write(table, [["+I", number, "v", None]])
    token = oracle.prepare_delete(table, with_ids(2))
    oracle.compact(table)
    if is_lost:
        oracle.commit_prepared(token)
        assert len(oracle.read(table)) == 5
    else:
        with pytest.raises(OracleError, match="conflict"):
            oracle.commit_prepared(token)
