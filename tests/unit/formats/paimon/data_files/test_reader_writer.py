"""Data files come out as Java writes them, and come back as they were: types, schemas, statistics, damage."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.columns.key_range import EVERYTHING, FirstKeys, Key, KeyRange
from lithify.columns.order import fold_float
from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.files.model import InputFile
from lithify.files.parquet import footers
from lithify.files.parquet.reader import ParquetReader
from lithify.files.types import ColumnType, Raw, order_parts
from lithify.formats.paimon.data_files.reader import FileRun, Reading
from lithify.formats.paimon.data_files.writer import OpenDataFile
from lithify.formats.paimon.manifests.entries import COMPACT_SOURCE, Stats
from lithify.formats.paimon.rows.binary_row import decode_row
from lithify.formats.paimon.schema.schema import Schema
from support.atomic_types import ATOMICS, Atomic
from support.data_files import (
    CREATED,
    LEVEL,
    input_file,
    local_storage,
    open_file,
    read,
    reading,
    table_of,
    target,
    write,
)
from support.manifests import schema
from support.properties import examples

# Every example writes its files anew under the same names.
PROPERTY = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MODE, DENSE = "metadata.stats-mode", "metadata.stats-dense-store"
THIN, SUFFIX = "data-file.thin-mode", "file.suffix.include.compression"
FULL = {MODE: "full", DENSE: "false"}

EVERY_TYPE = schema(
    [("id", "INT NOT NULL"), *((f"c{number}", atomic.text) for number, atomic in enumerate(ATOMICS))], ["id"]
)
ID, NAME, NOTE = ("id", "INT NOT NULL"), ("name", "STRING"), ("note", "STRING")
SIMPLE = schema([("id", "INT NOT NULL"), ("name", "STRING"), ("price", "DECIMAL(10, 2)")], ["id"])


def simple_rows(*ids: int, **values: Any) -> list[dict[str, Any]]:
    return [{"id": number, "name": None, "price": None, **values} for number in ids]


def plain(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"_SEQUENCE_NUMBER": 1, "_VALUE_KIND": 0, **row} for row in rows]


@st.composite
def rows_of_every_type(draw: st.DrawFn) -> list[list[Raw]]:
    """Raw values of some rows of `EVERY_TYPE`, without the id."""
    row = st.tuples(*(st.none() | atomic.raws for atomic in ATOMICS)).map(list)
    return draw(st.lists(row, min_size=1, max_size=4))


def every_type(raws: Sequence[Sequence[Raw]]) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            **{
                f"c{column}": None if raw is None else atomic.python(raw)
                for column, (atomic, raw) in enumerate(zip(ATOMICS, row, strict=True))
            },
        }
        for number, row in enumerate(raws)
    ]


@pytest.mark.thorough
class TestRoundTrip:
    @pytest.mark.parametrize("thin", ["false", "true"], ids=["thick", "thin"])
    @PROPERTY
    @given(raws=rows_of_every_type(), groups=st.integers(1, 3))
    def test_values_of_every_type_come_back(
        self, tmp_path: Path, raws: list[list[Raw]], groups: int, thin: str
    ) -> None:
        rows = every_type(raws)
        parts = [part for part in (rows[start::groups] for start in range(groups)) if part]
        meta = write(tmp_path, EVERY_TYPE, parts, {THIN: thin})
        assert meta.rows == len(rows)
        assert read([input_file(tmp_path, meta)], [EVERY_TYPE]) == [
            row for part in parts for row in plain(part)
        ]

    @PROPERTY
    @given(raws=rows_of_every_type(), groups=st.integers(1, 3))
    def test_statistics_of_every_type(self, tmp_path: Path, raws: list[list[Raw]], groups: int) -> None:
        rows = every_type(raws)
        parts = [part for part in (rows[start::groups] for start in range(groups)) if part]
        meta = write(tmp_path, EVERY_TYPE, parts, FULL)
        columns = [column.type for column in EVERY_TYPE.columns]
        minima, maxima = (
            decode_row(row, columns)[1:] for row in (meta.value_stats.min_values, meta.value_stats.max_values)
        )
        assert meta.value_stats_columns is None
        assert meta.value_stats.null_counts is not None
        for number, atomic in enumerate(ATOMICS):
            values = [row[number] for row in raws]
            assert meta.value_stats.null_counts[number + 1] == values.count(None)
            bounds = naive_bounds(atomic.column, [values[start::groups] for start in range(groups)])
            assert (minima[number], maxima[number]) == bounds, atomic.text

    @pytest.mark.parametrize("atomic", ATOMICS, ids=lambda atomic: atomic.text)
    @settings(PROPERTY, max_examples=examples(10))
    @given(data=st.data(), groups=st.integers(1, 2))
    def test_every_type_as_key(
        self, tmp_path: Path, atomic: Atomic, data: st.DataObject, groups: int
    ) -> None:
        keyed = schema([("k", f"{atomic.text} NOT NULL"), ("v", "INT")], ["k"])
        order = partial(order_parts, atomic.column)
        raws = sorted(
            data.draw(st.lists(atomic.raws, min_size=groups, max_size=6, unique_by=order)), key=order
        )
        rows = [{"k": atomic.python(raw), "v": number} for number, raw in enumerate(raws)]
        cut = len(rows) // groups
        meta = write(tmp_path, keyed, [rows[:cut], rows[cut:]] if groups == 2 else [rows])
        assert decode_row(meta.min_key, keyed.key_types) == (raws[0],)
        assert decode_row(meta.max_key, keyed.key_types) == (raws[-1],)
        assert read([input_file(tmp_path, meta)], [keyed]) == plain(rows)

    @pytest.mark.parametrize("dictionaries", [[], ["name"]], ids=["plain", "dictionary"])
    def test_dictionary_columns_are_written_as_their_values(
        self, tmp_path: Path, dictionaries: list[str]
    ) -> None:
        rows = [{"id": n, "name": ["x", None, ""][n % 3], "price": None} for n in range(9)]
        meta = write(tmp_path, SIMPLE, [rows[:4], rows[4:]], FULL, dictionaries)
        assert read([input_file(tmp_path, meta)], [SIMPLE]) == plain(rows)
        assert decode_row(meta.value_stats.max_values, [column.type for column in SIMPLE.columns])[1] == b"x"

    @pytest.mark.parametrize("thin", ["false", "true"], ids=["thick", "thin"])
    @settings(PROPERTY, max_examples=examples(15))
    @given(raws=rows_of_every_type(), dictionary=st.booleans())
    def test_row_groups_read_back(
        self, tmp_path: Path, raws: list[list[Raw]], dictionary: bool, thin: str
    ) -> None:
        texts = [f"c{number}" for number, atomic in enumerate(ATOMICS) if atomic.text == "STRING"]
        rows = table_of(EVERY_TYPE, every_type(raws), texts if dictionary else [])
        file = open_file(tmp_path, EVERY_TYPE, {THIN: thin})
        file.write(rows)
        file.write(rows)
        groups = list(file.read_back())
        assert [group.schema for group in groups] == [rows.schema] * 2
        assert [group.to_pylist() for group in groups] == [rows.to_pylist()] * 2
        file.abort()
        assert not list(tmp_path.iterdir())

    def test_dictionaries_of_many_rounds_become_one(self, tmp_path: Path) -> None:
        rows = [{"id": n, "name": f"{n // 500}-{n % 2}", "price": None} for n in range(2_000)]
        rounds = [table_of(SIMPLE, rows[start : start + 500], ["name"]) for start in range(0, 2_000, 500)]
        sizes = []
        for number, table in enumerate((pa.concat_tables(rounds), table_of(SIMPLE, rows, ["name"]))):
            file = OpenDataFile(
                f"{number}.parquet", target(tmp_path, SIMPLE), local_storage(tmp_path), lambda: CREATED
            )
            file.write(table)
            files = [input_file(tmp_path, file.close())]
            assert read(files, [SIMPLE]) == plain(rows)
            sizes.append(pq.read_metadata(files[0].path).row_group(0).column(4).total_uncompressed_size)
        assert sizes[0] == sizes[1]

    def test_a_composite_key(self, tmp_path: Path) -> None:
        composite = schema([("b", "STRING NOT NULL"), ("v", "INT"), ("a", "INT NOT NULL")], ["a", "b"])
        rows = [{"b": b, "v": 0, "a": a} for a, b in [(1, "z"), (2, ""), (2, "a" * 9)]]
        meta = write(tmp_path, composite, [rows])
        assert decode_row(meta.min_key, composite.key_types) == (1, b"z")
        assert decode_row(meta.max_key, composite.key_types) == (2, b"a" * 9)


def naive_bounds(column: ColumnType, groups: Sequence[Sequence[Raw]]) -> tuple[Raw, Raw]:
    """Smallest and largest value where manifests have them: not of binaries, nor of texts beyond 4 KiB."""
    known: list[list[Any]] = [[value for value in group if value is not None] for group in groups]
    order: Any = fold_float if column.is_float else None
    bounds = [bound for group in known if group for bound in (min(group, key=order), max(group, key=order))]
    if (
        not bounds
        or column.is_binary
        or column.is_nanos
        or any(isinstance(each, bytes) and len(each) > 4096 for each in bounds)
    ):
        return None, None
    return min(bounds, key=order), max(bounds, key=order)


class TestParquet:
    @pytest.fixture
    def written(self, tmp_path: Path) -> pq.ParquetFile:
        rows = [{"id": 1, **{f"c{number}": None for number in range(len(ATOMICS))}}]
        meta = write(tmp_path, EVERY_TYPE, [rows])
        return pq.ParquetFile(tmp_path / meta.name)

    @pytest.mark.parametrize(
        ("thin", "names"),
        [
            ("false", ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "name", "price"]),
            ("true", ["_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "name", "price"]),
        ],
        ids=["thick", "thin"],
    )
    def test_columns_and_their_order(self, tmp_path: Path, thin: str, names: list[str]) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(1)], {THIN: thin})
        assert pq.read_schema(tmp_path / meta.name).names == names

    def test_columns_have_the_field_ids_of_the_schema(self, tmp_path: Path) -> None:
        sparse = schema({4: ("id", "INT NOT NULL"), 9: ("name", "STRING")}, ["id"])
        meta = write(tmp_path, sparse, [[{"id": 1, "name": "x"}]])
        assert {
            field.name: int(field.metadata[b"PARQUET:field_id"])
            for field in pq.read_schema(tmp_path / meta.name)
        } == {
            "_KEY_id": 4 + 1073741823,
            "_SEQUENCE_NUMBER": 2147483646,
            "_VALUE_KIND": 2147483645,
            "id": 4,
            "name": 9,
        }

    @pytest.mark.parametrize(
        ("text", "physical"),
        [
            ("BOOLEAN", "BOOLEAN"),
            ("TINYINT", "INT32"),
            ("SMALLINT", "INT32"),
            ("INT", "INT32"),
            ("BIGINT", "INT64"),
            ("FLOAT", "FLOAT"),
            ("DOUBLE", "DOUBLE"),
            ("DECIMAL(9, 2)", "INT32"),
            ("DECIMAL(18, 3)", "INT64"),
            ("DECIMAL(19, 3)", "FIXED_LEN_BYTE_ARRAY"),
            ("DATE", "INT32"),
            ("TIME(3)", "INT32"),
            ("TIMESTAMP(3)", "INT64"),
            ("TIMESTAMP(6)", "INT64"),
            ("STRING", "BYTE_ARRAY"),
            ("BYTES", "BYTE_ARRAY"),
        ],
    )
    def test_each_type_has_its_physical_type(self, written: pq.ParquetFile, text: str, physical: str) -> None:
        name = f"c{[atomic.text for atomic in ATOMICS].index(text)}"
        (column,) = [
            each for each in map(written.schema.column, range(len(written.schema))) if each.name == name
        ]
        assert column.physical_type == physical

    @pytest.mark.parametrize(
        ("text", "unit", "zoned"),
        [
            ("TIMESTAMP(3)", "milliseconds", "false"),
            ("TIMESTAMP(6)", "microseconds", "false"),
            ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "milliseconds", "true"),
            ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "microseconds", "true"),
        ],
    )
    def test_timestamps_say_their_unit_and_zone(
        self, written: pq.ParquetFile, text: str, unit: str, zoned: str
    ) -> None:
        name = f"c{[atomic.text for atomic in ATOMICS].index(text)}"
        (column,) = [
            each for each in map(written.schema.column, range(len(written.schema))) if each.name == name
        ]
        assert f"isAdjustedToUTC={zoned}, timeUnit={unit}" in str(column.logical_type)

    def test_only_keys_and_system_columns_are_required(self, written: pq.ParquetFile) -> None:
        arrow = written.schema_arrow
        required = [field.name for field in arrow if not field.nullable]
        assert required == ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id"]

    @pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "none"])
    def test_chunks_have_the_codec_of_the_option(self, tmp_path: Path, codec: str) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(1)], {"file.compression": codec})
        chunk = pq.read_metadata(tmp_path / meta.name).row_group(0).column(0)
        assert chunk.compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())

    def test_a_write_is_a_row_group(self, tmp_path: Path) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(1, 2, 3), simple_rows(4)])
        footer = pq.read_metadata(tmp_path / meta.name)
        assert [footer.row_group(group).num_rows for group in range(footer.num_row_groups)] == [3, 1]

    def test_dictionaries_are_for_columns_that_repeat_themselves(self, tmp_path: Path) -> None:
        texts = schema([ID, NAME, NOTE], ["id"])
        meta = write(tmp_path, texts, [[{"id": n, "name": f"{n % 5}", "note": f"{n}"} for n in range(100)]])
        group = pq.read_metadata(tmp_path / meta.name).row_group(0)
        chunks = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
        assert chunks["name"].has_dictionary_page
        assert not chunks["note"].has_dictionary_page

    @pytest.mark.parametrize(
        ("options", "has"),
        [
            ({}, {"name": True, "note": True}),
            ({"parquet.enable.dictionary": "false"}, {"name": False, "note": False}),
            ({"parquet.enable.dictionary#name": "false"}, {"name": False, "note": True}),
            (
                {"parquet.enable.dictionary": "false", "parquet.enable.dictionary#name": "true"},
                {"name": True, "note": False},
            ),
        ],
        ids=str,
    )
    def test_dictionaries_that_the_table_asks_for(
        self, tmp_path: Path, options: dict[str, str], has: dict[str, bool]
    ) -> None:
        texts = schema([ID, NAME, NOTE], ["id"])
        rows = [{"id": n, "name": f"{n % 5}", "note": f"{n % 7}"} for n in range(100)]
        meta = write(tmp_path, texts, [rows], options)
        group = pq.read_metadata(tmp_path / meta.name).row_group(0)
        chunks = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
        assert {name: chunks[name].has_dictionary_page for name in has} == has

    def test_page_and_dictionary_sizes(self, tmp_path: Path) -> None:
        texts = schema([ID, NAME], ["id"])
        rows = [{"id": n, "name": f"{n % 2_000:0100}"} for n in range(20_000)]
        options = {"parquet.page.size": "4096", "parquet.dictionary.page.size": "10000"}
        few, many = (write(tmp_path / f"{len(how)}", texts, [rows], how) for how in ({}, options))
        sizes = []
        for folder, meta in (("0", few), ("2", many)):
            chunk = pq.read_metadata(tmp_path / folder / meta.name).row_group(0).column(4)
            sizes.append(chunk.data_page_offset - (chunk.dictionary_page_offset or chunk.data_page_offset))
        assert sizes[1] < sizes[0]

    @pytest.mark.parametrize("mode", ["truncate(16)", "full"])
    def test_text_that_is_none_is_kept_as_it_is(self, tmp_path: Path, mode: str) -> None:
        """Spark's writer checks no bytes that it is given as text, and Java reads and compacts them."""
        file = open_file(tmp_path, schema([ID, NAME], ["id"]), {MODE: mode})
        name = pa.array([b"\xff\xfe"]).view(pa.string())
        columns = [pa.array([1], pa.int32()), name, pa.array([1], pa.int64()), pa.array([0], pa.int8())]
        file.write(pa.table(columns, names=["id", "name", "_SEQUENCE_NUMBER", "_VALUE_KIND"]))
        meta = file.close()
        read_back = pq.read_table(tmp_path / meta.name).column("name")
        assert read_back.cast(pa.binary()).to_pylist() == [b"\xff\xfe"]

    @pytest.mark.parametrize(("precision", "has"), [(18, True), (19, False)], ids=["narrow", "wide"])
    def test_wide_decimals_get_no_dictionary(self, tmp_path: Path, precision: int, has: bool) -> None:
        """Java would look for the shortest bytes of a number among the padded ones."""
        prices = schema([ID, ("price", f"DECIMAL({precision}, 2)")], ["id"])
        meta = write(tmp_path, prices, [[{"id": n, "price": Decimal("1.25")} for n in range(100)]])
        group = pq.read_metadata(tmp_path / meta.name).row_group(0)
        assert group.column(group.num_columns - 1).has_dictionary_page is has

    def test_old_readers_know_the_encodings(self, written: pq.ParquetFile) -> None:
        """Java Paimon's vectorised reader knew no others before 1.1."""
        group = written.metadata.row_group(0)
        encodings = {each for n in range(group.num_columns) for each in group.column(n).encodings}
        assert encodings <= {"PLAIN", "RLE", "RLE_DICTIONARY"}

    def test_floats_have_no_statistics_that_leave_nan_out(self, tmp_path: Path) -> None:
        floats = schema([("id", "INT NOT NULL"), ("x", "DOUBLE"), ("y", "FLOAT")], ["id"])
        meta = write(
            tmp_path, floats, [[{"id": 1, "x": 1.0, "y": float("nan")}, {"id": 2, "x": None, "y": 2.0}]]
        )
        group = pq.read_metadata(tmp_path / meta.name).row_group(0)
        chunks = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
        assert [chunks[name].statistics is None for name in ("id", "x", "y")] == [False, True, True]
        assert not any(chunks[name].has_column_index for name in ("x", "y"))
        types = [column.type for column in floats.columns]
        assert decode_row(meta.value_stats.min_values, types) == (1, 1.0, None)
        assert decode_row(meta.value_stats.max_values, types) == (2, 1.0, None)
        assert meta.value_stats.null_counts == (0, 1, 0)


