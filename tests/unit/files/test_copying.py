"""Files made of copied row groups: the rows, bytes and indexes of the files that they are made of."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.parquet.copying.copier import RowGroupCopier
from lithify.files.parquet.copying.footers import (
    COLUMN_INDEX,
    CREATED_BY,
    FILE_PATH,
    KEY_VALUES,
    METADATA,
    OFFSET_INDEX,
    ROW_GROUPS,
    STATISTICS,
    ColumnChunk,
)
from lithify.files.parquet.copying.source import READ_BYTES, RowGroupSource
from lithify.files.parquet.structs import (
    Struct,
    Value,
    binary,
    i32,
    i64,
    integer_of,
    read_struct,
    struct,
    structs,
)
from lithify.files.parquet.thrift import Thrift
from support.comparing.bloom_filters import filters_of
from support.data_files import write
from support.manifests import schema as table_schema
from support.parquet_files import Layout, by, joined, layouts, schemas, source, with_footer, written
from support.properties import examples

PLAIN = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("text", pa.string())])
INDEXED = {"write_page_index": True, "data_page_size": 64, "write_batch_size": 3}


@given(data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_joined_files_have_the_rows_and_bytes_of_their_parts(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    parts = data.draw(st.lists(layouts(), min_size=1, max_size=3))
    files = [written(schema, layout, seed * 100_000) for seed, layout in enumerate(parts)]

    result = joined([content for content, _ in files])

    assert_same(read(result), pa.concat_tables([read(content) for content, _ in files]))
    inputs = [chunk for content, _ in files for chunk in chunks_of(content)]
    outputs = chunks_of(result)
    assert [pages for _, pages in outputs] == [pages for _, pages in inputs]
    assert [statistics_of(chunk) for chunk, _ in outputs] == [statistics_of(chunk) for chunk, _ in inputs]
    assert_page_indexes_fit(result)
    assert [group.rows for group in source(result).footer.row_groups] == [
        count for layout in parts for count in layout.groups if count
    ]


def read(data: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(data))


def assert_same(rows: pa.Table, expected: pa.Table) -> None:
    """Compares by text: NaN is not equal to itself."""
    assert rows.schema.equals(expected.schema, check_metadata=True)
    assert str(rows.to_pydict()) == str(expected.to_pydict())


def chunks_of(data: bytes) -> list[tuple[ColumnChunk, bytes]]:
    """All column chunks with rows, with the bytes of their pages."""
    groups = (group for group in source(data).footer.row_groups if group.rows)
    return [(chunk, data[chunk.pages.start : chunk.pages.end]) for group in groups for chunk in group.chunks]


def statistics_of(chunk: ColumnChunk) -> Value | None:
    return chunk.metadata.get(STATISTICS)


def assert_page_indexes_fit(data: bytes) -> None:
    """Every page that an index names begins with a page header; `source` checks the rest."""
    opened = source(data)
    for chunk, _ in chunks_of(data):
        index = opened.index_of(chunk)
        pages = [] if index is None else index.locations[1].structs
        for page in pages:
            start, size = (integer_of(page, number) for number in (1, 2))
            walk = Thrift(data[start : start + size])
            assert integer_of(read_struct(walk), 3) == size - walk.at


@given(
    layout=layouts(),
    seeds=st.lists(st.integers(0, 10_000), min_size=2, max_size=3, unique=True),
    wanted=st.integers(0, 10_100),
)
@settings(max_examples=examples(25), deadline=None)
def test_filters_find_every_row(layout: Layout, seeds: list[int], wanted: int) -> None:
    files = [written(PLAIN, layout, seed) for seed in seeds]
    rows = pa.concat_tables([table for _, table in files])
    result = joined([content for content, _ in files])

    filtered = pq.read_table(pa.BufferReader(result), filters=[("id", "=", wanted)])
    expected = [number for number in rows["id"].to_pylist() if number == wanted]
    lazily = pl.scan_parquet(io.BytesIO(result)).filter(pl.col("id") == wanted).collect()
    assert filtered["id"].to_pylist() == lazily["id"].to_list() == expected


def test_polars_reads_the_same_rows() -> None:
    files = [written(PLAIN, Layout([20, 0, 7], INDEXED), seed) for seed in (0, 500)]
    result = joined([content for content, _ in files])
    expected = pl.from_arrow(pa.concat_tables([table for _, table in files]))
    assert pl.read_parquet(io.BytesIO(result)).equals(expected)


def test_page_indexes_are_at_the_end_and_bounds_unchanged() -> None:
    content, _ = written(PLAIN, Layout([40, 25], INDEXED))
    result = joined([content, content])
    before, after = source(content), source(result)
    bounds = [
        [opened.index_of(chunk).bounds for chunk, _ in chunks_of(data)]
        for opened, data in ((before, content), (after, result))
    ]
    assert bounds[0] * 2 == bounds[1]
    assert all(bounds[1])
    last_page = max(chunk.pages.end for chunk, _ in chunks_of(result))
    assert all(chunk.offset_index.start >= last_page for chunk, _ in chunks_of(result))


def test_row_groups_are_chosen_and_ordered_by_the_caller() -> None:
    content, table = written(PLAIN, Layout([5, 6, 7]))
    opened, sink = source(content), pa.BufferOutputStream()
    copier = RowGroupCopier(sink, opened, {b"writer": b"us"})
    copier.append(opened, [2, 0])
    assert copier.rows == 12
    size = copier.finish()
    result = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert size == sink.getvalue().size
    assert result["id"].to_pylist() == [*table["id"][11:].to_pylist(), *table["id"][:5].to_pylist()]
    assert pq.read_metadata(pa.BufferReader(sink.getvalue())).metadata[b"writer"] == b"us"


def test_a_file_of_no_row_groups_is_a_file() -> None:
    content, table = written(PLAIN, Layout([0]))
    assert pq.read_table(pa.BufferReader(joined([content, content]))).equals(table)


@pytest.mark.thorough
def test_column_chunks_larger_than_a_piece_are_copied_whole() -> None:
    table = pa.table({"x": pa.array(range(3 * READ_BYTES // 8))})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="none", use_dictionary=False, write_page_index=True)
    result = joined([sink.getvalue()])
    assert pq.read_table(pa.BufferReader(result)).equals(table)


WRITTEN = table_schema(
    [("id", "BIGINT NOT NULL"), ("name", "STRING"), ("kind", "STRING"), ("at", "TIMESTAMP(9)")], ["id"]
)


def test_bloom_filters_and_int96_of_our_files_survive(tmp_path: Path) -> None:
    paths, groups = (
        [],
        [[[row(n) for n in range(start, start + 50)] for start in starts] for starts in ((0, 50), (90,))],
    )
    for number, of_file in enumerate(groups):
        meta = write(tmp_path / str(number), WRITTEN, of_file, {"parquet.bloom.filter.enabled": "true"})
        paths.append(str(tmp_path / str(number) / meta.name))
    result = tmp_path / "joined.parquet"
    result.write_bytes(joined([Path(path).read_bytes() for path in paths]))
    assert filters_of(str(result)) == [*filters_of(paths[0]), *filters_of(paths[1])]
    assert all(len(found) == 6 for found in filters_of(str(result)))
    assert pq.read_metadata(result).schema.column(6).physical_type == "INT96"
    assert read(result.read_bytes())["id"].to_pylist() == [*range(100), *range(90, 140)]


def test_filters_whose_length_is_not_in_the_footer_are_copied(tmp_path: Path) -> None:
    meta = write(tmp_path, WRITTEN, [[row(n) for n in range(9)]], {"parquet.bloom.filter.enabled": "true"})
    content = (tmp_path / meta.name).read_bytes()
    (tmp_path / "a").write_bytes(joined([with_footer(content, change=without_filter_length)]))
    assert filters_of(str(tmp_path / "a")) == filters_of(str(tmp_path / meta.name))


def without_filter_length(fields: Struct) -> Struct:
    return in_first_chunk(
        lambda chunk: {
            **chunk,
            METADATA: struct({n: v for n, v in chunk[METADATA].struct.items() if n != 15}),
        }
    )(fields)


def row(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"n{number}", "kind": "ab"[number % 2], "at": None}


def test_sorting_columns_codecs_and_ordinals_survive() -> None:
    order = [pq.SortingColumn(0)]
    files = [
        written(PLAIN, Layout([30], {"compression": codec, "sorting_columns": order}))[0]
        for codec in ("zstd", {"id": "snappy", "text": "gzip"})
    ]
    metadata = pq.read_metadata(pa.BufferReader(joined(files)))
    groups = [metadata.row_group(number) for number in range(2)]
    assert [group.sorting_columns for group in groups] == [tuple(order)] * 2
    assert [[group.column(n).compression for n in range(2)] for group in groups] == [
        ["ZSTD", "ZSTD"],
        ["SNAPPY", "GZIP"],
    ]
    assert [integer_of(group.fields, 7) for group in source(joined(files)).footer.row_groups] == [0, 1]


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        ([{b"run": b"1"}, {b"run": b"1"}], {b"run": b"1"}),
        ([{b"run": b"1"}, {b"run": b"2"}], {}),
        ([{b"run": b"1"}, {}], {}),
    ],
    ids=["in both", "different", "in one"],
)
def test_key_values_are_kept_if_all_files_have_them(
    keys: list[dict[bytes, bytes]], kept: Mapping[bytes, bytes]
) -> None:
    content, _ = written(PLAIN, Layout([3], {"store_schema": False}))
    files = [with_footer(content, change=with_keys(each)) for each in keys]
    metadata = pq.read_metadata(pa.BufferReader(joined(files))).metadata or {}
    assert metadata == kept


def with_keys(keys: Mapping[bytes, bytes]) -> Any:
    entries = structs([{1: binary(key), 2: binary(value)} for key, value in keys.items()])
    return lambda fields: {**fields, KEY_VALUES: entries}


def in_first_chunk(change: Any) -> Any:
    """A change to the first column chunk of the first row group."""

    def changed(fields: Struct) -> Struct:
        first, *others = fields[ROW_GROUPS].structs
        chunk, *chunks = first[1].structs
        group = {**first, 1: structs([change(chunk), *chunks])}
        return {**fields, ROW_GROUPS: structs([group, *others])}

    return changed


def in_metadata(**changed: Value) -> Any:
    numbers = {int(name.removeprefix("f")): value for name, value in changed.items()}
    return in_first_chunk(lambda chunk: {**chunk, METADATA: struct({**chunk[METADATA].struct, **numbers})})


def test_files_of_several_writers_have_a_writer_of_their_own() -> None:
    content, _ = written(PLAIN, Layout([4]))
    of_java = with_footer(content, by=by("parquet-mr version 1.15.2 (build 1234)"))
    footer = source(joined([content, of_java])).footer
    assert footer.created_by.startswith("lithify version ")
    assert source(joined([of_java, of_java])).footer.created_by.startswith("parquet-mr version 1.15.2")


OBSTACLES = {
    "statistics that readers distrust": by("parquet-mr version 1.8.1"),
    "wrong lengths of pages": by("parquet-cpp version 1.5.0"),
    "wrong statistics of decimals": by("parquet-cpp-arrow version 3.0.0"),
    "nobody": lambda fields: {number: value for number, value in fields.items() if number != CREATED_BY},
    "encrypted columns": lambda fields: {**fields, 8: struct({1: struct({})})},
    "a future footer": lambda fields: {**fields, 77: i64(1)},
    "a future column chunk": in_first_chunk(lambda chunk: {**chunk, 99: i64(1)}),
    "future metadata": in_metadata(f99=i64(1)),
    "an encrypted column": in_first_chunk(lambda chunk: {**chunk, 8: struct({})}),
    "another file": in_first_chunk(lambda chunk: {**chunk, FILE_PATH: binary(b"elsewhere")}),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_cannot_be_copied_is_refused(name: str) -> None:
    content, _ = written(PLAIN, Layout([4]))
    assert source(content).obstacle is None
    opened = source(with_footer(content, change=OBSTACLES[name]))
    assert opened.obstacle
    with pytest.raises(ValueError, match="cannot be copied"):
        RowGroupCopier(pa.BufferOutputStream(), opened).append(opened)


def field_with_id(number: int) -> pa.Field:
    return pa.field("text", pa.string(), metadata={"PARQUET:field_id": str(number)})


OTHERS = {
    "name": pa.field("words", pa.string()),
    "type": pa.field("text", pa.binary()),
    "repetition": pa.field("text", pa.string(), nullable=False),
    "field id": field_with_id(7),
    "nesting": pa.field("text", pa.list_(pa.string())),
    "Arrow's type": pa.field("text", pa.large_string()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_other_schemas_are_not_joined(name: str) -> None:
    other = pa.schema([PLAIN.field(0), OTHERS[name]])
    one, another = (source(written(schema, Layout([0]))[0]) for schema in (PLAIN, other))
    assert one.fingerprint != another.fingerprint
    with pytest.raises(ValueError, match="schema"):
        RowGroupCopier(pa.BufferOutputStream(), one).append(another)


@pytest.mark.parametrize("kind", ["timestamps", "decimals"])
def test_logical_types_are_part_of_the_schema(kind: str) -> None:
    pairs = {
        "timestamps": (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        "decimals": (pa.decimal128(9, 2), pa.decimal128(9, 3)),
    }
    files = [
        written(pa.schema([PLAIN.field(0), pa.field("x", each)]), Layout([3], {"store_schema": False}))[0]
        for each in pairs[kind]
    ]
    assert len({source(data).fingerprint for data in files}) == 2


def test_the_names_of_roots_may_differ() -> None:
    content, _ = written(PLAIN, Layout([3]))
    of_java = with_footer(content, rename=_with_root(b"paimon_schema"))
    assert source(content).fingerprint == source(of_java).fingerprint


def _with_root(name: bytes) -> Any:
    def changed(fields: Struct) -> Struct:
        root, *others = fields[2].structs
        return {**fields, 2: structs([{**root, 4: binary(name)}, *others])}

    return changed


BROKEN = {
    "rows of the file": lambda fields: {**fields, 3: i64(5)},
    "another column": in_metadata(f3=Value(9, b"\x18\x05other")),
    "another type": in_metadata(f1=i32(1)),
    "missing pages": in_metadata(f9=i64(1 << 40)),
    "negative offset": in_metadata(f9=i64(-5)),
    "negative length": in_metadata(f7=i64(-5)),
    "pages of another chunk": in_metadata(f7=i64(400)),
    "values": in_metadata(f5=i64(3)),
    "no pages": in_first_chunk(
        lambda chunk: {number: chunk[number] for number in chunk if number != METADATA}
    ),
    "index outside": in_first_chunk(lambda chunk: {**chunk, OFFSET_INDEX[0]: i64(1 << 33)}),
    "index elsewhere": in_first_chunk(lambda chunk: {**chunk, OFFSET_INDEX[0]: i64(4)}),
    "bounds elsewhere": in_first_chunk(lambda chunk: {**chunk, COLUMN_INDEX[0]: i64(4)}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_footers_that_contradict_their_file_are_found_when_it_is_opened(name: str) -> None:
    content, _ = written(PLAIN, Layout([40, 40], INDEXED))
    with pytest.raises(CorruptTable) as caught:
        source(with_footer(content, change=BROKEN[name]), "broken.parquet")
    assert caught.value.path == "broken.parquet"


@pytest.mark.parametrize("kept", [0, 3, 11, 12, 200, -1, -9], ids=lambda kept: f"{kept} bytes")
def test_files_that_are_cut_off_are_corrupt(kept: int) -> None:
    content, _ = written(PLAIN, Layout([40]))
    with pytest.raises(CorruptTable):
        source(content[:kept])


def test_encrypted_footers_are_refused() -> None:
    content, _ = written(PLAIN, Layout([4]))
    with pytest.raises(UnsupportedTable):
        source(content[:-4] + b"PARE")


@given(
    position=st.integers(min_value=0),
    flips=st.integers(1, 255),
    is_footer=st.booleans(),
    count=st.integers(1, 4),
)
@settings(max_examples=examples(100), deadline=None)
def test_damage_is_found_or_harmless(position: int, flips: int, is_footer: bool, count: int) -> None:
    """Whatever bytes of the footer change: an error, or a file that PyArrow reads like the damaged one.

    If PyArrow cannot read that, the new file may have the rows from before: what was damaged says nothing of
    them.
    """
    content, _ = written(PLAIN, Layout([40, 9], INDEXED))
    length = int.from_bytes(content[-8:-4], "little")
    start, stop = (len(content) - 8 - length, len(content)) if is_footer else (0, len(content) - 8 - length)
    damaged = bytearray(content)
    for number in range(count):
        damaged[start + (position + number * 37) % (stop - start)] ^= flips
    try:
        result = joined([bytes(damaged)])
    except (CorruptTable, UnsupportedTable, ValueError):
        return
    read = outcome(bytes(damaged))
    assert outcome(result) in ((read, outcome(content)) if read == "unreadable" else (read,))


def outcome(data: bytes) -> object:
    """The rows of a file, or that it cannot be read."""
    try:
        return pq.read_table(pa.BufferReader(data)).to_pydict()
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return "unreadable"


def test_pages_that_are_not_those_of_the_footer_are_found_while_copying() -> None:
    content, _ = written(PLAIN, Layout([40]))
    (_, pages), *_ = chunks_of(content)
    damaged = content.replace(pages, bytes(len(pages)))
    opened = source(damaged)
    with pytest.raises(CorruptTable):
        RowGroupCopier(pa.BufferOutputStream(), opened).append(opened)


def test_files_that_shrink_after_their_footer_was_read_are_corrupt(tmp_path: Path) -> None:
    content, _ = written(PLAIN, Layout([40]))
    file = tmp_path / "file.parquet"
    file.write_bytes(content)
    with pa.OSFile(str(file)) as stream:
        opened = RowGroupSource(stream, str(file))
        os.truncate(file, 100)
        with pytest.raises(CorruptTable):
            RowGroupCopier(pa.BufferOutputStream(), opened).append(opened)
