"""Rows of files in the columns of a schema: matched by id, promoted, filled in, whatever wrote the file."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.types import Field, arrow_type
from lithify.formats.iceberg.data_files.reader import FileReader, Request
from lithify.formats.iceberg.data_files.schema import Schema, parse_schema, parse_type
from lithify.formats.iceberg.data_files.stored import parse_name_mapping
from lithify.formats.iceberg.model import DataFile, Partition
from support.iceberg_files import Files, schema_json, schema_of


def _read(files: Files, file: DataFile, schema: Schema, **how: Any) -> list[dict[str, Any]]:
    reader = FileReader(files.storage, **how)
    batches = [*reader.batches(file, Request(schema.stored()))]
    for batch in batches:
        assert batch.schema.types == [arrow_type(column.type) for column in schema.stored()]
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


def _struct(*fields: tuple[int, str, Any]) -> dict[str, Any]:
    named = [{"id": number, "name": name, "required": False, "type": kind} for number, name, kind in fields]
    return {"type": "struct", "fields": named}


def _list(number: int, element: Any) -> dict[str, Any]:
    return {"type": "list", "element-id": number, "element": element, "element-required": False}


def _map(key_id: int, key: Any, value_id: int, value: Any) -> dict[str, Any]:
    ids = {"key-id": key_id, "value-id": value_id}
    return {"type": "map", "key": key, "value": value, "value-required": False, **ids}


PROMOTIONS = [
    ("int", "long", 7, 7),
    ("float", "double", 0.5, 0.5),
    ("decimal(5, 2)", "decimal(20, 2)", Decimal("1.25"), Decimal("1.25")),
    ("date", "timestamp", date(2024, 1, 2), datetime(2024, 1, 2)),
    (_list(2, "int"), _list(2, "long"), [1, None], [1, None]),
    (_map(2, "int", 3, "float"), _map(2, "long", 3, "double"), [(1, 0.5)], [(1, 0.5)]),
    (_struct((2, "a", "int")), _struct((3, "b", "int"), (2, "c", "long")), {"a": 4}, {"b": None, "c": 4}),
    (_struct((2, "a", "int"), (3, "b", "int")), _struct((3, "b", "int")), {"a": 4, "b": 5}, {"b": 5}),
    (
        _list(2, _struct((3, "x", "int"), (4, "y", "string"))),
        _list(2, _struct((4, "y", "string"), (5, "z", "date"), (3, "w", "long"))),
        [{"x": 1, "y": "a"}, None],
        [{"y": "a", "z": None, "w": 1}, None],
    ),
]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
@pytest.mark.parametrize(
    ("old", "new", "value", "expected"), PROMOTIONS, ids=lambda each: json.dumps(each, default=str)
)
def test_values_are_read_in_the_type_of_today(
    tmp_path: Path, old: Any, new: Any, value: Any, expected: Any, kind: str
) -> None:
    files = Files(tmp_path, schema_of(("c", old)))
    file = files.data({"c": [value, None, value]}, kind=kind)

    assert _read(files, file, schema_of(("d", new))) == [{"d": expected}, {"d": None}, {"d": expected}]


DEFAULTS = [
    ("boolean", True, True),
    ("int", 5, 5),
    ("long", 1 << 40, 1 << 40),
    ("double", 0.5, 0.5),
    ("decimal(9, 2)", "14.20", Decimal("14.20")),
    ("date", "2017-11-16", date(2017, 11, 16)),
    ("time", "22:31:08.123456", time(22, 31, 8, 123456)),
    ("timestamp", "2017-11-16T22:31:08.123456", datetime(2017, 11, 16, 22, 31, 8, 123456)),
    (
        "timestamptz",
        "2017-11-16T22:31:08.123456+00:00",
        datetime(2017, 11, 16, 22, 31, 8, 123456, tzinfo=UTC),
    ),
    ("string", "x", "x"),
    ("uuid", "00000000-0000-0000-0000-00000000000f", bytes(15) + b"\x0f"),
    ("fixed[2]", "00ff", b"\x00\xff"),
    ("binary", "0aFF", b"\x0a\xff"),
    (_list(8, "int"), [1, 2], [1, 2]),
    (_map(8, "string", 9, "int"), {"keys": ["a"], "values": [1]}, [("a", 1)]),
    (_struct((8, "a", "int"), (9, "b", "string")), {"8": 3}, {"a": 3, "b": None}),
]


@pytest.mark.parametrize(("kind", "default", "expected"), DEFAULTS, ids=lambda each: str(each)[:20])
def test_columns_that_a_file_lacks_have_their_initial_default(
    tmp_path: Path, kind: Any, default: Any, expected: Any
) -> None:
    files = Files(tmp_path, schema_of(("c", "int")))
    file = files.data({"c": [1, 2]})

    schema = schema_of(("more", kind, {"initial-default": default}), first=5)

    assert _read(files, file, schema) == [{"more": expected}] * 2


def test_nanoseconds_keep_every_digit(tmp_path: Path) -> None:
    schema = schema_of(("c", "timestamp_ns"), ("d", "timestamptz_ns"))
    files = Files(tmp_path, schema)
    file = files.data({"c": [1, -7], "d": [1 << 60, None]})
    more = schema_of(("e", "timestamp_ns", {"initial-default": "1970-01-01T00:00:00.000000001"}), first=9)

    (batch,) = FileReader(files.storage).batches(file, Request((*schema.stored(), *more.stored())))

    assert [column.cast(pa.int64()).to_pylist() for column in batch.columns] == [
        [1, -7],
        [1 << 60, None],
        [1, 1],
    ]


FOREIGN = [
    ("large text", pa.array(["a", None], pa.large_string()), "string", ["a", None]),
    ("large list", pa.array([[1], None], pa.large_list(pa.int32())), _list(2, "int"), [[1], None]),
    ("dictionary", pa.array(["a", None]).dictionary_encode(), "string", ["a", None]),
    (
        "milliseconds",
        pa.array([5, None], pa.timestamp("ms")),
        "timestamp",
        [datetime(1970, 1, 1, 0, 0, 0, 5000), None],
    ),
    ("binary text", pa.array([b"a", None]), "string", ["a", None]),
]


@pytest.mark.parametrize(("name", "values", "kind", "expected"), FOREIGN, ids=[each[0] for each in FOREIGN])
def test_files_of_other_writers_are_read(
    tmp_path: Path, name: str, values: pa.Array, kind: Any, expected: list[Any]
) -> None:
    files = Files(tmp_path, schema_of((name, kind)))
    field = pa.field(name, values.type, metadata={b"PARQUET:field_id": b"1"})
    ids = {"list": b"2"}
    if pa.types.is_large_list(values.type):
        part = pa.field("element", pa.int32(), metadata={b"PARQUET:field_id": ids["list"]})
        field = field.with_type(pa.large_list(part))
    file = files.data(pa.table([values], schema=pa.schema([field])), store_schema=True)

    assert [row[name] for row in _read(files, file, files.schema)] == expected


def test_int96_timestamps_of_spark_are_read(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("t", "timestamptz")))
    moments = [datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC), None]
    file = files.data({"t": moments}, use_deprecated_int96_timestamps=True)

    assert [row["t"] for row in _read(files, file, files.schema)] == moments


def test_value_of_another_type_is_corrupt(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("c", "string")))
    file = files.data({"c": ["x"]})

    with pytest.raises(CorruptTable) as failure:
        _read(files, file, schema_of(("c", "date")))

    assert failure.value.path == file.path


def test_null_in_a_required_part_is_corrupt(tmp_path: Path) -> None:
    old = _struct((2, "a", "int"))
    new = {"type": "struct", "fields": [{"id": 2, "name": "b", "required": True, "type": "long"}]}
    files = Files(tmp_path, schema_of(("c", old)))

    good = files.data({"c": [{"a": 1}, None]})
    assert _read(files, good, schema_of(("c", new))) == [{"c": {"b": 1}}, {"c": None}]
    with pytest.raises(CorruptTable):
        _read(files, files.data({"c": [{"a": None}]}), schema_of(("c", new)))


def test_columns_of_unknown_type_are_in_no_file(tmp_path: Path) -> None:
    schema = schema_of(("c", "int"), ("u", "unknown"))
    files = Files(tmp_path, schema)

    assert _read(files, files.data({"c": [1]}), schema) == [{"c": 1}]


@pytest.mark.parametrize(
    "kind", ["variant", "geometry", "geography", "fixed[12]", _struct((2, "u", "unknown"))]
)
def test_types_that_cannot_be_read_are_refused(kind: Any) -> None:
    with pytest.raises(UnsupportedTable):
        schema_of(("c", kind))


def test_identity_partition_wins_over_default(tmp_path: Path) -> None:
    schema = schema_of(("c", "int"), ("p", "int", {"initial-default": 3}))
    files = Files(tmp_path, schema)
    file = files.data({"c": [1]}, schema=schema_of(("c", "int")), partition=Partition(4, ("x", 8)))

    assert _read(files, file, schema, constants={4: {2: 1}}) == [{"c": 1, "p": 8}]


def test_name_mapping_reaches_nested_parts(tmp_path: Path) -> None:
    inner = _struct((2, "x", "int"), (4, "l", _list(5, "int")))
    schema = schema_of(("s", inner))
    files = Files(tmp_path, schema)
    kind = pa.struct([("old", pa.int32()), ("l", pa.list_(pa.int32())), ("other", pa.int32())])
    file = files.data(pa.table({"S": pa.array([{"old": 1, "l": [2], "other": 3}], kind)}))
    mapping = parse_name_mapping(
        json.dumps(
            [
                {
                    "field-id": 1,
                    "names": ["s", "S"],
                    "fields": [
                        {"field-id": 2, "names": ["x", "old"]},
                        {"field-id": 4, "names": ["l"], "fields": [{"field-id": 5, "names": ["element"]}]},
                    ],
                }
            ]
        )
    )

    assert _read(files, file, schema, mapping=mapping) == [{"s": {"x": 1, "l": [2]}}]


def test_schema_finds_fields_by_id() -> None:
    old = schema_json(("gone", "int"), first=7)
    schema = parse_schema(schema_json(("c", "int"), ("s", _struct((5, "x", "date")))), [old])

    assert schema.path_of(5) == ("s", "x")
    assert schema.path_of(99) is None
    found = schema.find(7)
    assert found is not None
    assert found.name == "gone"


def test_pages_that_end_too_early_are_corrupt(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("c", "long")))
    file = files.data({"c": range(1000)}, use_dictionary=False)
    data = Path(file.path).read_bytes()
    Path(file.path).write_bytes(data[:200] + b"\0" * 100 + data[300:])

    with pytest.raises(CorruptTable):
        _read(files, file, files.schema)


KINDS: list[tuple[Any, Any]] = [("int", st.integers(0, 9)), ("string", st.sampled_from(["", "ab"]))]


@st.composite
def _typed(draw: st.DrawFn, ids: list[int], depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
    """A type, and values of it; of structs, fields that stay are known by their names."""
    ids.append(len(ids) + 10)
    shape = draw(st.sampled_from(["plain", "list", "struct"] if depth < 2 else ["plain"]))
    if shape == "plain":
        return draw(st.sampled_from(KINDS))
    if shape == "list":
        number = ids[-1]
        kind, values = draw(_typed(ids, depth + 1))
        return _list(number, kind), st.lists(st.none() | values, max_size=3)
    fields, parts = [], {}
    for _ in range(draw(st.integers(1, 3))):
        ids.append(len(ids) + 10)
        number = ids[-1]
        kind, values = draw(_typed(ids, depth + 1))
        fields.append((number, f"f{number}", kind))
        parts[f"f{number}"] = st.none() | values
    return _struct(*fields), st.fixed_dictionaries(parts)


def _changed(draw: st.DrawFn, kind: Any) -> Any:
    """A type to which a table may have evolved: fields are dropped, moved, and added; ints become longs."""
    if kind == "int":
        return draw(st.sampled_from(["int", "long"]))
    if isinstance(kind, str):
        return kind
    if kind["type"] == "list":
        return {**kind, "element": _changed(draw, kind["element"])}
    kept = draw(st.permutations(kind["fields"]))[: draw(st.integers(1, len(kind["fields"])))]
    fields = [{**each, "type": _changed(draw, each["type"])} for each in kept]
    new = {"id": 900 + draw(st.integers(0, 9)), "name": "new", "required": False, "type": "string"}
    return {**kind, "fields": [*fields, new] if draw(st.booleans()) else fields}


def _expected(value: Any, kind: Any) -> Any:
    if value is None or isinstance(kind, str):
        return value
    if kind["type"] == "list":
        return [_expected(each, kind["element"]) for each in value]
    return {each["name"]: _expected(value.get(each["name"]), each["type"]) for each in kind["fields"]}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_nested_columns_are_read_after_any_evolution(tmp_path: Path, data: st.DataObject) -> None:
    kind, values = data.draw(_typed([]))
    rows = data.draw(st.lists(st.none() | values, max_size=5))
    files = Files(tmp_path, schema_of(("c", kind)))
    form = data.draw(st.sampled_from(["parquet", "orc", "avro"]) if rows else st.just("parquet"))
    file = files.data({"c": rows}, kind=form)
    new = data.draw(st.composite(lambda draw: _changed(draw, kind))())

    assert [row["c"] for row in _read(files, file, schema_of(("c", new)))] == [
        _expected(each, new) for each in rows
    ]


def test_unknown_file_columns_are_ignored(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("a", "int"), ("b", "int")))
    file = files.data({"a": [1], "b": [2]})

    assert _read(files, file, Schema(0, (Field("b", parse_type("int"), 2),))) == [{"b": 2}]


def test_uuids_are_labelled_in_footers(tmp_path: Path) -> None:
    from support.iceberg_files import run, task_of

    schema = schema_of(
        ("c", "int"), ("s", _struct((3, "u", "uuid"), (4, "f", "fixed[16]"))), ("u", "uuid", {})
    )
    files = Files(tmp_path, Schema(0, (*schema.columns[:2], Field("u", parse_type("uuid"), 9))))
    file = files.data({"c": [1], "s": [{"u": bytes(16), "f": b"x" * 16}], "u": [bytes(range(16))]})

    (new,) = run(task_of(files, [file])).data

    footer = pq.read_metadata(new.path)
    assert [footer.schema.column(at).logical_type.type for at in range(4)] == ["NONE", "UUID", "NONE", "UUID"]
    assert pq.read_table(new.path).num_rows == 1


def test_texts_stay_dictionaries_where_values_repeat_at_all(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("few", "string"), ("some", "string"), ("other", "string")))
    texts = {
        name: [f"value-{row % values:05}" for row in range(25_000)]
        for name, values in (("few", 40), ("some", 3_000), ("other", 25_000))
    }
    file = files.data(texts, compression="zstd")

    survey = files.reader.survey([file], files.schema.columns)

    assert survey.texts == {"few", "some"}


SHARED_TEXTS: dict[str, tuple[int, int, bool]] = {
    "files have the same texts": (8, 0, True),
    "each file has texts of its own": (8, 5_000, False),
    "few files have the same texts": (3, 0, False),
}


@pytest.mark.parametrize(("count", "step", "is_read"), SHARED_TEXTS.values(), ids=SHARED_TEXTS)
def test_texts_stay_dictionaries_where_small_files_share_them(
    tmp_path: Path, count: int, step: int, is_read: bool
) -> None:
    files = Files(tmp_path, schema_of(("id", "long"), ("text", "string")))
    rng = np.random.default_rng(5)

    def made(number: int) -> DataFile:
        values = number * step + rng.integers(0, 5_000, 5_000)
        rows = {"id": [*range(5_000)], "text": [f"text-{value:06}" for value in values]}
        return files.data(rows, compression="zstd")

    survey = files.reader.survey([made(number) for number in range(count)], files.schema.columns)

    assert survey.texts == ({"text"} if is_read else set())


def test_rows_are_the_same_where_small_files_share_texts(tmp_path: Path) -> None:
    from support.iceberg_files import rewritten

    files = Files(tmp_path, schema_of(("id", "long"), ("text", "string")))
    rng = np.random.default_rng(5)
    texts = [[f"text-{value}" for value in rng.integers(0, 5_000, 5_000)] for _ in range(5)]
    made = [files.data({"id": [*range(5_000)], "text": each}, compression="zstd") for each in texts]

    rows = rewritten(files, made)

    assert [row["text"] for row in rows] == [text for each in texts for text in each]