NAMES: dict[str, tuple[dict[str, str], list[str]]] = {
    "default": ({}, ["data-writer-0.parquet", "data-writer-1.parquet"]),
    "prefix": ({"data-file.prefix": "part_"}, ["part_writer-0.parquet", "part_writer-1.parquet"]),
    "with compression": ({SUFFIX: "true"}, ["data-writer-0.zst.parquet", "data-writer-1.zst.parquet"]),
    "with another": (
        {SUFFIX: "true", "file.compression": "snappy"},
        ["data-writer-0.snappy.parquet", "data-writer-1.snappy.parquet"],
    ),
}


KEY_STATS: dict[str, tuple[dict[str, str], tuple[Raw, Raw] | None]] = {
    "thick": ({MODE: "none"}, (b"a" * 128, b"b" * 127 + b"c")),
    "thin": ({MODE: "none", THIN: "true"}, (b"a" * 128, b"b" * 127 + b"c")),
    "thin, with a mode of its own": ({"fields.k.stats-mode": "none", THIN: "true"}, (None, None)),
    "thick, with a mode of its own": ({"fields.k.stats-mode": "none"}, (b"a" * 128, b"b" * 127 + b"c")),
}


VALUE_STATS: dict[str, tuple[dict[str, str], tuple[str, ...] | None, list[Raw]]] = {
    "default": ({}, None, [b"k", b"v" * 16]),
    "none": ({MODE: "none"}, (), []),
    "counts": ({MODE: "counts"}, None, [None, None]),
    "one of a column": ({MODE: "none", "fields.v.stats-mode": "full"}, ("v",), [b"v" * 99]),
    "the first": ({"metadata.stats-keep-first-n-columns": "1"}, ("k",), [b"k"]),
    "sparse": ({MODE: "none", DENSE: "false"}, None, [None, None]),
    "thin keeps those of the key": ({MODE: "none", THIN: "true"}, ("k",), [b"k"]),
}


