"""Parquet files of strange writers, of accidents and of attackers, in tasks that copy or join what they can.

The rows are those of decoding everything, or the task fails and says which file is damaged.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lithify.clock import SystemClock
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.parquet.copying import footers as copied_footers
from lithify.files.parquet.copying import source as copied_source
from lithify.files.parquet.copying.footers import (
    GROUP_BYTES,
    GROUP_COMPRESSED,
    METADATA,
    ROW_GROUPS,
    STATISTICS,
)
from lithify.files.parquet.copying.pages import PageWalk
from lithify.files.parquet.footers import Footers
from lithify.files.parquet.structs import (
    Malformed,
    Struct,
    Value,
    binary,
    encode_struct,
    i32,
    i64,
    integer_of,
    read_struct,
    struct,
    structs,
)
from lithify.files.parquet.thrift import Thrift
from lithify.formats.paimon.append.pack_task import PackTask
from lithify.formats.paimon.rows.binary_row import decode_row
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.protocol.results import TaskResult
from support.copying import copying_from
from support.data_files import Rows, local_storage
from support.joining import joining_from
from support.manifests import schema
from support.parquet_files import Layout, joined, source, with_footer, written
from unit.formats.paimon.append.test_copied_files import (
    described,
    groups,
    outputs,
    rows_of,
    run,
    task_of,
    with_size,
    without_copies,
)

Way = Callable[[], AbstractContextManager[None]]
ways = pytest.mark.parametrize("way", [partial(copying_from, 1), joining_from], ids=["copied", "joined"])
ONE, TWO = groups(50), groups(20, start=50)
"""The only row group of each of two files."""


class TestColumnsWithDotsInTheirNames:
    """A column `a.b` and the part `b` of a column `a` have the same path in Parquet."""

    NESTED = ("a", {"type": "ROW", "fields": [{"id": 10, "name": "b", "type": "STRING"}]})
    PLAIN = ("a.b", "STRING")
    ORDERS = pytest.mark.parametrize("columns", [(NESTED, PLAIN), (PLAIN, NESTED)], ids=["after", "before"])

    def rows(self, count: int, start: int) -> Rows:
        numbers = range(start, start + count)
        return [{"id": n, "a.b": f"top{n:03}", "a": {"b": f"in{n:03}"}} for n in numbers]

    @ways
    @ORDERS
    def test_rows_and_statistics_are_those_of_each(self, tmp_path: Path, columns: Any, way: Way) -> None:
        keyed = schema([("id", "INT"), *columns], [])
        task = task_of(tmp_path, [[self.rows(50, 0)], [self.rows(20, 50)]], keyed)
        with way():
            results = [run(task), run(without_copies(task), attempt=1)]
        assert results[0].outputs.copied_bytes > 0
        assert rows_of(task, results[0]) == rows_of(task, results[1])
        for result in results:
            (file,) = outputs(task, result)
            stored = pq.ParquetFile(file.path).read().to_pylist()
            assert stored == [*self.rows(50, 0), *self.rows(20, 50)]
            (meta,) = result.outputs.data
            assert self.bounds(meta.value_stats.min_values, keyed) == (0, "top000")
            assert self.bounds(meta.value_stats.max_values, keyed) == (69, "top069")

    def bounds(self, encoded: bytes, keyed: Schema) -> tuple[Any, Any]:
        """The bounds of `id` and of `a.b`, without those of `a`, which has none."""
        by_name = {column.name: column.type for column in keyed.columns}
        names = [name for name in by_name if name != "a"]
        found = decode_row(encoded, [by_name[name] for name in names])
        values = dict(zip(names, found, strict=True))
        return values["id"], values["a.b"].decode()


def in_chunks(change: Callable[[dict[int, Value]], Struct], column: int = 0) -> Callable[[Struct], Struct]:
    """A change to the metadata of a column's chunks in all row groups."""

    def changed(fields: Struct) -> Struct:
        found = []
        for group in fields[ROW_GROUPS].structs:
            chunks = [dict(chunk) for chunk in group[1].structs]
            chunks[column][METADATA] = struct(change(dict(chunks[column][METADATA].struct)))
            found.append({**group, 1: structs(chunks)})
        return {**fields, ROW_GROUPS: structs(found)}

    return changed


