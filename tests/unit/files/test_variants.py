"""Variants shredded, inferred and put together again; PySpark's own variants are the reference."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.variant_utils import VariantUtils

from lithify.errors import CorruptTable, InvalidOption
from lithify.files.types import ColumnType, Field, arrow_type
from lithify.files.variants.binary import spans_of
from lithify.files.variants.columns import in_form, merged_form
from lithify.files.variants.encoding import Malformed, kinds_of
from lithify.files.variants.inference import inferred
from lithify.files.variants.joining import joined
from lithify.files.variants.options import InferenceOptions, VariantOptions
from lithify.files.variants.scalars import as_column, as_variants
from lithify.files.variants.shape import stored_type
from lithify.files.variants.shredding import shredded
from lithify.formats.paimon.data_files.reader import FileRun
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.options.variant_options import read_variant_options
from lithify.formats.paimon.schema.type_texts import parse_type
from support.data_files import input_file, open_file, read, reading, table_of, write
from support.manifests import schema
from support.properties import examples

PROPERTY = settings(max_examples=examples(60), deadline=None)
WHOLE = arrow_type(parse_type("VARIANT"))
INFER = {"variant.inferShreddingSchema": "true"}
NO_KEYS = b"\x01\x00\x00"
ONE_KEY = b"\x01\x01\x00\x01a"
NAMES = st.sampled_from(["a", "b", "ab", "", "é", "\ue000", "\U00010000", "long" * 80])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-300, 300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(-(10**6), 10**6, places=3).map(float),
    st.text(max_size=3),
    st.integers(60, 70).map("x".__mul__),
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
SIMPLE = st.recursive(
    st.sampled_from(
        [
            "VARIANT",
            "BOOLEAN",
            "TINYINT",
            "INT",
            "BIGINT",
            "DOUBLE",
            "STRING",
            "DECIMAL(9, 2)",
            "DECIMAL(38, 6)",
        ]
    ).map(parse_type),
    lambda inner: st.one_of(
        inner.map(lambda kind: ColumnType("ARRAY", fields=(Field("element", kind),))),
        st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
            lambda kinds: ColumnType("ROW", fields=tuple(Field(*each, 0) for each in kinds.items()))
        ),
    ),
    max_leaves=6,
)


def column(documents: Sequence[Any]) -> pa.Array:
    """Variants of JSON documents; ... is null."""
    encoded = [None if each is ... else VariantUtils.parse_json(json.dumps(each)) for each in documents]
    return raw(*(each and (bytes(each[0]), bytes(each[1])) for each in encoded))


def raw(*variants: tuple[bytes, bytes] | None) -> pa.Array:
    return pa.array(
        [each and dict(zip(("value", "metadata"), each, strict=True)) for each in variants], WHOLE
    )


def said(variants: pa.Array) -> list[Any]:
    return [
        VariantUtils.to_python(each["value"].as_py(), each["metadata"].as_py()) if each.is_valid else ...
        for each in variants
    ]


def infer(variants: pa.Array, **options: Any) -> ColumnType:
    (kind,) = inferred([variants], InferenceOptions(**options))
    return kind


def shred(variants: pa.Array, simple: ColumnType) -> pa.StructArray:
    parts = shredded(variants, arrow_type(stored_type(simple)))
    parts.validate(full=True)
    return parts


def object_of(**fields: str) -> ColumnType:
    parts = (Field(name, parse_type(kind), number) for number, (name, kind) in enumerate(fields.items()))
    return ColumnType("ROW", fields=tuple(parts))


@PROPERTY
@given(st.lists(st.just(...) | DOCUMENTS, max_size=8), st.none() | SIMPLE, st.integers(0, 2))
def test_split_variants_join_to_the_same_values(
    documents: list[Any], simple: ColumnType | None, skipped: int
) -> None:
    variants = column(documents).slice(skipped)
    parts = shred(variants, simple or infer(variants, share=0.3))
    whole = joined(parts, WHOLE)
    whole.validate(full=True)
    assert said(whole) == said(variants)
    assert said(joined(parts.slice(1), WHOLE)) == said(variants)[1:]


@PROPERTY
@given(st.lists(DOCUMENTS, min_size=1, max_size=8))
def test_what_is_inferred_fits_all_numbers(documents: list[Any]) -> None:
    """A column of a number type is only made if it holds every number of its place."""
    variants = column([{"a": each} for each in documents])
    kind = infer(variants)
    (field,) = kind.fields
    if field.type.root in ("BIGINT", "DECIMAL"):
        typed = shred(variants, kind).field("typed_value").field("a").field("typed_value")
        assert typed.null_count == documents.count(None)


def test_slices_make_one_column() -> None:
    """Large columns are worked on in slices, each with keys of its own."""
    documents = [{f"k{number % 7}": "x" * 40_000, "n": number} for number in range(600)]
    variants = column(documents)
    assert variants.nbytes > 2 << 23
    parts = shred(variants, object_of(n="INT", k3="STRING"))
    assert parts.field("typed_value").field("n").field("typed_value").to_pylist() == [*range(600)]
    assert said(joined(parts, WHOLE)) == documents


def head(info: int) -> bytes:
    return bytes([info << 2])


SIXTEEN = (10**37).to_bytes(16, "little")
FITTING = [
    pytest.param(head(1), "BOOLEAN", True, id="true"),
    pytest.param(head(2), "BOOLEAN", False, id="false"),
    pytest.param(head(3) + b"\x80", "TINYINT", -128, id="smallest of a byte"),
    pytest.param(head(4) + b"\x80\x00", "TINYINT", None, id="too large for a byte"),
    pytest.param(head(6) + b"\x05" + b"\x00" * 7, "TINYINT", 5, id="small in a large integer"),
    pytest.param(head(6) + struct.pack("<q", 2**63 - 1), "BIGINT", 2**63 - 1, id="largest integer"),
    pytest.param(
        head(5) + struct.pack("<i", 12345), "DECIMAL(7, 2)", Decimal("12345.00"), id="integer as decimal"
    ),
    pytest.param(
        head(5) + struct.pack("<i", 12345), "DECIMAL(6, 2)", None, id="integer with too many digits"
    ),
    pytest.param(head(8) + b"\x02" + struct.pack("<i", 500), "INT", 5, id="decimal without a fraction"),
    pytest.param(head(8) + b"\x02" + struct.pack("<i", 501), "INT", None, id="decimal with a fraction"),
    pytest.param(
        head(9) + b"\x03" + struct.pack("<q", -1500), "DECIMAL(4, 1)", Decimal("-1.5"), id="fewer digits"
    ),
    pytest.param(head(9) + b"\x03" + struct.pack("<q", -1501), "DECIMAL(4, 1)", None, id="digits are lost"),
    pytest.param(
        head(10) + b"\x00" + SIXTEEN, "DECIMAL(38, 0)", Decimal(10**37), id="a decimal of 38 digits"
    ),
    pytest.param(head(10) + b"\x00" + SIXTEEN, "DECIMAL(38, 1)", None, id="no room for more digits"),
    pytest.param(head(10) + b"\x00" + SIXTEEN, "BIGINT", None, id="a decimal beyond 64 bits"),
    pytest.param(head(8) + b"\x09" + b"\x00" * 4, "DECIMAL(2, 2)", Decimal("0.00"), id="zero of any scale"),
    pytest.param(head(7) + struct.pack("<d", 0.1), "DOUBLE", 0.1, id="double"),
    pytest.param(head(7) + struct.pack("<d", 0.5), "FLOAT", None, id="double is no float"),
    pytest.param(head(14) + struct.pack("<f", 0.5), "FLOAT", 0.5, id="float"),
    pytest.param(head(3) + b"\x01", "DOUBLE", None, id="integer is no double"),
    pytest.param(b"\x01", "STRING", "", id="no letters"),
    pytest.param(b"\x09hi", "STRING", "hi", id="short text"),
    pytest.param(head(16) + b"\x02\x00\x00\x00hi", "STRING", "hi", id="long text"),
    pytest.param(head(15) + b"\x02\x00\x00\x00hi", "STRING", None, id="bytes are no text"),
    pytest.param(head(15) + b"\x02\x00\x00\x00hi", "BYTES", b"hi", id="bytes"),
    pytest.param(head(0), "INT", None, id="null"),
    pytest.param(head(20) + b"\x00" * 16, "STRING", None, id="uuid"),
]


@pytest.mark.parametrize(("value", "kind", "expected"), FITTING)
def test_what_fits_into_a_column(value: bytes, kind: str, expected: Any) -> None:
    values = spans_of(pa.array([value, b"\x00", None], pa.binary()))
    typed = as_column(values, kinds_of(values), arrow_type(parse_type(kind)))
    typed.validate(full=True)
    assert typed.to_pylist() == [expected, None, None]


SHORTEST = [
    pytest.param("BIGINT", [-129, -128, 127, 32768, -(2**31), 2**31], [3, 2, 2, 5, 5, 9], id="integers"),
    pytest.param("DECIMAL(38, 9)", ["0.999999999", "1", "1e9"], [6, 10, 18], id="decimals"),
    pytest.param("DECIMAL(38, 10)", ["0", "1e9"], [10, 18], id="decimals of ten digits behind the point"),
    pytest.param("STRING", ["x" * 63, "x" * 64, ""], [64, 69, 1], id="texts"),
    pytest.param("DATE", [0, -1], [5, 5], id="dates"),
]


@pytest.mark.parametrize(("kind", "values", "sizes"), SHORTEST)
def test_values_become_the_shortest_variants(kind: str, values: list[Any], sizes: list[int]) -> None:
    target = arrow_type(parse_type(kind))
    if pa.types.is_decimal(target):
        values = [Decimal(each) for each in values]
    made = as_variants(pa.array([None, *values], target))
    assert made.sizes.tolist() == [0, *sizes]


def test_fields_are_in_the_order_of_java() -> None:
    """Which is that of UTF-16; readers look for fields by halves."""
    document = {"\U00010000": 1, "\ue000": 2, "z": 3}
    whole = joined(shred(column([document]), object_of(**{"\ue000": "INT", "z": "INT"})), WHOLE)
    assert said(whole) == [document]
    value, metadata = whole[0]["value"].as_py(), whole[0]["metadata"].as_py()
    names = [VariantUtils._get_metadata_key(metadata, number) for number in value[2:5]]
    assert names == ["z", "\U00010000", "\ue000"]


@pytest.mark.parametrize(
    ("value", "metadata"),
    [
        pytest.param(b"", NO_KEYS, id="no value"),
        pytest.param(b"\x00", b"", id="no metadata"),
        pytest.param(b"\x00", b"\x02\x00\x00", id="metadata of another version"),
        pytest.param(b"\x00", b"\x01\x09\x00", id="metadata that are cut off"),
        pytest.param(b"\x00", b"\x01\x01\x00\x09a", id="a key that is cut off"),
        pytest.param(b"\x00", b"\xc1\x01\x00", id="metadata without offsets"),
        pytest.param(head(63), NO_KEYS, id="a type that nobody knows"),
        pytest.param(b"\x02\x01\x07\x00\x01\x00", ONE_KEY, id="a field whose key is unknown"),
        pytest.param(b"\x02\x01\x00\x09\x01\x00", ONE_KEY, id="fields that lie outside"),
        pytest.param(b"\x02\xff\x00", ONE_KEY, id="an object that is cut off"),
        pytest.param(b"\x02", ONE_KEY, id="an object without a count"),
        pytest.param(b"\x13\x01\x00\x00", ONE_KEY, id="an array whose count is cut off"),
        pytest.param(head(6) + b"\x05", ONE_KEY, id="a number that is cut off"),
        pytest.param(head(16) + b"\x05\x00\x00\x00x", ONE_KEY, id="a text that is cut off"),
        pytest.param(b"\x02\x02\x00\x00\x00\x01\x02\x00\x00", ONE_KEY, id="a field that is there twice"),
        pytest.param(b"\x02\x01\x00\x00\x01\xfc", ONE_KEY, id="a field of an unknown type within"),
    ],
)
def test_what_is_no_variant(value: bytes, metadata: bytes) -> None:
    with pytest.raises(Malformed):
        shredded(raw((value, metadata)), arrow_type(stored_type(object_of(a="INT"))))


def test_what_is_no_variant_ends_the_run_by_name(tmp_path: Path) -> None:
    """Files that are not shredded are read without a look into their values."""
    rows = [{"id": 1, "v": {"value": head(63), "metadata": NO_KEYS}}]
    file = open_file(tmp_path, TABLE, INFER)
    with pytest.raises(CorruptTable) as caught:
        file.write(table_of(TABLE, rows))
    assert caught.value.path == str(tmp_path)
    file.abort()


ABSENT = {"value": None, "typed_value": None}


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param(b"\x00", {"a": ABSENT}, id="a rest that is no object"),
        pytest.param(b"\x02\x01\x00\x00\x01\x00", {"a": ABSENT}, id="a field that is shredded and is not"),
        pytest.param(None, {"a": None}, id="a field that is null"),
        pytest.param(
            None,
            {"a": {"value": b"\x02\x01\x05\x00\x01\x00", "typed_value": {"b": {"typed_value": 1}}}},
            id="unknown key",
        ),
    ],
)
def test_parts_that_make_no_variant(value: bytes | None, typed: Any) -> None:
    leaf = pa.struct({"typed_value": pa.int32()})
    inner = pa.struct({"value": pa.binary(), "typed_value": pa.struct({"b": leaf})})
    kind = pa.struct({"metadata": pa.binary(), "value": pa.binary(), "typed_value": pa.struct({"a": inner})})
    parts = pa.array([{"metadata": ONE_KEY, "value": value, "typed_value": typed}], kind)
    with pytest.raises(Malformed):
        joined(parts, WHOLE)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(head(11) + b"\x00" * 4, id="dates"),
        pytest.param(head(12) + b"\x00" * 8, id="timestamps"),
        pytest.param(head(13) + b"\x00" * 8, id="local timestamps"),
        pytest.param(head(15) + b"\x00" * 4, id="binaries"),
        pytest.param(head(20) + b"\x00" * 16, id="uuids"),
    ],
)
def test_what_java_cannot_shred_stays_whole(value: bytes) -> None:
    variants = raw((value, NO_KEYS))
    assert infer(variants) == parse_type("VARIANT")
    assert joined(shred(variants, object_of(a="INT")), WHOLE) == variants


def test_fields_without_a_name_get_no_column() -> None:
    kind = infer(column([{"": 1, " ": 2, "a": 3}]))
    assert [field.name for field in kind.fields] == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ROW<v INT>", id="no JSON"),
        pytest.param('"INT"', id="no row"),
        pytest.param('{"type": "ARRAY", "element": "INT"}', id="a list"),
        pytest.param('{"type": "ROW"}', id="a row without fields"),
        pytest.param("[1]", id="a list of JSON"),
        pytest.param('{"type": "ROW", "fields": [{"id": 0, "name": "v", "type": "DATE"}]}', id="a date"),
        pytest.param('{"type": "ROW", "fields": [{"id": 0, "name": "v", "type": "BYTES"}]}', id="bytes"),
        pytest.param(
            '{"type": "ROW", "fields": [{"id": 0, "name": "v", "type": {"type": "ROW", "fields": []}}]}',
            id="an object without fields",
        ),
    ],
)
def test_types_that_nothing_is_shredded_into(text: str) -> None:
    with pytest.raises(InvalidOption):
        read_variant_options(OptionReader({"variant.shreddingSchema": text}))


def test_a_given_type_comes_before_inference() -> None:
    text = '{"type": "ROW", "fields": [{"id": 0, "name": "v", "type": "INT"}]}'
    options = {"variant.inferShreddingSchema": "true", "parquet.variant.shreddingSchema": text}
    found = read_variant_options(OptionReader(options))
    assert (found.types, found.inference) == ({"v": parse_type("INT")}, None)


def test_files_are_read_and_read_back(tmp_path: Path) -> None:
    """The first rows of a file decide for all of its row groups."""
    table = schema([("id", "INT NOT NULL"), ("v", "VARIANT")], ["id"])
    documents = [{"a": 1, "b": "x"}, ..., {"a": "other", "c": [1, None]}, [{"b": "y"}]]
    variants = column(documents).to_pylist()
    rows = [{"id": number, "v": variant} for number, variant in enumerate(variants)]
    groups = [rows[:2], rows[2:]]
    meta = write(tmp_path, table, groups, INFER)
    stored = pq.read_schema(f"{tmp_path}/{meta.name}").field("v").type
    assert [field.name for field in stored.field("typed_value").type] == ["a", "b"]
    found = read([input_file(tmp_path, meta)], [table])
    assert said(pa.array([row["v"] for row in found], WHOLE)) == documents
    file = open_file(tmp_path / "back", table, INFER)
    for group in groups:
        file.write(table_of(table, group))
    back = pa.concat_tables(file.read_back())
    assert back.schema == table.rows_schema()
    assert said(back.column("v").combine_chunks()) == documents
    file.abort()


def form(kind: pa.DataType) -> list[str]:
    """The columns of the fields of objects that a form has."""
    return kind.field("typed_value").type.names if "typed_value" in kind.names else []


def variants_of(*files: Sequence[Any]) -> list[list[dict[str, Any]]]:
    """Rows of a group for each file."""
    return [
        [{"id": 100 * number + at, "v": each} for at, each in enumerate(column(documents).to_pylist())]
        for number, documents in enumerate(files)
    ]


LARGE = [{"a": number, "b": "x" * number} for number in range(50)]
SMALL = [{"a": "text", "c": [1]}, ..., [1, 2]]
TABLE = schema([("id", "INT NOT NULL"), ("v", "VARIANT")], ["id"])
GIVEN = {
    "variant.shreddingSchema": json.dumps(
        {
            "type": "ROW",
            "fields": [
                {
                    "id": 0,
                    "name": "v",
                    "type": {"type": "ROW", "fields": [{"id": 0, "name": "c", "type": "STRING"}]},
                }
            ],
        }
    )
}


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        pytest.param({}, None, id="not shredded"),
        pytest.param(INFER, ["a", "b"], id="as in the largest file"),
        pytest.param(GIVEN, ["c"], id="as given"),
    ],
)
def test_in_which_form_variants_are_merged(
    tmp_path: Path, options: dict[str, str], fields: list[str] | None
) -> None:
    """Those of files that store them otherwise are brought into it."""
    groups = variants_of(SMALL, LARGE, [{"a": 1}])
    metas = [
        write(tmp_path / str(number), TABLE, [rows], {} if number == 2 else INFER)
        for number, rows in enumerate(groups)
    ]
    files = [input_file(tmp_path / str(number), meta) for number, meta in enumerate(metas)]
    how = reading(files, [TABLE], ["id"], shredding=options)
    kind = how.schema.field("v").type
    assert form(kind) == (fields or [])
    pieces = [piece.rows for piece in FileRun(files, how).pieces(1 << 20)]
    whole = [in_form(rows.column("v"), WHOLE) for rows in pieces]
    assert said(pa.concat_arrays(whole)) == [*SMALL, *LARGE, {"a": 1}]


def test_files_from_before_the_column_have_nulls_in_its_form(tmp_path: Path) -> None:
    old = schema([("id", "INT NOT NULL")], ["id"])
    new = replace(TABLE, id=1)
    metas = [
        write(tmp_path / "old", old, [[{"id": 1}]], INFER),
        write(tmp_path / "new", new, variants_of(LARGE), INFER),
    ]
    files = [input_file(tmp_path / name, meta) for name, meta in zip(("old", "new"), metas, strict=True)]
    how = reading(files, [old, new], ["id"], shredding=INFER)
    first, second = (piece.rows for piece in FileRun(files, how).pieces(1 << 20))
    assert form(first.schema.field("v").type) == ["a", "b"]
    assert (first.column("v").null_count, second.column("v").null_count) == (1, 0)


def test_shredded_rows_are_written_and_read_back(tmp_path: Path) -> None:
    """Whether the first rows of the file ask for what they come in, or for something else."""
    variants = column([*LARGE, *SMALL])
    shapes = [stored_type(simple) for simple in (infer(column(LARGE)), object_of(c="STRING"))]
    for form_number, kind in enumerate([WHOLE, *map(arrow_type, shapes)]):
        rows = table_of(TABLE, variants_of([*LARGE, *SMALL])[0])
        rows = rows.set_column(1, pa.field("v", kind), in_form(variants, kind))
        for number, options in enumerate((INFER, GIVEN, {})):
            file = open_file(tmp_path / f"{form_number}-{number}", TABLE, options)
            file.write(rows)
            back = pa.concat_tables(file.read_back())
            assert back.schema == rows.schema
            assert said(in_form(back.column("v").combine_chunks(), WHOLE)) == [*LARGE, *SMALL]
            file.abort()


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param(pa.timestamp("us"), id="timestamps"),
        pytest.param(pa.binary(), id="binaries"),
        pytest.param(pa.struct({"a": pa.int32()}), id="fields without a value"),
        pytest.param(pa.list_(pa.struct({"typed_value": pa.int32()})), id="elements without a value"),
    ],
)
def test_forms_of_others_are_not_kept(typed: pa.DataType) -> None:
    metadata = pa.field("metadata", pa.binary(), False)
    kind = pa.struct([metadata, pa.field("value", pa.binary()), pa.field("typed_value", typed)])
    options = VariantOptions({}, InferenceOptions())
    assert merged_form("v", options, kind) is None