class TestMetadata:
    @pytest.mark.parametrize(("options", "expected"), NAMES.values(), ids=NAMES)
    def test_file_names_follow_the_options(
        self, tmp_path: Path, options: dict[str, str], expected: list[str]
    ) -> None:
        to = target(tmp_path, SIMPLE, options)
        assert [to.name("writer", number) for number in (0, 1)] == expected

    def test_what_a_manifest_says_of_a_file(self, tmp_path: Path) -> None:
        newer = schema([("id", "INT NOT NULL")], ["id"], number=7)
        rows = [
            {"id": 1, "_SEQUENCE_NUMBER": 50, "_VALUE_KIND": 0},
            {"id": 2, "_SEQUENCE_NUMBER": -3, "_VALUE_KIND": 1},
            {"id": 3, "_SEQUENCE_NUMBER": 9, "_VALUE_KIND": 2},
            {"id": 4, "_SEQUENCE_NUMBER": 8, "_VALUE_KIND": 3},
        ]
        meta = write(tmp_path, newer, [rows[:3], rows[3:]])
        path = tmp_path / "data-writer-0.parquet"
        assert (meta.name, meta.size, meta.rows) == (path.name, path.stat().st_size, 4)
        assert (meta.min_sequence, meta.max_sequence, meta.delete_rows) == (-3, 50, 2)
        assert (meta.level, meta.schema_id, meta.source, meta.created_millis) == (
            LEVEL,
            7,
            COMPACT_SOURCE,
            CREATED,
        )
        assert (meta.extra_files, meta.embedded_index, meta.external_path) == ((), None, None)
        assert (meta.first_row_id, meta.write_columns, meta.write_columns_sequences) == (None, None, None)
        assert read([input_file(tmp_path, meta)], [newer]) == rows

    def test_the_size_grows_with_every_row_group(self, tmp_path: Path) -> None:
        to = target(tmp_path, SIMPLE)
        file = OpenDataFile("f.parquet", to, local_storage(tmp_path), lambda: CREATED)
        sizes = [file.size]
        for start in (0, 100, 200):
            file.write(table_of(SIMPLE, simple_rows(*range(start, start + 100))))
            sizes.append(file.size)
        assert sizes == sorted(set(sizes))
        assert file.close().size == (tmp_path / "f.parquet").stat().st_size > sizes[-1]

    @pytest.mark.parametrize(("options", "bounds"), KEY_STATS.values(), ids=KEY_STATS)
    def test_key_statistics_are_cut_and_key_bounds_are_not(
        self, tmp_path: Path, options: dict[str, str], bounds: tuple[Raw, Raw]
    ) -> None:
        keyed = schema([("k", "STRING NOT NULL")], ["k"])
        meta = write(tmp_path, keyed, [[{"k": "a" * 200}, {"k": "b" * 200}]], options)
        assert first_bounds(meta.key_stats, keyed.key_types) == bounds
        assert decode_row(meta.min_key, keyed.key_types) == (b"a" * 200,)

    @pytest.mark.parametrize(("options", "columns", "minima"), VALUE_STATS.values(), ids=VALUE_STATS)
    def test_value_statistics_have_the_columns_of_the_mode(
        self, tmp_path: Path, options: dict[str, str], columns: tuple[str, ...] | None, minima: list[Raw]
    ) -> None:
        texts = schema([("k", "STRING NOT NULL"), ("v", "STRING")], ["k"])
        meta = write(tmp_path, texts, [[{"k": "k", "v": "v" * 99}]], options)
        assert meta.value_stats_columns == columns
        stored = [column.type for column in texts.columns if columns is None or column.name in columns]
        assert list(decode_row(meta.value_stats.min_values, stored)) == minima

    def test_a_key_beyond_parquets_statistics_still_bounds_the_file(self, tmp_path: Path) -> None:
        keyed = schema([("k", "STRING NOT NULL")], ["k"])
        meta = write(tmp_path, keyed, [[{"k": "a"}, {"k": "b" * 5000}]])
        assert decode_row(meta.max_key, keyed.key_types) == (b"b" * 5000,)
        assert first_bounds(meta.key_stats, keyed.key_types) == (None, None)


