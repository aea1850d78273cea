"""Files of a task are divided into row groups that are copied, pages that are joined, and rows to decode."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest

from lithify.engine.rewrite.budget import Budget
from lithify.files.model import InputFile
from lithify.files.options import FileOptions
from lithify.files.parquet import small_files
from lithify.files.parquet.copying.file_parts import RowGroups, may_copy_any
from lithify.files.parquet.copying.joined_files import FileJoiner
from lithify.files.parquet.copying.target import CopyTarget
from lithify.files.parquet.joining_writer import encoded
from lithify.files.parquet.small_files import JoinedGroup
from lithify.files.parquet.writer import ParquetWriter
from lithify.files.registry import Readers
from lithify.files.statistics import StatsModes
from lithify.formats.paimon.schema.type_texts import parse_type
from lithify.io.storage import Storage
from support.copying import copying_from
from support.data_files import local_storage
from support.joining import joining_from

TYPES = {"id": parse_type("BIGINT NOT NULL"), "text": parse_type("STRING")}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("text", pa.string())])
OPTIONS = FileOptions("data-", "zstd", 1, False, False, 128 << 20, StatsModes("full", {}, -1, False))


@dataclass
class Reads:
    """Files whose columns are those of the rows; no column is read of a copied row group."""

    storage: Storage
    readers: Readers

    def are_all_stored(self, file: InputFile) -> bool:
        return True

    def row_group(
        self, file: InputFile, number: int, only: Collection[str], piece_bytes: int
    ) -> Iterator[pa.Table]:
        raise AssertionError(f"row group {number} of {file.path} need not be read")


@pytest.fixture
def reads(tmp_path: Path) -> Reads:
    storage = local_storage(tmp_path)
    return Reads(storage, Readers(storage))


def target(options: FileOptions = OPTIONS) -> CopyTarget:
    return CopyTarget(TYPES, options, frozenset(), encoded(SCHEMA.empty_table(), options, TYPES))


def rows(start: int, count: int) -> pa.Table:
    ids = range(start, start + count)
    return pa.table([pa.array(ids), pa.array([f"row {n * 7919}" for n in ids])], schema=SCHEMA)


def written(path: Path, *groups: pa.Table, options: FileOptions = OPTIONS) -> InputFile:
    with pa.OSFile(str(path), "wb") as sink:
        writer = ParquetWriter(sink, options, TYPES)
        for group in groups:
            writer.write(group)
        writer.finish()
    count = sum(len(group) for group in groups)
    return InputFile(str(path), path.stat().st_size, count, 0, 0, is_copyable=True)


def test_row_groups_are_copied_and_other_files_decoded_in_order(tmp_path: Path, reads: Reads) -> None:
    files = [
        written(tmp_path / "a.parquet", rows(0, 900), rows(900, 900)),
        written(tmp_path / "b.parquet", rows(0, 900), options=replace(OPTIONS, compression="snappy")),
        replace(written(tmp_path / "c.parquet", rows(0, 900)), is_copyable=False),
    ]
    with copying_from(1_000):
        parts = [*RowGroups(reads, target()).parts_of(files)]
    assert [(part.file.path[-9:], part.is_copied, part.rows) for part in parts] == [
        ("a.parquet", True, 1800),
        ("b.parquet", False, 900),
        ("c.parquet", False, 900),
    ]


def test_copied_row_groups_have_their_rows_as_facts(tmp_path: Path, reads: Reads) -> None:
    file = written(tmp_path / "a.parquet", rows(0, 900), rows(900, 800))
    with copying_from(1_000):
        groups = RowGroups(reads, target())
        (part,) = groups.parts_of([file])
        copied = [(group.number, sum(map(len, group.facts))) for group in groups.copied(part)]
    assert copied == [(0, 900), (1, 800)]


def test_nothing_is_copied_into_other_formats_or_of_few_bytes(tmp_path: Path) -> None:
    file = written(tmp_path / "a.parquet", rows(0, 900))
    assert not may_copy_any([file], OPTIONS, TYPES.values())
    with copying_from(1_000):
        assert may_copy_any([file], OPTIONS, TYPES.values())
        assert not may_copy_any([file], replace(OPTIONS, format="orc"), TYPES.values())
        assert not may_copy_any([replace(file, is_copyable=False)], OPTIONS, TYPES.values())


def test_small_files_become_one_row_group(tmp_path: Path, reads: Reads) -> None:
    files = [written(tmp_path / f"{n}.parquet", rows(n * 900, 900)) for n in range(3)]
    with joining_from():
        joiner = FileJoiner(reads, target(), Budget())
        assert joiner.can_join_any(files)
        assert not joiner.can_join_any(files[:1])
        (group,) = joiner.joined(files)
    assert isinstance(group, JoinedGroup)
    assert group.rows == 2700
    assert group.joined


def test_two_files_tell_that_too_little_of_all_can_be_joined(
    tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a file means parsing all of its page headers, which takes as long as decoding some columns."""
    files = [written(tmp_path / f"{n}.parquet", rows(n * 900, 900)) for n in range(5)]
    opened: list[InputFile] = []
    with joining_from():
        joiner = FileJoiner(reads, target(), Budget())
        open_file = joiner._open
        monkeypatch.setattr(joiner, "_open", lambda file: opened.append(file) or open_file(file))
        monkeypatch.setattr(small_files, "SMALLEST_PAGE", 1 << 30)
        assert [*joiner.joined(files)] == files
    assert opened == files[:2]
