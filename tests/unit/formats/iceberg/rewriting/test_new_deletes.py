"""Position delete files that tasks write for data files that stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.position_files import PATH, POSITION, read_positions
from lithify.formats.iceberg.deletes.positions import DeletedPositions
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, NewDeleteFile, Partition
from lithify.formats.iceberg.rewriting import new_deletes
from lithify.formats.iceberg.rewriting.destinations import Destination, KeptFile
from support.cases import case
from support.iceberg_files import Files, rows_of, run, schema_of, task_of

SCHEMA = schema_of(("id", "long"), ("text", "string"))
NOWHERE = Partition(0)


@dataclass(frozen=True, slots=True)
class Known:
    """Deleted positions that are known beforehand; an `AppliedDeletes`."""

    of: Mapping[str, Sequence[int]]
    files: tuple[DeleteFile, ...] = ()

    def positions(self, files: Sequence[DataFile], *_: object) -> DeletedPositions:
        return {file.path: bitmap_of(self.of[file.path]) for file in files if file.path in self.of}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, SCHEMA)


def _some(files: Files, *ids: int) -> DataFile:
    return files.data({"id": ids, "text": [f"t{number}" for number in ids]})


def _kept(*files: DataFile) -> tuple[KeptFile, ...]:
    return tuple(KeptFile(file, Destination(NOWHERE, f"{n}-PD-")) for n, file in enumerate(files))


def _read(files: Files, new: NewDeleteFile, of: DataFile) -> list[int]:
    deletes = Content.POSITION_DELETES
    stored = DeleteFile(new.path, new.size, new.rows, deletes, new.format, 9, NOWHERE, (), new.referenced)
    return [*read_positions(files.reader, stored, {of.path: of.rows})[of.path]]


@pytest.mark.parametrize(
    "properties",
    [
        case({}, id="parquet"),
        case({"write.format.default": "orc"}, id="table of ORC files"),
        case({"write.format.default": "avro"}, id="table of Avro files"),
        case({"write.metadata.metrics.default": "none"}, id="table without metrics"),
        case({"write.parquet.bloom-filter-enabled.column.id": "true"}, id="table with bloom filters"),
    ],
)
def test_deleted_rows_of_kept_files_are_written(files: Files, properties: dict[str, Any]) -> None:
    first, second, third = (_some(files, *range(10)) for _ in range(3))
    known = Known({first.path: [7, 2], third.path: [0]})
    task = task_of(files, [], deletes=known, kept=_kept(first, second, third), properties=properties)

    outputs = run(task)

    assert outputs.data == ()
    assert [(each.referenced, each.rows) for each in outputs.deletes] == [(first.path, 2), (third.path, 1)]
    assert [Path(each.path).name.split("-")[:2] for each in outputs.deletes] == [["0", "PD"], ["2", "PD"]]
    assert {(each.format, each.partition) for each in outputs.deletes} == {("parquet", NOWHERE)}
    assert [_read(files, each, of) for each, of in zip(outputs.deletes, (first, third), strict=True)] == [
        [2, 7],
        [0],
    ]


def test_bounds_name_the_data_file(files: Files) -> None:
    kept = _some(files, *range(10))

    (new,) = run(task_of(files, [], deletes=Known({kept.path: [3, 8]}), kept=_kept(kept))).deletes

    path = kept.path.encode()
    assert new.metrics.lower_bounds == {PATH.id: path, POSITION.id: (3).to_bytes(8, "little")}
    assert new.metrics.upper_bounds == {PATH.id: path, POSITION.id: (8).to_bytes(8, "little")}
    assert new.metrics.value_counts == {PATH.id: 2, POSITION.id: 2}
    assert new.size == Path(new.path).stat().st_size


def test_files_are_as_iceberg_says(files: Files) -> None:
    kept = _some(files, *range(10))

    (new,) = run(task_of(files, [], deletes=Known({kept.path: [3]}), kept=_kept(kept))).deletes

    stored = pq.ParquetFile(new.path)
    assert [
        (field.name, field.nullable, field.metadata[b"PARQUET:field_id"]) for field in stored.schema_arrow
    ] == [("file_path", False, b"2147483546"), ("pos", False, b"2147483545")]
    assert stored.read().to_pylist() == [{"file_path": kept.path, "pos": 3}]


def test_positions_are_written_in_portions(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_deletes, "_PORTION", 4)
    kept = _some(files, *range(20))

    (new,) = run(task_of(files, [], deletes=Known({kept.path: range(1, 11)}), kept=_kept(kept))).deletes

    assert pq.ParquetFile(new.path).num_row_groups == 3
    assert (new.rows, _read(files, new, kept)) == (10, [*range(1, 11)])


def test_other_files_of_the_task_are_rewritten(files: Files) -> None:
    old, kept = _some(files, 1, 2, 3), _some(files, 4, 5)
    known = Known({old.path: [0], kept.path: [1]})

    outputs = run(task_of(files, [old], deletes=known, kept=_kept(kept)))

    assert [row["id"] for row in rows_of(outputs.data)] == [2, 3]
    assert [(each.referenced, each.rows) for each in outputs.deletes] == [(kept.path, 1)]


def test_inputs_of_the_task_have_kept_files(files: Files) -> None:
    old, kept = _some(files, 1), _some(files, 2, 3, 4)

    task = task_of(files, [old], kept=_kept(kept))

    assert task.input_sizes == {old.path: old.size, kept.path: kept.size}


@pytest.mark.parametrize(
    ("own", "others", "taken_over"),
    [
        case([1, 4], [], True, id="other rows"),
        case([1, 1, 4], [], True, id="a row twice"),
        case([1, 4], [0], False, id="rows of another file, too"),
    ],
)
def test_older_files_about_the_same_file_alone_are_taken_over(
    files: Files, own: list[int], others: list[int], taken_over: bool
) -> None:
    kept, other = _some(files, *range(10)), _some(files, 1)
    found = files.positions([*((kept, at) for at in own), *((other, at) for at in others)])
    place = KeptFile(kept, Destination(NOWHERE, "PD-"), (replace(found, referenced=kept.path),))

    (new,) = run(task_of(files, [], deletes=Known({kept.path: [3]}), kept=(place,))).deletes

    assert new.replaced == ((found.path,) if taken_over else ())
    assert _read(files, new, kept) == ([1, 3, 4] if taken_over else [3])