def first_bounds(stats: Stats, types: Sequence[ColumnType]) -> tuple[Raw, Raw]:
    return decode_row(stats.min_values, types)[0], decode_row(stats.max_values, types)[0]


class TestGivingUp:
    @pytest.mark.parametrize("groups", [0, 1, 2])
    def test_an_aborted_file_is_deleted(self, tmp_path: Path, groups: int) -> None:
        file = OpenDataFile("f.parquet", target(tmp_path, SIMPLE), local_storage(tmp_path), lambda: CREATED)
        for number in range(groups):
            file.write(table_of(SIMPLE, simple_rows(number)))
        file.abort()
        assert not list(tmp_path.iterdir())
        del file
        gc.collect()

    def test_aborting_after_the_end_deletes_too(self, tmp_path: Path) -> None:
        file = OpenDataFile("f.parquet", target(tmp_path, SIMPLE), local_storage(tmp_path), lambda: CREATED)
        file.write(table_of(SIMPLE, simple_rows(1)))
        file.close()
        file.abort()
        assert not list(tmp_path.iterdir())

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "bucket-0").write_text("a file in the way")
        to = target(tmp_path / "bucket-0", SIMPLE)
        with pytest.raises(StorageError) as caught:
            OpenDataFile("f.parquet", to, local_storage(tmp_path), lambda: CREATED)
        assert caught.value.path == f"{tmp_path}/bucket-0/f.parquet"

    def test_folders_are_made(self, tmp_path: Path) -> None:
        write(tmp_path / "dt=1" / "bucket-0", SIMPLE, [simple_rows(1)])
        assert (tmp_path / "dt=1" / "bucket-0" / "data-writer-0.parquet").exists()


