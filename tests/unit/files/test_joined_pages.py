"""Column chunks made of the pages of small files: the rows, bytes, statistics and page indexes of all."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.files.parquet.copying.copier import RowGroupCopier
from lithify.files.parquet.copying.footers import METADATA, ROW_GROUPS
from lithify.files.parquet.copying.paged_chunks import PagedColumn, paged_columns
from lithify.files.parquet.joining_writer import JoiningWriter
from lithify.files.parquet.small_files import SmallFile, joined_columns, joined_group
from lithify.files.parquet.structs import (
    Struct,
    Value,
    encode_struct,
    i32,
    i64,
    integer_of,
    read_struct,
    struct,
    structs,
)
from lithify.files.parquet.thrift import Thrift
from support.data_files import target
from support.joining import joining_from
from support.manifests import schema as table_schema
from support.parquet_files import CODECS, LEAVES, Layout, source, with_footer, written
from support.properties import examples

PLAIN = {"compression": "zstd", "use_dictionary": False, "write_page_index": True, "store_schema": False}
"""Options of PyArrow's writer with which the pages of flat columns can be joined."""
SMALL_PAGES = {**PLAIN, "data_page_size": 64, "write_batch_size": 3}
OPTIONS = target(Path(), table_schema([("id", "INT")], []), {}).options
TWO = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("text", pa.string())])


def held(files: Sequence[bytes]) -> tuple[list[SmallFile], list[PagedColumn]]:
    """Files in memory, and the columns that might be joined."""
    columns = paged_columns(source(files[0]).footer.metadata)
    return [SmallFile(pa.py_buffer(content), "file.parquet", columns) for content in files], columns


def joined_paths(files: Sequence[bytes]) -> set[str]:
    """The columns that can be joined."""
    with joining_from():
        return {*joined_columns(*held(files))}


def joined(files: Sequence[bytes], schema: pa.Schema, codec: str = "zstd") -> tuple[bytes, set[str]]:
    """The files as one with one row group, and the paths of the columns that were joined page by page."""
    held_files, candidates = held(files)
    with joining_from():
        columns = joined_columns(held_files, candidates)
    others = pa.schema([field for field in schema if field.name not in columns])
    group = joined_group(held_files, columns, others)
    sink = pa.BufferOutputStream()
    writer = JoiningWriter(sink, replace(OPTIONS, compression=codec), {}, source(files[0]))
    writer.join(group, group.others.select(others.names))
    writer.finish()
    return bytes(sink.getvalue()), {*columns}


def flat_and_nested() -> st.SearchStrategy[pa.Schema]:
    """Schemas of columns of every type that is not a dictionary in Arrow, and of a few nested ones."""
    nested = (pa.list_(pa.int32()), pa.struct([pa.field("y", pa.string())]), pa.map_(pa.string(), pa.int64()))
    kinds = st.sampled_from([*(kind for kind in LEAVES if not pa.types.is_dictionary(kind)), *nested])
    first = pa.field("id", pa.int64(), nullable=False)
    return st.lists(kinds, min_size=1, max_size=4).map(
        lambda found: pa.schema([first, *(pa.field(f"c{n}", kind) for n, kind in enumerate(found))])
    )