def statistic(number: int, value: Value) -> Callable[[Struct], Struct]:
    """Another statistic of the first column, of type INT."""

    def changed(metadata: dict[int, Value]) -> Struct:
        return {**metadata, STATISTICS: struct({**metadata[STATISTICS].struct, number: value})}

    return in_chunks(changed)


def changed_file(task: PackTask, change: Callable[[bytes], bytes]) -> PackTask:
    """The task whose second file is another one."""
    path = Path(task.files[1].path)
    path.write_bytes(change(path.read_bytes()))
    return replace(task, files=tuple(map(with_size, task.files)))


def results_of(task: PackTask, way: Way) -> tuple[TaskResult, TaskResult]:
    """The results of a task, and of the same task when it decodes everything."""
    with way():
        return task.run(SystemClock(UTC)), without_copies(task).run(SystemClock(UTC), attempt_id=1)


_MINIMUM, _MAXIMUM, _NULLS = 6, 5, 3
STATISTICS_OF_NO_COLUMN = {
    "a minimum that is cut off": statistic(_MINIMUM, binary(b"\1\0\0")),
    "an empty maximum": statistic(_MAXIMUM, binary(b"")),
    "a long maximum": statistic(_MAXIMUM, binary(b"\1\0\0\0\0")),
    "fewer nulls than none": statistic(_NULLS, i64(-3)),
    "more nulls than values": statistic(_NULLS, i64(300)),
    "a minimum above the maximum": statistic(_MINIMUM, binary(b"\xff\xff\xff\x7f")),
}


@ways
@pytest.mark.parametrize("name", STATISTICS_OF_NO_COLUMN)
def test_statistics_that_cannot_be_true_do_not_get_into_manifests(
    tmp_path: Path, name: str, way: Way
) -> None:
    """PyArrow ends the process over the first of them."""
    change = partial(with_footer, change=STATISTICS_OF_NO_COLUMN[name])
    copied, decoded = results_of(changed_file(task_of(tmp_path, [ONE, TWO]), change), way)
    if decoded.failure is not None:
        assert copied.failure is not None
        assert copied.failure.kind == decoded.failure.kind == "CorruptTable"
    else:
        assert [*map(described, copied.outputs.data)] == [*map(described, decoded.outputs.data)]


@pytest.mark.parametrize("name", ["a minimum that is cut off", "an empty maximum"])
def test_statistics_that_end_the_process_count_as_none(tmp_path: Path, name: str) -> None:
    content, _ = written(pa.schema([("id", pa.int32())]), Layout([5]))
    path = tmp_path / "file.parquet"
    footers = Footers(local_storage(tmp_path))
    path.write_bytes(content)
    assert footers.statistics(str(path), 0, "id") is not None
    path.write_bytes(with_footer(content, change=STATISTICS_OF_NO_COLUMN[name]))
    assert Footers(local_storage(tmp_path)).statistics(str(path), 0, "id") is None


def with_page_header(content: bytes, column: int, change: Callable[[Struct], Struct]) -> bytes:
    """A file whose first page of a column has another header of the same length."""
    at = source(content).footer.row_groups[0].chunks[column].pages.start
    walk = Thrift(content, at)
    encoded = encode_struct(change(read_struct(walk)))
    assert len(encoded) == walk.at - at, "the page would be elsewhere"
    return content[:at] + encoded + content[walk.at :]


@ways
def test_wrong_bits_in_a_page_are_found_by_its_checksum(tmp_path: Path, way: Way) -> None:
    """Also where no codec would notice: the result would have one page that nobody can trust among many."""
    task = task_of(tmp_path, [ONE, TWO], options={"file.compression": "none"})

    def damaged(content: bytes) -> bytes:
        end = source(content).footer.row_groups[0].chunks[0].pages.end
        return content[: end - 1] + bytes([content[end - 1] ^ 1]) + content[end:]

    for result in results_of(changed_file(task, damaged), way):
        assert result.failure is not None
        assert (result.failure.kind, result.failure.path) == ("CorruptTable", task.files[1].path)