OLD = schema({0: ID, 1: NAME}, ["id"])
OLD_ROW = {"id": 1, "name": "x"}


def newer(columns: dict[int, tuple[str, str]], key: str = "id") -> Schema:
    return schema(columns, [key], number=1)


EVOLVED: dict[str, tuple[Schema, dict[str, Any]]] = {
    "a column was added": (newer({0: ID, 1: NAME, 2: NOTE}), {"id": 1, "name": "x", "note": None}),
    "a column was dropped": (newer({0: ID}), {"id": 1}),
    "a column was renamed": (newer({0: ID, 1: ("title", "STRING")}), {"id": 1, "title": "x"}),
    "columns were moved": (newer({1: NAME, 0: ID}), {"name": "x", "id": 1}),
    "the key was renamed": (newer({0: ("key", "INT NOT NULL"), 1: NAME}, "key"), {"key": 1, "name": "x"}),
    "dropped and added again": (newer({0: ID, 2: NAME}), {"id": 1, "name": None}),
    "two columns swapped names": (newer({0: ID, 1: NOTE, 2: NAME}), {"id": 1, "note": "x", "name": None}),
    "a column became nullable": (newer({0: ("id", "INT"), 1: NAME}), {"id": 1, "name": "x"}),
    "columns of every type were added": (
        newer({0: ID, **{9 + n: (f"c{n}", atomic.text) for n, atomic in enumerate(ATOMICS)}}),
        {"id": 1, **{f"c{n}": None for n in range(len(ATOMICS))}},
    ),
}