@given(
    data=st.data(),
    codec=st.sampled_from(CODECS),
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    page=st.sampled_from([64, 1 << 20]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=examples(60), deadline=None)
def test_joined_files_have_the_rows_of_their_parts(
    data: st.DataObject, codec: str, counts: list[int], page: int, seed: int
) -> None:
    schema = data.draw(flat_and_nested())
    dictionaries = data.draw(st.lists(st.sampled_from(schema.names), unique=True))
    files = []
    for number, count in enumerate(counts):
        wanted = dictionaries if data.draw(st.booleans()) else []
        options = {**PLAIN, "compression": codec, "use_dictionary": wanted, "data_page_size": page}
        layout = Layout([count], {**options, "write_batch_size": 3, "store_decimal_as_integer": True})
        files.append(written(schema, layout, seed + number * 100)[0])

    result, _ = joined(files, pq.read_schema(pa.BufferReader(files[0])), codec)

    expected = pa.concat_tables([pq.read_table(pa.BufferReader(content)) for content in files])
    found = pq.read_table(pa.BufferReader(result))
    assert str(found.to_pydict()) == str(expected.to_pydict())
    assert pl.read_parquet(io.BytesIO(result)).height == sum(counts)
    assert_statistics_are_exact(result, expected)
    assert_pages_are_where_the_index_says(result)


def assert_statistics_are_exact(data: bytes, rows: pa.Table) -> None:
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    for column in map(group.column, range(group.num_columns)):
        name, statistics = column.path_in_schema, column.statistics
        if name not in rows.column_names or pa.types.is_floating(rows[name].type):
            continue
        assert statistics.null_count == rows[name].null_count
        assert statistics.has_min_max or name != "id"
        if statistics.has_min_max:
            expected = [value.as_py() for value in pc.min_max(rows[name]).values()]
            assert bounds_in(statistics, rows[name].type) == expected


def bounds_in(statistics: pq.Statistics, kind: pa.DataType) -> list[Any]:
    """Minimum and maximum; PyArrow does not decode those of decimals that are stored as integers."""
    if not pa.types.is_decimal(kind):
        return [statistics.min, statistics.max]
    raw = [statistics.min_raw, statistics.max_raw]
    numbers = [int.from_bytes(each, signed=True) if isinstance(each, bytes) else each for each in raw]
    return [Decimal(number).scaleb(-kind.scale, Context(prec=38)) for number in numbers]


def assert_pages_are_where_the_index_says(data: bytes) -> None:
    opened = source(data)
    (group,) = opened.footer.row_groups
    for chunk in group.chunks:
        index = opened.index_of(chunk)
        for start, size, _ in [] if index is None else index.places:
            walk = Thrift(data[start : start + size])
            assert integer_of(read_struct(walk), 3) == size - walk.at


def test_pages_stay_as_they_are_and_the_index_names_each() -> None:
    files = [written(TWO, Layout([count], SMALL_PAGES), seed)[0] for count, seed in ((20, 0), (7, 500))]
    result, paths = joined(files, TWO)
    assert paths == {"id", "text"}
    parts, opened = [source(content) for content in files], source(result)
    for number in range(2):
        inputs = [part.footer.row_groups[0].chunks[number] for part in parts]
        pages = [content[c.pages.start : c.pages.end] for c, content in zip(inputs, files, strict=True)]
        chunk = opened.footer.row_groups[0].chunks[number]
        assert result[chunk.pages.start : chunk.pages.end] == b"".join(pages)
        places = [opened.index_of(chunk), *(part.index_of(c) for part, c in zip(parts, inputs, strict=True))]
        joined_places, first, second = (each.places if each else [] for each in places)
        assert len(first) > 1
        assert [page[1:] for page in joined_places] == [
            *(page[1:] for page in first),
            *((size, row + 20) for _, size, row in second),
        ]


@given(
    seeds=st.lists(st.integers(0, 10_000), min_size=2, max_size=3, unique=True), wanted=st.integers(0, 10_100)
)
@settings(max_examples=examples(25), deadline=None)
def test_filters_find_every_row(seeds: list[int], wanted: int) -> None:
    files = [written(TWO, Layout([30], SMALL_PAGES), seed) for seed in seeds]
    result, paths = joined([content for content, _ in files], TWO)
    assert "id" in paths
    table = pa.concat_tables([table for _, table in files])
    expected = [number for number in table["id"].to_pylist() if number == wanted]
    filtered = pq.read_table(pa.BufferReader(result), filters=[("id", "=", wanted)])
    lazily = pl.scan_parquet(io.BytesIO(result)).filter(pl.col("id") == wanted).collect()
    assert filtered["id"].to_pylist() == lazily["id"].to_list() == expected


def one_column(values: pa.Array, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": values}), sink, **{**PLAIN, **options})
    return bytes(sink.getvalue())


NUMBERS = pa.array([3, None, 1], pa.int64())
UNUSUAL = {
    "a dictionary": one_column(NUMBERS, use_dictionary=True),
    "pages of version 2": one_column(NUMBERS, data_page_version="2.0"),
    "another encoding": one_column(NUMBERS, column_encoding="DELTA_BINARY_PACKED"),
    "no statistics": one_column(NUMBERS, write_statistics=False),
    "no page index": one_column(NUMBERS, write_page_index=False),
    "floats": one_column(pa.array([0.5, float("nan")])),
    "INT96": one_column(pa.array([1], pa.timestamp("ns")), use_deprecated_int96_timestamps=True),
    "a list": one_column(pa.array([[1], []])),
    "a struct": one_column(pa.array([{"y": 1}])),
}


def test_usual_pages_can_be_joined() -> None:
    assert joined_paths([one_column(NUMBERS)] * 2) == {"x"}


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize("is_first", [True, False], ids=["in the first file", "in the second file"])
def test_unusual_columns_are_decoded(name: str, *, is_first: bool) -> None:
    kind = pq.read_table(pa.BufferReader(UNUSUAL[name]))["x"].type
    usual = one_column(pa.array([None], kind))
    files = [UNUSUAL[name], usual] if is_first else [usual, UNUSUAL[name]]
    assert joined_paths(files) == set()


def with_chunk(content: bytes, change: Any) -> bytes:
    """A file whose column chunk's metadata were changed."""

    def changed(fields: Struct) -> Struct:
        (group,) = fields[ROW_GROUPS].structs
        (chunk,) = group[1].structs
        metadata = {n: v for n, v in change(chunk[METADATA].struct).items() if v is not None}
        return {
            **fields,
            ROW_GROUPS: structs([{**group, 1: structs([{**chunk, METADATA: struct(metadata)}])}]),
        }

    return with_footer(content, change=changed)


def with_statistics(**changes: Value | None) -> Any:
    numbers = {int(name.removeprefix("f")): value for name, value in changes.items()}

    def change(metadata: Struct) -> Struct:
        found = {**metadata[12].struct, **numbers}
        return {**metadata, 12: struct({n: v for n, v in found.items() if v is not None})}

    return change


STRANGE = {
    "no count of nulls": with_statistics(f3=None),
    "no minimum": with_statistics(f6=None),
    "a cut maximum": with_statistics(f7=Value(2, b"")),
    "key-value metadata": lambda metadata: {**metadata, 8: structs([])},
    "an index page": lambda metadata: {**metadata, 10: i64(4)},
    "a dictionary page": lambda metadata: {**metadata, 11: i64(4)},
    "a field of the future": lambda metadata: {**metadata, 77: i64(4)},
}


@pytest.mark.parametrize("name", STRANGE)
def test_chunks_with_strange_metadata_are_decoded(name: str) -> None:
    usual = one_column(NUMBERS)
    strange = with_chunk(usual, STRANGE[name])
    assert joined_paths([usual, strange]) == set()


def with_header(content: bytes, **changes: Value | None) -> bytes:
    """A file whose first page header was changed, and is as long as before."""
    walk = Thrift(content, 4)
    header = {**read_struct(walk), **{int(name[1:]): value for name, value in changes.items()}}
    encoded = encode_struct({n: v for n, v in header.items() if v is not None})
    assert len(encoded) == walk.at - 4, "the page would be elsewhere"
    return content[:4] + encoded + content[walk.at :]


def of_data(content: bytes, number: int, value: Value) -> bytes:
    header = read_struct(Thrift(content, 4))
    return with_header(content, f5=struct({**header[5].struct, number: value}))


@pytest.mark.parametrize(
    ("number", "value"), [(1, 4), (2, 5), (3, 4)], ids=["other values", "another encoding", "other levels"]
)
def test_pages_that_contradict_their_footer_are_decoded(number: int, value: int) -> None:
    usual = one_column(NUMBERS)
    assert joined_paths([usual, of_data(usual, number, i32(value))]) == set()


@given(position=st.integers(4, 100_000), flips=st.integers(1, 255))
@settings(max_examples=examples(100), deadline=None)
def test_damage_is_found_or_harmless(position: int, flips: int) -> None:
    """Whatever byte of the pages and indexes changes: what was joined is read like the damaged file."""
    content = written(TWO, Layout([20], {**SMALL_PAGES, "compression": "none"}))[0]
    damaged = bytearray(content)
    length = int.from_bytes(content[-8:-4], "little")
    damaged[4 + position % (len(content) - 12 - length)] ^= flips
    try:
        result, _ = joined([content, bytes(damaged)], TWO, "none")
    except CorruptTable:
        return
    try:
        expected = pq.read_table(pa.BufferReader(bytes(damaged)))
    except (pa.ArrowException, OSError):
        return  # it could not be read before either
    first = pq.read_table(pa.BufferReader(content))
    found = pq.read_table(pa.BufferReader(result))
    assert found.equals(pa.concat_tables([first, expected]).cast(found.schema))


@pytest.mark.parametrize("names", [["id"], ["text", "id"]], ids=["one is missing", "in another order"])
def test_columns_of_another_schema_are_no_row_group(names: list[str]) -> None:
    opened = source(written(TWO, Layout([20], PLAIN))[0])
    (group,) = opened.footer.row_groups
    columns = [(opened, group.chunks[TWO.names.index(name)]) for name in names]
    copier = RowGroupCopier(pa.BufferOutputStream(), opened)
    with pytest.raises(ValueError):
        copier.append_columns(20, columns, [])


def test_small_pages_are_decoded() -> None:
    files = [written(TWO, Layout([20], PLAIN))[0]] * 2
    with joining_from(page=1_000):
        assert not joined_columns(*held(files))
    assert joined_paths(files) == {"id", "text"}


def test_texts_without_bounds_leave_none() -> None:
    long = one_column(pa.array(["x" * 5000]), write_statistics=True)
    short = one_column(pa.array(["a", None]))
    schema = pa.schema([("x", pa.string())])
    result, paths = joined([short, long], schema)
    statistics = pq.read_metadata(pa.BufferReader(result)).row_group(0).column(0).statistics
    if paths:
        assert not statistics.has_min_max
    assert statistics.null_count == 1