@pytest.mark.parametrize("piece", [1, 100, 1 << 20])
def test_page_headers_may_have_long_statistics(piece: int) -> None:
    """A writer may put a minimum and a maximum there; pieces of a chunk end anywhere."""
    content, _ = written(pa.schema([("id", pa.int32())]), Layout([5], {"use_dictionary": False}))
    (chunk,) = source(content).footer.row_groups[0].chunks
    walk = Thrift(content, chunk.pages.start)
    header = read_struct(walk)
    long = struct({5: binary(bytes(4000)), 6: binary(bytes(4000))})
    header = {**header, 5: struct({**header[5].struct, 5: long})}
    data = encode_struct(header) + content[walk.at : chunk.pages.end]
    pages = PageWalk(chunk)
    for start in range(0, len(data), piece):
        pages.feed(data[start : start + piece])
    pages.end()


@pytest.mark.parametrize(
    "data",
    [
        b"\x15" + b"\xff" * (1 << 20) + b"\x00",
        b"\x18" + b"\xff" * (1 << 20) + b"\x00",
        b"\x29\xfc" + b"\xff\xff\xff\x07" + bytes(2 << 20),
        b"\x15\x00\x15\x00\x15\x00\x1d\x00\x1c\x15\x0a\x15\x00\x15\x06\x15\x06\x00\x00",
        b"\x15\x00\x15\x01\x15\x00\x2c\x15\x0a\x15\x00\x15\x06\x15\x06\x00\x00",
        b"\x15\x00\x25\x00\x2c\x15\x0a\x15\x00\x15\x06\x15\x06\x00\x00",
    ],
    ids=[
        *("an endless integer", "an endless length", "millions of structs", "an unknown type"),
        *("a negative size", "no size"),
    ],
)
def test_what_is_no_page_header_is_found_without_much_time_and_memory(data: bytes) -> None:
    content, _ = written(pa.schema([("id", pa.int32())]), Layout([5]))
    (chunk,) = source(content).footer.row_groups[0].chunks
    with pytest.raises((Malformed, IndexError)):
        walk_over(data, PageWalk(chunk))


def walk_over(data: bytes, pages: PageWalk) -> None:
    pages.feed(data)
    pages.end()


@pytest.mark.parametrize(
    "value", [Value(5, b"\xff" * 300_000 + b"\x00"), i32(2**31), Value(5, i64(2**32 + 20).data)]
)
def test_integers_are_of_their_width(value: Value) -> None:
    """Other readers keep the last bits of a longer one, so it would mean two things."""
    with pytest.raises(Malformed):
        _ = value.integer


LIMITS = {"page indexes": (copied_source, "_MOST_INDEX"), "footers": (copied_footers, "_MOST_FOOTER")}


@pytest.mark.parametrize("name", LIMITS)
def test_files_that_would_take_much_memory_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content, _ = written(pa.schema([("id", pa.int32())]), Layout([5], {"write_page_index": True}))
    monkeypatch.setattr(*LIMITS[name], 10)
    with pytest.raises(UnsupportedTable):
        source(content)
    monkeypatch.undo()
    files = [groups(50), groups(20, 30, 10, 5, 5, 10, 10, start=50)]
    task = task_of(tmp_path, files)
    size = 1_000 if name == "page indexes" else 3_000
    monkeypatch.setattr(*LIMITS[name], size)
    copied, decoded = results_of(task, partial(copying_from, 1))
    assert (copied.failure, decoded.failure) == (None, None)
    assert copied.outputs.copied_bytes < sum(file.size for file in task.files) / 2
    assert rows_of(task, copied) == rows_of(task, decoded)