class TestSchemas:
    @pytest.mark.parametrize("thin", ["false", "true"], ids=["thick", "thin"])
    @pytest.mark.parametrize(("newest", "expected"), EVOLVED.values(), ids=EVOLVED)
    def test_old_files_are_read_under_the_newest_schema(
        self, tmp_path: Path, newest: Schema, expected: dict[str, Any], thin: str
    ) -> None:
        meta = write(tmp_path, OLD, [[OLD_ROW]], {THIN: thin})
        assert read([input_file(tmp_path, meta)], [OLD, newest]) == plain([expected])

    def test_files_of_two_schemas_make_one_run(self, tmp_path: Path) -> None:
        newest, _ = EVOLVED["a column was added"]
        rows = [{"id": n, "name": "x", "note": "y"} for n in range(100, 200)]
        old = write(tmp_path / "old", OLD, [[{"id": n, "name": "x"} for n in range(100)]])
        new = write(tmp_path / "new", newest, [rows])
        files = [input_file(tmp_path / "old", old), input_file(tmp_path / "new", new)]
        how = reading(files, [OLD, newest], ["id"])
        assert [field.name for field in how.schema if pa.types.is_dictionary(field.type)] == ["name", "note"]
        both = read(files, [OLD, newest])
        assert both[:100] == plain([{"id": n, "name": "x", "note": None} for n in range(100)])
        assert both[100:] == plain(rows)

    def test_columns_that_the_merge_compares_are_never_dictionaries(self, tmp_path: Path) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(*range(100), name="x")])
        files = [input_file(tmp_path, meta)]
        assert pa.types.is_dictionary(reading(files, [SIMPLE], ["id"]).schema.field("name").type)
        assert reading(files, [SIMPLE], ["id", "name"]).schema.field("name").type == pa.string()

    def test_thick_and_thin_files_mix(self, tmp_path: Path) -> None:
        thick = write(tmp_path / "thick", SIMPLE, [simple_rows(1)])
        thin = write(tmp_path / "thin", SIMPLE, [simple_rows(2)], {THIN: "true"})
        files = [input_file(tmp_path / "thick", thick), input_file(tmp_path / "thin", thin)]
        assert read(files, [SIMPLE]) == plain(simple_rows(1, 2))

    @PROPERTY
    @given(raws=rows_of_every_type())
    @pytest.mark.thorough
    def test_files_of_pypaimon_are_read(self, tmp_path: Path, raws: list[list[Raw]]) -> None:
        """No field ids, long decimals throughout, dictionaries everywhere, strings that may be large."""
        rows = plain(every_type(raws))
        fields = [pa.field("_KEY_id", pa.int32()), *EVERY_TYPE.rows_schema()]
        foreign = pa.schema([pa.field(f.name, large(f.type)) for f in fields])
        path = tmp_path / "foreign.parquet"
        pq.write_table(pa.Table.from_pylist([{"_KEY_id": row["id"], **row} for row in rows], foreign), path)
        assert read([InputFile(str(path), 1, len(rows), 0, 0)], [EVERY_TYPE]) == rows


def large(kind: pa.DataType) -> pa.DataType:
    return pa.large_binary() if pa.types.is_binary(kind) else kind


class TestRuns:
    def test_files_follow_each_other(self, tmp_path: Path) -> None:
        metas = [write(tmp_path / f"{n}", SIMPLE, [simple_rows(3 * n, 3 * n + 1)]) for n in range(3)]
        files = [input_file(tmp_path / f"{n}", meta, run=4) for n, meta in enumerate(metas)]
        run = FileRun(files, reading(files, [SIMPLE], ["id"]))
        pieces = list(run.pieces(1 << 20))
        assert [piece.rows["id"].to_pylist() for piece in pieces] == [[0, 1], [3, 4], [6, 7]]
        assert {piece.run for piece in pieces} == {4}
        assert [piece.origin for piece in pieces] == [file.path for file in files]
        assert run.size == sum(meta.size for meta in metas)
        assert run.overhead > 0

    @pytest.mark.parametrize("piece_bytes", [1, 1_000, 20_000])
    def test_pieces_are_as_small_as_asked_for(self, tmp_path: Path, piece_bytes: int) -> None:
        rows = [{"id": n, "name": f"{n:0100}", "price": None} for n in range(1_000)]
        meta = write(tmp_path, SIMPLE, [rows])
        files = [input_file(tmp_path, meta)]
        pieces = list(FileRun(files, reading(files, [SIMPLE], ["id"])).pieces(piece_bytes))
        assert max(piece.rows.nbytes for piece in pieces) <= max(200, 1.5 * piece_bytes)
        assert sum(piece.rows.num_rows for piece in pieces) == 1_000

    def test_row_groups_of_very_many_columns_come_at_once(self, tmp_path: Path) -> None:
        names = [f"c{number}" for number in range(300)]
        wide = schema([("id", "INT NOT NULL"), *((name, "BIGINT") for name in names)], ["id"])
        halves = [
            [
                {
                    "id": n,
                    **{name: None if (n + place) % 3 else n * place for place, name in enumerate(names)},
                }
                for n in range(first, first + 50)
            ]
            for first in (0, 50)
        ]
        meta = write(tmp_path, wide, halves)
        files = [input_file(tmp_path, meta)]
        run = FileRun(files, reading(files, [wide], ["id"]))
        pieces = list(run.pieces(1))
        assert [piece.rows.num_rows for piece in pieces] == [50, 50]
        assert max(piece.rows.nbytes for piece in pieces) <= run.overhead
        kept = [{name: row[name] for name in ("id", *names)} for row in pieces[1].rows.to_pylist()]
        assert kept == halves[1]

    def test_long_texts_behind_a_dictionary_come_in_small_pieces(self, tmp_path: Path) -> None:
        """The file says how large the dictionary is, not how long the values are that it stands for."""
        repeated = write(tmp_path, SIMPLE, [[{"id": n, "name": f"{n % 9:02000}"} for n in range(20_000)]])
        unique = write(tmp_path / "unique", SIMPLE, [[{"id": n, "name": f"{n}" * 9} for n in range(9)]])
        files = [input_file(tmp_path, repeated), input_file(tmp_path / "unique", unique)]
        pieces = list(FileRun(files[:1], reading(files, [SIMPLE], ["id"])).pieces(1 << 20))
        assert not any(pa.types.is_dictionary(piece.rows.schema.field("name").type) for piece in pieces)
        assert max(piece.rows.nbytes for piece in pieces) <= 4 << 20
        assert sum(piece.rows.num_rows for piece in pieces) == 20_000

    def test_short_texts_behind_a_dictionary_come_in_whole_pieces(self, tmp_path: Path) -> None:
        repeated = write(tmp_path, SIMPLE, [[{"id": n, "name": f"{n % 9}"} for n in range(50_000)]])
        unique = write(tmp_path / "unique", SIMPLE, [[{"id": n, "name": f"{n}" * 9} for n in range(9)]])
        files = [input_file(tmp_path, repeated), input_file(tmp_path / "unique", unique)]
        pieces = list(FileRun(files[:1], reading(files, [SIMPLE], ["id"])).pieces(1 << 20))
        assert len(pieces) <= 4


