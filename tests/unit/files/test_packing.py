"""Packing has the rows of all files in their order, whether they are copied, joined or decoded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lithify.engine.rewrite.budget import Budget
from lithify.files.model import InputFile
from lithify.files.parquet.copying import file_parts
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.parquet.copying.file_parts import FilePart
from lithify.files.parquet.copying.packing import Packing
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.copying.target import CopyTarget
from lithify.files.parquet.joining_writer import encoded
from lithify.files.parquet.small_files import JoinedGroup
from lithify.files.registry import Readers, open_writer
from lithify.files.types import ColumnType
from lithify.io.local_storage import local_storage
from support.cases import case
from support.data_files import target as paimon_target
from support.joining import joining_from
from support.manifests import schema as table_schema

TYPES = {"n": ColumnType("BIGINT")}
OPTIONS = paimon_target(Path(), table_schema([("n", "BIGINT")], []), {}).options
SCHEMA = pa.schema([("n", pa.int64())])
ROWS = 100


@dataclass(frozen=True)
class Added:
    """What of which files was added, and how."""

    how: str
    files: tuple[str, ...]
    bytes: int = 0


class Source:
    """Files with a column of numbers; `Reading` and `PackedSource`. Half of the rows may be deleted."""

    def __init__(self, folder: Path, *, drops_half: bool = False) -> None:
        self.storage = local_storage([str(folder)])
        self.readers = Readers(self.storage)
        self.decoded_files: list[str] = []
        self._drops_half = drops_half

    def are_all_stored(self, file: InputFile) -> bool:
        return bool(file.path)

    def row_group(
        self, file: InputFile, number: int, only: Collection[str], piece_bytes: int
    ) -> Iterator[pa.Table]:
        raise AssertionError((file, number, only, piece_bytes))

    def reading(self, files: Sequence[InputFile]) -> Source:
        self.decoded_files = [file.path for file in files]
        return self

    def like(self, target: CopyTarget) -> RowGroupSource:
        return target.like

    def copied(self, group: CopiedGroup, file: InputFile) -> Added:
        assert group.source.path == file.path
        return Added("copied", (file.path,), group.bytes)

    def joined(self, group: JoinedGroup, files: Sequence[InputFile]) -> Added:
        assert group.rows == sum(file.rows for file in files)
        return Added("joined", tuple(file.path for file in files), group.bytes)

    def decoded(self, part: FilePart, reading: Source) -> Iterator[pa.RecordBatch]:
        assert reading is self
        file = pq.ParquetFile(part.file.path)
        rows = file.read() if part.row_groups is None else file.read_row_groups(part.row_groups)
        kept = rows.slice(0, len(rows) // 2) if self._drops_half else rows
        yield from kept.combine_chunks().to_batches()


def file(folder: Path, number: int, groups: int = 1) -> InputFile:
    path = folder / f"file-{number}.parquet"
    rows = pa.table({"n": range(number * ROWS, (number + 1) * ROWS)}, schema=SCHEMA)
    with pa.OSFile(str(path), "wb") as sink:
        writer = open_writer(sink, OPTIONS, str(path), TYPES)
        for start in range(0, ROWS, ROWS // groups):
            writer.write(rows.slice(start, ROWS // groups))
        writer.finish()
    return InputFile(str(path), path.stat().st_size, ROWS, schema_id=0, run=0, is_copyable=True)


def copying() -> CopyTarget:
    return CopyTarget(TYPES, OPTIONS, frozenset(), encoded(SCHEMA.empty_table(), OPTIONS, TYPES), 1)


def copying_from(size: int) -> ExitStack:
    stack = ExitStack()
    for name in ("SMALLEST_CHUNK", "SMALLEST_COPIED"):
        stack.enter_context(patch.object(file_parts, name, size))
    return stack


def packed(packing: Packing[Source]) -> list[str]:
    """How rows come, in their order."""
    return [
        f"decoded {each['n'][0].as_py() // ROWS}" if isinstance(each, pa.RecordBatch) else str(each.how)  # type: ignore[attr-defined]
        for each in packing.rows()
    ]


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        case(nullcontext, ["decoded 0", "decoded 1", "decoded 2"], id="small files are decoded"),
        case(lambda: copying_from(1), ["copied"] * 6, id="row groups are copied"),
    ],
)
def test_files_come_in_their_order(ways: object, expected: list[str], tmp_path: Path) -> None:
    files = [file(tmp_path, number, groups=2) for number in range(3)]
    packing = Packing(files, Source(tmp_path), copying(), Budget())
    with ways():  # type: ignore[operator]
        assert packed(packing) == expected
    assert packing.to_come == pytest.approx(0, abs=1)
    assert (packing.like is None) == (expected[0] != "copied")
    assert (packing.copied_bytes > 0) == (expected[0] == "copied")


def test_small_files_are_joined(tmp_path: Path) -> None:
    files = [file(tmp_path, number) for number in range(3)]
    packing = Packing(files, Source(tmp_path), copying(), Budget())
    with joining_from():
        found = [*packing.rows()]
    assert found == [Added("joined", tuple(each.path for each in files), sum(each.size for each in files))]
    assert packing.like is not None
    assert packing.to_come == pytest.approx(0, abs=1)
    assert 0 < packing.copied_bytes <= sum(each.size for each in files)


def test_without_a_target_all_rows_are_decoded(tmp_path: Path) -> None:
    files = [file(tmp_path, number, groups=2) for number in range(2)]
    source = Source(tmp_path)
    packing = Packing(files, source, None, Budget())
    with copying_from(1):
        assert packed(packing) == ["decoded 0", "decoded 1"]
    assert (packing.like, packing.copied_bytes) == (None, 0)
    assert source.decoded_files == [each.path for each in files]


def test_deleted_rows_are_not_expected_any_more(tmp_path: Path) -> None:
    files = [file(tmp_path, number) for number in range(2)]
    packing = Packing(files, Source(tmp_path, drops_half=True), None, Budget())
    left = [packing.to_come for _ in packing.rows()]
    assert left[0] > left[1]
    assert packing.to_come == pytest.approx(0, abs=1)
