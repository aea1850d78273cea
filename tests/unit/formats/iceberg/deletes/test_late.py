"""Late deletes of replaced files: which of a view's deletes they are, and that each is decoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.deletes.late import LateDeletes, LateRows
from lithify.formats.iceberg.manifests.partition_types import PartitionField
from lithify.formats.iceberg.manifests.partitions import Partitions
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import DataFile, DeleteFile, Partition
from support.cases import case
from support.iceberg_files import Files, schema_of

PLANNED = 5
ONE, TWO = (Partition(1, (value,)) for value in (1, 2))
OLD_SPEC = Partition(0, (1,))
PARTITIONS = [OLD_SPEC, ONE, TWO]
FIELDS = (PartitionField(1000, "p", "int"),)


class Table:
    """Three files of ten rows, `a` and `b` in one partition, `c` in another one; `d` is not replaced."""

    def __init__(self, folder: Path) -> None:
        self.files = Files(folder, schema_of(("id", "long")))
        rows = {"id": [*range(10)]}
        self.data: dict[str, DataFile] = {
            name: self.files.data(rows, partition=TWO if name == "c" else ONE) for name in "abcd"
        }
        inputs = [self.data[name] for name in "abc"]
        self.late = LateDeletes(self.files.storage, PLANNED, inputs)

    def vector(self, of: str, *positions: int, sequence: int = 6) -> DeleteFile:
        made = self.files.vector(self.data[of], positions)
        return replace(made, sequence=sequence, partition=self.data[of].partition)

    def positions(
        self,
        *deleted: tuple[str, int],
        sequence: int = 6,
        partition: Partition = ONE,
        names: bool = False,
        kind: str = "parquet",
    ) -> DeleteFile:
        made = self.files.positions([(self.data[of], at) for of, at in deleted], sequence=sequence, kind=kind)
        referenced = self.data[deleted[0][0]].path if names else None
        return replace(made, partition=partition, referenced=referenced)

    def equality(self) -> DeleteFile:
        return self.files.equality({"id": [1]}, [1], sequence=6, partition=ONE)

    def read(self, *deletes: DeleteFile) -> LateRows:
        return self.late.read(view_of(deletes))

    def found(self, *deletes: DeleteFile) -> dict[str, list[int]]:
        names = {file.path: name for name, file in self.data.items()}
        read = self.read(*deletes)
        assert not read.problems
        return {names[path]: [*found] for path, found in read.positions.items() if found}


def view_of(deletes: Sequence[DeleteFile]) -> View:
    """A view with these deletes; nobody asks for its data files."""
    columns = {
        "content": (pa.int32(), [int(each.content) for each in deletes]),
        "file_path": (pa.string(), [each.path for each in deletes]),
        "file_format": (pa.string(), [each.format for each in deletes]),
        "record_count": (pa.int64(), [each.rows for each in deletes]),
        "file_size_in_bytes": (pa.int64(), [each.size for each in deletes]),
        "sequence_number": (pa.int64(), [each.sequence for each in deletes]),
        "partition": (pa.int64(), [PARTITIONS.index(each.partition) for each in deletes]),
        "equality_ids": (pa.list_(pa.int32()), [[*each.equality_ids] for each in deletes]),
        "referenced": (pa.string(), [each.referenced for each in deletes]),
        "content_offset": (pa.int64(), [each.offset for each in deletes]),
        "content_size_in_bytes": (pa.int64(), [each.length for each in deletes]),
    }
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    values = {
        spec: pa.table({"p1000": pa.array(known, pa.int32()), "nothing": np.zeros(len(known), np.int8)})
        for spec, known in ((0, [1]), (1, [1, 2]))
    }
    partitions = Partitions({0: FIELDS, 1: FIELDS}, np.array([0, 1, 1]), values, {0: 0, 1: 1})
    return View((), pa.table({}), table, partitions, {})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        case(lambda t: [t.vector("a", 3, 5)], {"a": [3, 5]}, id="newer vector"),
        case(lambda t: [t.vector("a", 3, sequence=PLANNED)], {}, id="vector as old as the plan"),
        case(lambda t: [t.vector("d", 3)], {}, id="vector of another file"),
        case(lambda t: [t.vector("a", 3), t.vector("a", 4)], {"a": [3, 4]}, id="two vectors of a file"),
        case(lambda t: [t.positions(("b", 2), names=True)], {"b": [2]}, id="position file about one"),
        case(
            lambda t: [t.positions(("a", 1), ("a", 2), ("b", 7), ("d", 1))],
            {"a": [1, 2], "b": [7]},
            id="position file about several",
        ),
        case(
            lambda t: [t.positions(("a", 1), kind="avro"), t.positions(("a", 2), kind="orc")],
            {"a": [1, 2]},
            id="position files of other formats",
        ),
        case(lambda t: [t.positions(("a", 1), sequence=PLANNED)], {}, id="position file as old as the plan"),
        case(
            lambda t: [t.positions(("a", 1), ("c", 1), partition=TWO)],
            {"c": [1]},
            id="position file that is about a file of another partition, too",
        ),
        case(lambda t: [t.positions(("a", 1), partition=OLD_SPEC)], {}, id="position file of another spec"),
        case(
            lambda t: [t.positions(("a", 1), partition=TWO, names=True)],
            {"a": [1]},
            id="position file that names its file, whatever its partition",
        ),
        case(
            lambda t: [t.vector("a", 1, sequence=2), t.positions(("a", 2), ("b", 2))],
            {"b": [2]},
            id="position file beside a vector, which alone counts",
        ),
        case(lambda t: [t.equality()], {}, id="by equality"),
        case(lambda _: [], {}, id="none"),
    ],
)
def test_late_deletes_are_newer_and_apply_to_a_replaced_file(
    table: Table, made: Callable[[Table], list[DeleteFile]], found: dict[str, list[int]]
) -> None:
    assert table.found(*made(table)) == found


def test_a_delete_is_decoded_once(table: Table) -> None:
    first, second = table.vector("a", 3), table.vector("b", 4)
    assert table.found(first) == {"a": [3]}
    Path(first.path).unlink()
    assert table.found(first, second) == {"a": [3], "b": [4]}


def test_only_what_the_view_has_counts(table: Table) -> None:
    first, second = table.vector("a", 3), table.vector("a", 3, 4)
    assert table.found(first) == {"a": [3]}
    assert table.found(second) == {"a": [3, 4]}
    assert table.found() == {}
    assert table.found(first) == {"a": [3]}, "a rollback brings the former view back"


def test_vectors_in_one_file_are_told_apart(table: Table) -> None:
    first, second = table.vector("a", 3), table.vector("b", 4)
    data = Path(first.path).read_bytes() + Path(second.path).read_bytes()
    joined = table.files.folder / "joined.puffin"
    joined.write_bytes(data)
    moved = (second.offset or 0) + first.size
    both = [
        replace(first, path=str(joined), size=len(data)),
        replace(second, path=str(joined), size=len(data), offset=moved),
    ]
    assert table.found(*both) == {"a": [3], "b": [4]}


@pytest.mark.parametrize(
    ("made", "path_of", "kind"),
    [
        case(lambda t: t.vector("a", 3, 12), "a", CorruptTable, id="vector with a row that the file lacks"),
        case(lambda t: replace(t.vector("b", 3), rows=7), "b", CorruptTable, id="vector of another length"),
        case(
            lambda t: replace(t.vector("a", 3), path=t.data["a"].path + "-gone"), "a", MissingFile, id="gone"
        ),
        case(
            lambda t: t.positions(("a", 1), ("a", 12), names=True),
            "a",
            CorruptTable,
            id="position file with a row that the file lacks",
        ),
    ],
)
def test_a_damaged_delete_is_the_problem_of_its_file_alone(
    table: Table, made: Callable[[Table], DeleteFile], path_of: str, kind: type[Exception]
) -> None:
    read = table.read(made(table), table.vector("c", 1))
    assert {*read.problems} == {table.data[path_of].path}
    assert isinstance(read.problems[table.data[path_of].path], kind)
    assert {*read.positions} == {table.data["c"].path}


def test_a_damaged_delete_for_several_files_is_the_problem_of_all_of_them(table: Table) -> None:
    damaged = table.positions(("a", 1))
    Path(damaged.path).write_bytes(b"PAR1")
    assert {*table.read(damaged).problems} == {table.data["a"].path, table.data["b"].path}


def test_what_could_not_be_read_is_read_again(table: Table) -> None:
    vector = table.vector("a", 3)
    content = Path(vector.path).read_bytes()
    Path(vector.path).unlink()
    assert table.read(vector).problems
    Path(vector.path).write_bytes(content)
    assert table.found(vector) == {"a": [3]}


def test_only_as_much_is_kept_as_memory_allows(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithify.formats.iceberg.deletes.late._KEPT_POSITIONS", 2)
    large, small = table.vector("a", 1, 2, 3), table.vector("b", 4)
    assert table.found(small, large) == {"a": [1, 2, 3], "b": [4]}
    Path(small.path).unlink()
    assert table.found(small, large) == {"a": [1, 2, 3], "b": [4]}
    Path(large.path).unlink()
    assert {*table.read(small, large).problems} == {table.data["a"].path}