@st.composite
def range_of(draw: st.DrawFn, values: st.SearchStrategy[Key]) -> KeyRange:
    after, upto = sorted((draw(values), draw(values)))
    return KeyRange(draw(st.sampled_from([None, after])), draw(st.sampled_from([None, upto])))


ROW_GROUPS: dict[str, tuple[KeyRange, list[int]]] = {
    "everything": (EVERYTHING, [0, 1, 2]),
    "above the first": (KeyRange((9,), None), [0, 1, 2]),
    "above a key between": (KeyRange((15,), None), [1, 2]),
    "up to the first of the second": (KeyRange(None, (20,)), [0, 1]),
    "up to a key between": (KeyRange(None, (19,)), [0]),
    "inside the second": (KeyRange((21,), (22,)), [1]),
    "below all": (KeyRange(None, (-1,)), []),
    "above all": (KeyRange((99,), None), []),
}


def row_groups(how: Reading, file: InputFile) -> list[int]:
    return ParquetReader(local_storage()).row_groups(file, how.wanted(file, 1))


class TestKeyRanges:
    """Row groups outside a range are left out, as far as the statistics of the first key column tell."""

    @pytest.mark.parametrize(("keys", "groups"), ROW_GROUPS.values(), ids=ROW_GROUPS)
    def test_row_groups_outside_of_the_keys_are_skipped(
        self, tmp_path: Path, keys: KeyRange, groups: list[int]
    ) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(*range(start, start + 10)) for start in (0, 20, 40)])
        file = input_file(tmp_path, meta, is_inside=False)
        assert row_groups(reading([file], [SIMPLE], ["id"], keys), file) == groups
        inside = input_file(tmp_path, meta, is_inside=True)
        assert row_groups(reading([inside], [SIMPLE], ["id"], keys), inside) == [0, 1, 2]

    @pytest.mark.parametrize("atomic", ATOMICS, ids=lambda atomic: atomic.text)
    @settings(PROPERTY, max_examples=examples(10))
    @given(data=st.data())
    def test_no_row_of_the_range_is_lost(self, tmp_path: Path, atomic: Atomic, data: st.DataObject) -> None:
        """Whatever the type, and also when the range speaks of a second key column."""
        keyed = schema([("k", f"{atomic.text} NOT NULL"), ("n", "INT NOT NULL")], ["k", "n"])
        order = partial(order_parts, atomic.column)
        raws = sorted(data.draw(st.lists(atomic.raws, min_size=1, max_size=5, unique_by=order)), key=order)
        pairs = [(raw, number) for raw in raws for number in range(2)]
        groups = [[{"k": atomic.python(raw), "n": number}] for raw, number in pairs]
        meta = write(tmp_path, keyed, groups)
        bound = st.tuples(st.sampled_from(raws) | atomic.raws, st.integers(0, 1)).map(
            lambda key: (*order(key[0]), key[1])
        )
        keys = data.draw(range_of(bound))
        got = read([input_file(tmp_path, meta, is_inside=False)], [keyed], keys=keys)
        wanted = [
            row
            for (raw, number), (row,) in zip(pairs, map(plain, groups), strict=True)
            if (keys.after is None or (*order(raw), number) > keys.after)
            and (keys.upto is None or (*order(raw), number) <= keys.upto)
        ]
        assert all(row in got for row in wanted)

    def test_a_renamed_key_is_found_by_its_id(self, tmp_path: Path) -> None:
        newest, _ = EVOLVED["the key was renamed"]
        meta = write(tmp_path, OLD, [[{"id": n, "name": "x"}] for n in range(5)])
        file = input_file(tmp_path, meta, is_inside=False)
        assert row_groups(reading([file], [OLD, newest], ["key"], KeyRange((2,), (3,))), file) == [2, 3]

    @pytest.mark.parametrize(
        ("keys", "groups"), [([25], [1]), ([9, 10, 40], [0, 2]), ([10, 15], []), ([], [])]
    )
    def test_only_row_groups_that_may_have_some_keys(
        self, tmp_path: Path, keys: list[int], groups: list[int]
    ) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(*range(start, start + 10)) for start in (0, 20, 40)])
        file = input_file(tmp_path, meta, is_inside=True)
        among = FirstKeys(np.array(keys, dtype=np.int64))
        how = reading([file], [SIMPLE], ["id"])
        reader = ParquetReader(local_storage())
        assert reader.row_groups(file, how.wanted(file, 1, among=among)) == groups
        pieces = FileRun([file], how, among=among).pieces(1 << 20)
        found = [row for piece in pieces for row in piece.rows.column("id").to_pylist()]
        assert found == [key for key in keys if key not in (10, 15)]

    def test_nothing_is_read_of_a_row_group_that_lacks_keys_between_its_bounds(self, tmp_path: Path) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(*range(start, start + 20, 2)) for start in (0, 20, 40)])
        how = reading([file := input_file(tmp_path, meta, is_inside=True)], [SIMPLE], ["id"])
        among = FirstKeys(np.array([3, 24, 41], dtype=np.int64))
        found = [piece.rows.column("id").to_pylist() for piece in FileRun([file], how, among=among).pieces(1)]
        assert [ids for ids in found if ids] == [[24]]
        absent = FirstKeys(np.array([3, 41], dtype=np.int64))
        assert not [*FileRun([file], how, among=absent).pieces(1 << 20)]

    def test_without_statistics_all_are_read(self, tmp_path: Path) -> None:
        keyed = schema([("k", "STRING NOT NULL")], ["k"])
        meta = write(tmp_path, keyed, [[{"k": "a" * 5000}], [{"k": "b" * 5000}]])
        file = input_file(tmp_path, meta, is_inside=False)
        assert row_groups(reading([file], [keyed], ["k"], KeyRange((b"c",), None)), file) == [0, 1]