@ways
def test_files_with_other_columns_are_not_opened_to_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Way
) -> None:
    """Their footers, of thousands of columns perhaps, would be read in Python for nothing."""
    task = task_of(tmp_path, [ONE, TWO])
    table = pq.read_table(task.files[1].path)
    more = table.append_column("more", pa.nulls(table.num_rows, pa.int32()))
    pq.write_table(more, task.files[1].path, use_dictionary=False)
    opened: list[str] = []
    real = copied_source.read_footer

    def counted(stream: pa.NativeFile, path: str) -> Any:
        opened.append(path)
        return real(stream, path)

    monkeypatch.setattr(copied_source, "read_footer", counted)
    copied, decoded = results_of(replace(task, files=tuple(map(with_size, task.files))), way)
    assert task.files[1].path not in opened
    assert rows_of(task, copied) == rows_of(task, decoded)


@pytest.mark.parametrize("key", [b"org.apache.spark.version", b"org.apache.spark.legacyDateTime"])
def test_files_of_different_calendars_are_not_joined(key: bytes) -> None:
    """Spark tells by keys of a file how old dates in it are to be read."""
    content, _ = written(pa.schema([("id", pa.int32())]), Layout([3], {"store_schema": False}))
    entries = structs([{1: binary(key), 2: binary(b"2.4.0")}])
    marked = with_footer(content, change=lambda fields: {**fields, 5: entries})
    assert source(content).fingerprint != source(marked).fingerprint


@pytest.mark.parametrize("number", [GROUP_BYTES, GROUP_COMPRESSED])
def test_sizes_of_row_groups_are_those_of_their_chunks(number: int) -> None:
    """Readers that share a file leave out a row group whose middle is behind its end."""
    content, _ = written(pa.schema([("id", pa.int32()), ("text", pa.string())]), Layout([9]))

    def changed(fields: Struct) -> Struct:
        (group,) = fields[ROW_GROUPS].structs
        return {**fields, ROW_GROUPS: structs([{**group, number: i64(1 << 40)}])}

    (before,), (after,) = (
        source(data).footer.row_groups for data in (content, joined([with_footer(content, change=changed)]))
    )
    assert integer_of(after.fields, number) == integer_of(before.fields, number)


@ways
@pytest.mark.parametrize("columns", [["id"], ["id", "tags"]], ids=str)
def test_pages_with_fewer_rows_than_the_footer_says_are_damage(
    tmp_path: Path, columns: list[str], way: Way
) -> None:
    """PyArrow returns fewer rows, without an error if all the columns that it reads have as many."""
    kinds = {"id": "INT NOT NULL", "tags": "INT NOT NULL"}
    keyed = schema([(name, kinds[name]) for name in columns], [])
    rows = [[dict.fromkeys(columns, n) for n in range(size)] for size in (50, 20)]
    task = task_of(tmp_path, [[rows[0]], [rows[1]]], keyed)

    def shortened(content: bytes) -> bytes:
        for number in range(len(columns)):
            content = with_page_header(
                content, number, lambda header: {**header, 5: struct({**header[5].struct, 1: i32(19)})}
            )
        return content

    for result in results_of(changed_file(task, shortened), way):
        assert result.failure is not None
        assert (result.failure.kind, result.failure.path) == ("CorruptTable", task.files[1].path)


@ways
def test_names_that_are_no_text_are_damage(tmp_path: Path, way: Way) -> None:
    task = task_of(tmp_path, [ONE, TWO])
    for result in results_of(changed_file(task, lambda data: data.replace(b"ratio", b"rati\xff")), way):
        assert result.failure is not None
        assert (result.failure.kind, result.failure.path) == ("CorruptTable", task.files[1].path)


def test_a_file_without_a_version_is_found_when_it_is_opened() -> None:
    content, _ = written(pa.schema([("id", pa.int32())]), Layout([5]))
    with pytest.raises(CorruptTable):
        source(with_footer(content, change=lambda fields: {**fields, 1: Value(5, i64(1 << 40).data)}))
