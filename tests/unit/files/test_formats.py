"""ORC and Avro files come back as they were, say the same of themselves as Parquet, and refuse damage."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable, MissingFile
from lithify.files.avro.container import blocks, read_header
from lithify.files.model import InputFile
from lithify.files.orc.footers import OrcFooters
from lithify.files.orc.time_zones import ahead_in_1970, provide
from lithify.files.orc.timestamps import as_java_counts, unwrapped
from lithify.files.orc.values import as_java_reads
from lithify.files.registry import Readers
from lithify.files.types import Raw
from lithify.formats.paimon.data_files.reader import FileRun
from lithify.formats.paimon.data_files.writer import OpenDataFile
from lithify.formats.paimon.layout.external_paths import ExternalPaths
from lithify.formats.paimon.primary_key.deletes import hold_deletes
from lithify.formats.paimon.schema.type_texts import parse_type
from support.atomic_types import ATOMICS, Atomic
from support.data_files import input_file, local_storage, open_file, read, reading, table_of, target, write
from support.manifests import schema
from support.properties import examples

PROPERTY = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FORMATS = ["orc", "avro"]
SIMPLE = schema([("id", "INT NOT NULL"), ("name", "STRING"), ("price", "DECIMAL(10, 2)")], ["id"])
HELD = [atomic for atomic in ATOMICS if not parse_type(atomic.text).is_nanos]
"""The types that files other than Parquet can hold."""
EVERY_TYPE = schema(
    [("id", "INT NOT NULL"), *((f"c{n}", atomic.text) for n, atomic in enumerate(HELD))], ["id"]
)
_TEXTS = {"id": 11, "name": "t", "type": {"type": "ARRAY", "element": "STRING"}}
EARLY = datetime(1969, 12, 31, 23, 59, 59, 1)
STATS = {"metadata.stats-mode": "full", "metadata.stats-dense-store": "false"}
CODECS = [
    *(("orc", codec) for codec in ("zstd", "snappy", "zlib", "lz4", "none")),
    *(("avro", codec) for codec in ("zstd", "zstandard", "snappy", "deflate", "bzip2", "xz", "null")),
]


def simple_rows(*ids: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"name {number}", "price": None} for number in ids]


def large_rows(start: int) -> list[dict[str, Any]]:
    """Rows that do not compress well, and fill more than a block."""
    numbers = range(start, start + 10_000)
    return [{"id": n, "name": sha256(str(n).encode()).hexdigest(), "price": None} for n in numbers]


def plain(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"_SEQUENCE_NUMBER": 1, "_VALUE_KIND": 0, **row} for row in rows]


def fits_orc(atomic: Atomic, raw: Raw) -> bool:
    """ORC files have no microseconds before 1970, and no spaces at the end of CHAR."""
    if atomic.column.is_timestamp and atomic.column.precision > 3 and isinstance(raw, int):
        return raw >= 0 or raw % 1000 == 0
    return atomic.column.root != "CHAR" or not isinstance(raw, bytes) or not raw.endswith(b" ")


@st.composite
def rows_of_every_type(draw: st.DrawFn, longest: int = 10_000) -> list[dict[str, Any]]:
    """Rows of texts of some length at most: beyond a limit Parquet has no statistics."""

    def fits(atomic: Atomic) -> Callable[[Raw], bool]:
        return lambda raw: fits_orc(atomic, raw) and not (isinstance(raw, bytes) and len(raw) > longest)

    row = st.tuples(*(st.none() | atomic.raws.filter(fits(atomic)) for atomic in HELD))
    raws = draw(st.lists(row, min_size=1, max_size=4))
    return [
        {
            "id": number,
            **{
                f"c{n}": None if raw is None else atomic.python(raw)
                for n, (atomic, raw) in enumerate(zip(HELD, values, strict=True))
            },
        }
        for number, values in enumerate(raws)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FORMATS)
class TestEveryType:
    @PROPERTY
    @given(rows=rows_of_every_type(), parts=st.integers(1, 3), thin=st.booleans())
    def test_every_type_comes_back_from_every_format(
        self, tmp_path: Path, kind: str, rows: list[dict[str, Any]], parts: int, thin: bool
    ) -> None:
        groups = [group for group in (rows[start::parts] for start in range(parts)) if group]
        options = {"file.format": kind, "data-file.thin-mode": str(thin).lower()}
        meta = write(tmp_path, EVERY_TYPE, groups, options)
        assert meta.name.endswith(f".{kind}")
        assert read([input_file(tmp_path, meta)], [EVERY_TYPE]) == [r for g in groups for r in plain(g)]

    @PROPERTY
    @given(rows=rows_of_every_type(longest=1_000), parts=st.integers(1, 2))
    def test_has_the_statistics_that_it_has_in_parquet(
        self, tmp_path: Path, kind: str, rows: list[dict[str, Any]], parts: int
    ) -> None:
        groups = [group for group in (rows[start::parts] for start in range(parts)) if group]
        parquet, other = (
            write(tmp_path, EVERY_TYPE, groups, {"file.format": form, **STATS}) for form in ("parquet", kind)
        )
        assert other.value_stats == parquet.value_stats
        assert other.key_stats == parquet.key_stats
        assert (other.min_key, other.max_key, other.rows) == (parquet.min_key, parquet.max_key, parquet.rows)


@dataclass(frozen=True)
class Nested:
    """A type as schema files have it, and values of it as Python has them."""

    written: Any
    values: st.SearchStrategy[Any]


@st.composite
def columns(draw: st.DrawFn, depth: int = 0) -> Nested:
    """Types of any nesting, some of them NOT NULL."""
    made = draw(st.sampled_from([_atom, _array, _map, _row] if depth < 3 else [_atom]))
    column: Nested = draw(made(depth))
    if draw(st.booleans()):
        return replace(column, values=st.none() | column.values)
    if isinstance(column.written, str):
        return replace(column, written=f"{column.written} NOT NULL")
    return replace(column, written={**column.written, "type": f"{column.written['type']} NOT NULL"})


@st.composite
def _atom(draw: st.DrawFn, depth: int = 0) -> Nested:
    atomic: Atomic = draw(st.sampled_from(HELD))
    values = atomic.raws.filter(lambda raw: fits_orc(atomic, raw)).map(atomic.python)
    return Nested(atomic.text.removesuffix(" NOT NULL"), values)


@st.composite
def _array(draw: st.DrawFn, depth: int) -> Nested:
    element: Nested = draw(columns(depth + 1))
    return Nested({"type": "ARRAY", "element": element.written}, st.lists(element.values, max_size=3))


@st.composite
def _map(draw: st.DrawFn, depth: int) -> Nested:
    key, value = draw(_atom()), draw(columns(depth + 1))
    pairs = st.lists(st.tuples(key.values, value.values), max_size=3)
    return Nested({"type": "MAP", "key": key.written, "value": value.written}, pairs)


@st.composite
def _row(draw: st.DrawFn, depth: int) -> Nested:
    parts: list[Nested] = draw(st.lists(columns(depth + 1), min_size=1, max_size=3))
    fields = [{"id": 10 + n, "name": f"f{n}", "type": part.written} for n, part in enumerate(parts)]
    values = st.fixed_dictionaries({f"f{n}": part.values for n, part in enumerate(parts)})
    return Nested({"type": "ROW", "fields": fields}, values)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["parquet", *FORMATS])
@PROPERTY
@given(data=st.data())
def test_nested_columns_come_back(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    drawn: list[Nested] = data.draw(st.lists(columns(), min_size=1, max_size=3))
    table = schema(
        [("id", "INT NOT NULL"), *((f"c{n}", column.written) for n, column in enumerate(drawn))], ["id"]
    )
    row = st.fixed_dictionaries({f"c{n}": column.values for n, column in enumerate(drawn)})
    rows = [
        {"id": number, **each} for number, each in enumerate(data.draw(st.lists(row, min_size=1, max_size=5)))
    ]
    meta = write(tmp_path, table, [rows], {"file.format": kind})
    assert meta.name.endswith(f".{kind}")
    assert read([input_file(tmp_path, meta)], [table]) == plain(rows)


@pytest.mark.parametrize(("kind", "codec"), CODECS, ids=" ".join)
def test_rows_come_back_from_every_codec(tmp_path: Path, kind: str, codec: str) -> None:
    rows = simple_rows(*range(3_000))
    meta = write(tmp_path, SIMPLE, [rows], {"file.format": kind, "file.compression": codec})
    assert read([input_file(tmp_path, meta)], [SIMPLE]) == plain(rows)


@pytest.mark.parametrize("kind", FORMATS)
class TestFiles:
    def test_written_parts_are_read_back(self, tmp_path: Path, kind: str) -> None:
        file = open_file(tmp_path, SIMPLE, {"file.format": kind})
        parts = [table_of(SIMPLE, simple_rows(*range(n, n + 2_000)), ["name"]) for n in (0, 2_000)]
        for part in parts:
            file.write(part)
        back = pa.concat_tables(file.read_back()).unify_dictionaries()
        assert back.schema == parts[0].schema
        assert back.to_pylist() == pa.concat_tables(parts).to_pylist()
        file.abort()
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("rows", [0, 1, 5_000])
    def test_an_aborted_file_is_deleted(self, tmp_path: Path, kind: str, rows: int) -> None:
        file = open_file(tmp_path, SIMPLE, {"file.format": kind})
        if rows:
            file.write(table_of(SIMPLE, simple_rows(*range(rows))))
        file.abort()
        del file
        gc.collect()
        assert not list(tmp_path.iterdir())

    def test_the_size_grows_with_every_part(self, tmp_path: Path, kind: str) -> None:
        file = open_file(tmp_path, SIMPLE, {"file.format": kind})
        sizes = []
        for start in (0, 10_000, 20_000):
            file.write(table_of(SIMPLE, large_rows(start)))
            sizes.append(file.size)
        assert sizes == sorted(set(sizes))
        assert 0.5 < sizes[-1] / file.close().size < 2

    @pytest.mark.parametrize(("kinds", "holds"), [([0, 2], False), ([0, 3], True), ([1, 2], True)])
    def test_deletes_are_found(self, tmp_path: Path, kind: str, kinds: list[int], holds: bool) -> None:
        rows = [{**row, "_VALUE_KIND": k} for row, k in zip(simple_rows(1, 2), kinds, strict=True)]
        meta = write(tmp_path, SIMPLE, [rows], {"file.format": kind})
        assert hold_deletes(Readers(local_storage()), f"{tmp_path}/{meta.name}") is holds

    def test_pieces_are_small(self, tmp_path: Path, kind: str) -> None:
        rows = [{"id": n, "name": f"{n:01000}", "price": None} for n in range(4_000)]
        files = [input_file(tmp_path, write(tmp_path, SIMPLE, [rows], {"file.format": kind}))]
        pieces = list(FileRun(files, reading(files, [SIMPLE], ["id"])).pieces(200_000))
        assert max(piece.rows.nbytes for piece in pieces) <= 300_000
        assert sum(piece.rows.num_rows for piece in pieces) == 4_000

    def test_files_of_different_formats_are_read_together(self, tmp_path: Path, kind: str) -> None:
        old = write(tmp_path / "old", SIMPLE, [simple_rows(1)], {"file.format": kind})
        other = write(tmp_path / "other", SIMPLE, [simple_rows(2)])
        files = [input_file(tmp_path / "old", old), input_file(tmp_path / "other", other)]
        assert read(files, [SIMPLE]) == plain(simple_rows(1, 2))

    @pytest.mark.parametrize("rows", [1_999, 2_001, 0])
    def test_rows_other_than_promised(self, tmp_path: Path, kind: str, rows: int) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(*range(2_000))], {"file.format": kind})
        path = f"{tmp_path}/{meta.name}"
        with pytest.raises(CorruptTable) as caught:
            read([InputFile(path, meta.size, rows, 0, 0)], [SIMPLE])
        assert caught.value.path == path

    @pytest.mark.parametrize("kept", [0, 1, 3, 20, 0.5, 0.9, -1, -20], ids=str)
    def test_a_file_that_is_cut_off(self, tmp_path: Path, kind: str, kept: float) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(*range(20_000))], {"file.format": kind})
        path = tmp_path / meta.name
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * kept) if 0 < kept < 1 else int(kept)])
        with pytest.raises(CorruptTable) as caught:
            read([input_file(tmp_path, meta)], [SIMPLE])
        assert caught.value.path == str(path)
        assert not isinstance(caught.value, MissingFile)

    def test_a_file_that_is_gone(self, tmp_path: Path, kind: str) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(1)], {"file.format": kind})
        (tmp_path / meta.name).unlink()
        with pytest.raises(MissingFile):
            read([input_file(tmp_path, meta)], [SIMPLE])


NESTED = schema(
    [
        ("id", "INT NOT NULL"),
        ("r", {"type": "ROW", "fields": [{"id": 10, "name": "a", "type": "INT NOT NULL"}, _TEXTS]}),
        ("m", {"type": "MAP", "key": "STRING", "value": {"type": "ROW", "fields": [_TEXTS]}}),
    ],
    ["id"],
)


def nested_rows(count: int) -> list[dict[str, Any]]:
    """Rows with nulls around, beside and beneath others."""
    return [
        {
            "id": n,
            "r": {"a": n, "t": [[None, f"{n}"], None][n % 2]} if n % 3 else None,
            "m": [("k", None if n % 5 else {"t": [f"{n}"]})] * (n % 4) if n % 7 else None,
        }
        for n in range(count)
    ]


@pytest.mark.parametrize("kind", ["parquet", *FORMATS])
def test_nested_columns_cut_from_larger_ones(tmp_path: Path, kind: str) -> None:
    """PyArrow forgets where columns of structs begin, and writes its ORC files from other places of them."""
    rows = nested_rows(400)
    whole = table_of(NESTED, rows, [])
    file = open_file(tmp_path, NESTED, {"file.format": kind})
    for start, end in ((3, 40), (40, 399)):
        file.write(whole.slice(start, end - start))
    meta = file.close()
    assert read([input_file(tmp_path, meta)], [NESTED]) == plain(rows[3:399])


class TestOrc:
    def test_columns_have_the_ids_that_java_gives_them(self, tmp_path: Path) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(1)], {"file.format": "orc"})
        fields = orc.ORCFile(tmp_path / meta.name).schema
        assert {field.name: field.metadata[b"paimon.id"] for field in fields} == {
            "_KEY_id": b"1073741823",
            "_SEQUENCE_NUMBER": b"2147483646",
            "_VALUE_KIND": b"2147483645",
            "id": b"0",
            "name": b"1",
            "price": b"2",
        }

    def test_a_write_is_a_stripe(self, tmp_path: Path) -> None:
        groups = [large_rows(0), large_rows(10_000)]
        meta = write(tmp_path, SIMPLE, groups, {"file.format": "orc"})
        assert orc.ORCFile(tmp_path / meta.name).nstripes == 2

    @pytest.mark.parametrize("codec", ["zstd", "snappy", "zlib", "lz4", "none"])
    def test_footers_tell_what_pyarrow_tells(self, tmp_path: Path, codec: str) -> None:
        groups = [large_rows(0), large_rows(10_000)]
        meta = write(tmp_path, SIMPLE, groups, {"file.format": "orc", "file.compression": codec})
        path = tmp_path / meta.name
        footer, theirs = OrcFooters(local_storage()).of(str(path)), orc.ORCFile(path)
        assert footer.rows == theirs.nrows == 20_000
        assert [rows for _, rows in footer.stripes] == [10_000, 10_000]
        assert set(footer.columns) == set(theirs.schema.names)
        assert footer.time_zone == "GMT"
        assert footer.columns["id"].integers == (0, 19_999)
        assert footer.columns["name"].text_bytes == 20_000 * 64
        assert footer.columns["price"].has_null

    @pytest.mark.parametrize("parts", [0, 1, 2], ids="after {} writes".format)
    def test_microseconds_before_1970_make_a_file_parquet(self, tmp_path: Path, parts: int) -> None:
        pair = {"type": "ROW", "fields": [{"id": 9, "name": "n", "type": "TIME(3) NOT NULL"}, _TEXTS]}
        columns = [("id", "INT NOT NULL"), ("name", "STRING"), ("at", "TIMESTAMP(6)"), ("pair", pair)]
        stamped = schema(columns, ["id"])
        file = open_file(tmp_path, stamped, {"file.format": "orc", "file.compression": "zlib"})
        rows = [
            {
                "id": n,
                "name": "x" if n % 2 else None,
                "at": datetime(1969, 12, 31) if n < parts else EARLY,
                "pair": {"n": time(1, n), "t": None if n % 3 else [None, f"{n}"]} if n % 2 else None,
            }
            for n in range(parts + 2)
        ]
        for row in rows:
            file.write(table_of(stamped, [row], ["name"]))
        meta = file.close()
        assert [path.name for path in tmp_path.iterdir()] == [meta.name] == ["data-writer-0.parquet"]
        assert read([input_file(tmp_path, meta)], [stamped]) == plain(rows)
        assert (meta.rows, meta.value_stats.null_counts) == (parts + 2, (0, (parts + 3) // 2, 0))

    def test_a_file_that_becomes_parquet_lies_where_its_new_name_says(self, tmp_path: Path) -> None:
        stamped = schema([("id", "INT NOT NULL"), ("at", "TIMESTAMP(6)")], ["id"])
        outside = ExternalPaths(tuple(f"file:{tmp_path}/{name}" for name in "ab"), has_entropy=True)
        to = replace(target(tmp_path / "table", stamped, {"file.format": "orc"}), external_paths=outside)
        file = OpenDataFile(to.name("writer", 0), to, local_storage(tmp_path), lambda: 0)
        file.write(table_of(stamped, [{"id": 1, "at": EARLY}]))
        meta = file.close()
        (there,) = (path for path in tmp_path.rglob("*") if path.is_file())
        assert meta.external_path == f"file:{there}" == to.path("data-writer-0.parquet")

    @pytest.mark.parametrize(("there", "known"), [(True, False), (False, True), (False, False)])
    def test_time_zones_are_provided_where_there_are_none(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool, known: bool
    ) -> None:
        monkeypatch.delenv("TZDIR", raising=False)
        if known:
            monkeypatch.setenv("TZDIR", "/elsewhere")
        if there:
            (tmp_path / "GMT").touch()
        provide(tmp_path)
        told = os.environ.get("TZDIR")
        if there:
            assert told is None
        elif known:
            assert told == "/elsewhere"
        else:
            assert told is not None
            assert (Path(told) / "GMT").exists()

    def test_padded_texts_are_trimmed(self) -> None:
        column = pa.array(["a  ", " b", "", None, "   "])
        assert as_java_reads(column, parse_type("CHAR(3)"), None).to_pylist() == ["a", " b", "", None, ""]


class TestWrappedTimestamps:
    """Timestamps are read as nanoseconds that may have wrapped around 64 bits."""

    @given(micros=st.integers(-62_167_219_200_000_000, 253_402_300_799_999_999))
    def test_every_microsecond_of_ten_thousand_years(self, micros: int) -> None:
        wrapped = (micros * 1_000 + 2**63) % 2**64 - 2**63
        column = pa.array([wrapped, None], pa.int64()).view(pa.timestamp("ns"))
        assert unwrapped(column, pa.timestamp("us")).view(pa.int64()).to_pylist() == [micros, None]

    @given(nanos=st.integers(-(2**63), 2**63 - 1))
    def test_digits_below_the_microsecond_are_no_wrap(self, nanos: int) -> None:
        """Where the footer says that nothing wrapped, other digits are an error, not another millennium."""
        assume(nanos % 1_000)
        column = pa.array([nanos], pa.int64()).view(pa.timestamp("ns"))
        with pytest.raises(pa.ArrowInvalid):
            unwrapped(column, pa.timestamp("us"), (0, 1_000))


FRACTIONS: dict[str, tuple[int, float, float]] = {
    "ahead: by both clocks before 1970": (8, -1.5, -1.5),
    "ahead: by that of UTC before 1970": (8, 0.5, -0.5),
    "ahead: the last second": (8, 28_799.5, 28_798.5),
    "ahead: by both clocks in 1970": (8, 28_800.5, 28_800.5),
    "ahead: less than a millisecond": (8, 1.000999, 1.000999),
    "ahead: whole seconds": (8, 7, 7),
    "behind: by both clocks before 1970": (-5, -18_001.5, -18_001.5),
    "behind: the first second in 1970": (-5, -18_000.5, -17_999.5),
    "behind: the last before it on the wall": (-5, -1.5, -0.5),
    "behind: by both clocks in 1970": (-5, 0.5, 0.5),
    "behind: less than a millisecond": (-5, -1.999001, -1.999001),
    "behind: whole seconds": (-5, -7, -7),
    "on time": (0, -1.5, -1.5),
}
"""Hours that a clock is ahead, seconds since 1970 by C++, and by Java."""


@pytest.mark.parametrize(("hours", "told", "meant"), FRACTIONS.values(), ids=FRACTIONS)
def test_fractions_before_1970_are_on_the_second_on_which_java_sees_them(
    hours: int, told: float, meant: float
) -> None:
    ticks = np.array([round(told * 10**6)], np.int64)
    assert as_java_counts(ticks, 10**6, hours * 3_600).tolist() == [round(meant * 10**6)]
    nanos = as_java_counts(ticks * 1_000, 10**9, hours * 3_600)
    assert nanos.tolist() == [round(meant * 10**6) * 1_000]


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [("", 0), ("UTC", 0), ("Asia/Shanghai", 28_800), ("Europe/London", 3_600), ("Africa/Monrovia", -2_670)],
)
def test_what_clocks_were_ahead_of_utc_when_1970_began(zone: str, seconds: int) -> None:
    assert ahead_in_1970(zone) == seconds


class TestAvro:
    def test_another_reader_finds_the_same_in_it(self, tmp_path: Path) -> None:
        rows = simple_rows(*range(10_000))
        meta = write(tmp_path, SIMPLE, [rows], {"file.format": "avro"})
        with (tmp_path / meta.name).open("rb") as file:
            reader = fastavro.reader(file)
            found: list[Any] = list(reader)
        assert [{name: row[name] for name in ("id", "name", "price")} for row in found] == rows
        assert reader.metadata["avro.codec"] == "zstandard"

    def test_a_changed_byte_in_snappy_does_not_go_unseen(self, tmp_path: Path) -> None:
        options = {"file.format": "avro", "file.compression": "snappy"}
        meta = write(tmp_path, SIMPLE, [simple_rows(1)], options)
        path = tmp_path / meta.name
        content = bytearray(path.read_bytes())
        content[content.index(b"name 1") + 5] ^= 1
        path.write_bytes(content)
        with pytest.raises(CorruptTable, match="checksum"):
            read([input_file(tmp_path, meta)], [SIMPLE])

    def test_the_schema_is_that_of_java(self, tmp_path: Path) -> None:
        meta = write(tmp_path, SIMPLE, [simple_rows(1)], {"file.format": "avro"})
        with pa.OSFile(str(tmp_path / meta.name)) as source:
            stored = read_header(source).schema
        decimal = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
        assert (stored["namespace"], stored["name"]) == ("org.apache.paimon.avro.generated", "record")
        assert stored["fields"] == [
            {"name": "_KEY_id", "type": "int"},
            {"name": "_SEQUENCE_NUMBER", "type": "long"},
            {"name": "_VALUE_KIND", "type": "int"},
            {"name": "id", "type": "int"},
            {"name": "name", "type": ["null", "string"], "default": None},
            {"name": "price", "type": ["null", decimal], "default": None},
        ]

    def test_blocks_are_as_large_as_those_of_java(self, tmp_path: Path) -> None:
        options = {"file.format": "avro", "file.compression": "null"}
        meta = write(tmp_path, SIMPLE, [simple_rows(*range(20_000))], options)
        with pa.OSFile(str(tmp_path / meta.name)) as source:
            sizes = [block.size for block in blocks(source, read_header(source))]
        assert max(sizes) <= 64_000
        assert median(sizes) > 60_000

    def test_a_row_larger_than_a_block_has_one_of_its_own(self, tmp_path: Path) -> None:
        rows = [{"id": n, "name": "x" * 200_000, "price": None} for n in range(3)]
        meta = write(tmp_path, SIMPLE, [rows], {"file.format": "avro"})
        with pa.OSFile(str(tmp_path / meta.name)) as source:
            assert [block.rows for block in blocks(source, read_header(source))] == [1, 1, 1]
        assert read([input_file(tmp_path, meta)], [SIMPLE]) == plain(rows)

    def test_a_null_that_must_not_be(self, tmp_path: Path) -> None:
        strict = schema([("id", "INT NOT NULL"), ("n", "INT NOT NULL")], ["id"])
        file = open_file(tmp_path, strict, {"file.format": "avro"})
        with pytest.raises(CorruptTable):
            file.write(table_of(strict, [{"id": 1, "n": None}]))
        file.abort()

    def test_bytes_that_are_overwritten(self, tmp_path: Path) -> None:
        meta = write(tmp_path, SIMPLE, [large_rows(0)], {"file.format": "avro"})
        path = tmp_path / meta.name
        content = bytearray(path.read_bytes())
        content[len(content) // 2 : len(content) // 2 + 400] = b"\xff" * 400
        path.write_bytes(content)
        with pytest.raises(CorruptTable) as caught:
            read([input_file(tmp_path, meta)], [SIMPLE])
        assert caught.value.path == str(path)