class TestDamage:
    @pytest.fixture
    def file(self, tmp_path: Path) -> InputFile:
        rows = [{"id": n, "name": f"name {n}", "price": None} for n in range(5_000)]
        return input_file(tmp_path, write(tmp_path, SIMPLE, [rows], {"file.compression": "none"}))

    @pytest.mark.parametrize("rows", [4_999, 5_001, 0])
    def test_rows_other_than_promised(self, file: InputFile, rows: int) -> None:
        other = InputFile(file.path, file.size, rows, file.schema_id, file.run)
        with pytest.raises(CorruptTable) as caught:
            read([other], [SIMPLE])
        assert caught.value.path == file.path

    @pytest.mark.parametrize("kept", [0, 4, 100, 0.5, -1, -100], ids=str)
    def test_a_file_that_is_cut_off(self, file: InputFile, kept: float) -> None:
        content = Path(file.path).read_bytes()
        Path(file.path).write_bytes(content[: int(len(content) * kept) if kept == 0.5 else int(kept)])
        with pytest.raises(CorruptTable) as caught:
            read([file], [SIMPLE])
        assert caught.value.path == file.path
        assert not isinstance(caught.value, MissingFile)

    def test_pages_that_are_overwritten(self, file: InputFile) -> None:
        footer = pq.read_metadata(file.path)
        chunk = footer.row_group(0).column(footer.num_columns - 2)
        start = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
        content = bytearray(Path(file.path).read_bytes())
        content[start : start + 400] = b"\xff" * 400
        Path(file.path).write_bytes(content)
        with pytest.raises(CorruptTable) as caught:
            read([file], [SIMPLE])
        assert caught.value.path == file.path

    def test_a_file_that_is_gone(self, file: InputFile) -> None:
        Path(file.path).unlink()
        with pytest.raises(MissingFile) as caught:
            read([file], [SIMPLE])
        assert caught.value.path == file.path

    def test_a_file_that_goes_while_it_is_read(
        self, file: InputFile, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(footers, "_SMALL_FILE", 0)  # smaller ones are in memory by then
        how = reading([file], [SIMPLE], ["id"])
        Path(file.path).unlink()
        with pytest.raises(MissingFile):
            list(FileRun([file], how).pieces(1))

    def test_a_column_that_is_missing(self, file: InputFile) -> None:
        pq.write_table(pa.table({"id": pa.array(range(5_000), pa.int32())}), file.path)
        with pytest.raises(CorruptTable) as caught:
            read([file], [SIMPLE])
        assert caught.value.path == file.path


def test_bounds_of_a_dictionary_are_those_of_its_values(tmp_path: Path) -> None:
    """Rows leave after they are read, for example deletes, and their texts stay in the dictionary."""
    columns = schema([("id", "INT NOT NULL"), ("name", "STRING")], ["id"])
    rows = [{"id": number, "name": name} for number, name in enumerate(["z", "a", None, "b"])]
    file = open_file(tmp_path, columns, FULL)
    file.write(table_of(columns, rows, ["name"])[1:])
    stats, types = file.close().value_stats, [column.type for column in columns.columns]
    bounds = [decode_row(row, types)[1] for row in (stats.min_values, stats.max_values)]
    assert (bounds, stats.null_counts) == ([b"a", b"b"], (0, 1))
