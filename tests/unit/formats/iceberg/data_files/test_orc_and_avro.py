"""Data files in ORC and Avro: every type comes back, and columns are found by ids, mappings or names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import orc

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.types import arrow_type
from lithify.formats.iceberg.data_files.reader import FileReader, Request
from lithify.formats.iceberg.data_files.schema import LINEAGE, Schema, parse_schema
from lithify.formats.iceberg.data_files.stored import names_of, parse_name_mapping
from lithify.formats.iceberg.deletes.position_files import read_positions
from lithify.formats.iceberg.model import DataFile, Partition
from support.iceberg_files import Files, rewritten, run, schema_of, task_of, with_deletes

FORMATS = ["orc", "avro"]


def _read(files: Files, file: DataFile, schema: Schema, **how: Any) -> list[dict[str, Any]]:
    batches = [*FileReader(files.storage, **how).batches(file, Request(schema.stored()))]
    for batch in batches:
        assert batch.schema.types == [arrow_type(column.type) for column in schema.stored()]
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


def _list(number: int, element: Any) -> dict[str, Any]:
    return {"type": "list", "element-id": number, "element": element, "element-required": False}


def _map(key_id: int, key: Any, value_id: int, value: Any) -> dict[str, Any]:
    ids = {"key-id": key_id, "value-id": value_id}
    return {"type": "map", "key": key, "value": value, "value-required": False, **ids}


def _struct(*fields: tuple[int, str, Any]) -> dict[str, Any]:
    named = [{"id": number, "name": name, "required": False, "type": kind} for number, name, kind in fields]
    return {"type": "struct", "fields": named}


VALUES: Sequence[tuple[Any, list[Any]]] = [
    ("boolean", [True, False]),
    ("int", [1, -(1 << 31)]),
    ("long", [1, -(1 << 63)]),
    ("float", [0.5, float("inf")]),
    ("double", [0.1, -0.0]),
    ("decimal(1, 0)", [Decimal(9), Decimal(-9)]),
    ("decimal(9, 2)", [Decimal("1.25"), Decimal("-9999999.99")]),
    ("decimal(28, 0)", [Decimal(10**28 - 1), Decimal(-1)]),  # 12 bytes
    ("decimal(38, 10)", [Decimal("1.0000000000"), Decimal("-9999999999999999999999999999.9999999999")]),
    ("date", [date(1, 1, 1), date(9999, 12, 31)]),
    ("time", [time(0), time(23, 59, 59, 999999)]),
    ("timestamp", [datetime(2024, 1, 2, 3, 4, 5, 6), datetime(1969, 12, 31)]),
    ("timestamptz", [datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)]),
    ("string", ["", "ö\U0001f600"]),
    ("uuid", [b"\x01" * 16, bytes(16)]),
    ("fixed[3]", [b"abc", b"\0\0\0"]),
    ("binary", [b"", b"\xff"]),
    (_list(8, "uuid"), [[b"\x01" * 16, None], []]),
    (_list(8, "decimal(9, 2)"), [[Decimal("1.25"), None], []]),
    (_map(8, "string", 9, "time"), [[("a", time(1))], []]),
    (_map(8, "int", 9, "decimal(20, 3)"), [[(1, Decimal("1.250")), (2, None)], []]),
    (
        _struct((8, "a b", "date"), (9, "l", _list(10, _struct((11, "x", "fixed[2]"))))),
        [{"a b": None, "l": None}],
    ),
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda each: json.dumps(each, default=str)[:30])
def test_values_of_every_type_come_back(tmp_path: Path, form: str, kind: Any, values: list[Any]) -> None:
    files = Files(tmp_path, schema_of(("odd name.1", kind)))
    given = [*values, None, *values]
    file = files.data({"odd name.1": given}, kind=form)

    assert [row["odd name.1"] for row in _read(files, file, files.schema)] == given


@pytest.mark.parametrize("form", FORMATS)
def test_nanoseconds_keep_every_digit(tmp_path: Path, form: str) -> None:
    files = Files(tmp_path, schema_of(("c", "timestamp_ns"), ("d", "timestamptz_ns")))
    file = files.data({"c": [1, 7], "d": [1 << 60, None]}, kind=form)

    (batch,) = FileReader(files.storage).batches(file, Request(files.schema.stored()))

    assert [column.cast(pa.int64()).to_pylist() for column in batch.columns] == [[1, 7], [1 << 60, None]]


@pytest.mark.parametrize("form", FORMATS)
def test_columns_that_a_file_lacks_have_their_default(tmp_path: Path, form: str) -> None:
    files = Files(tmp_path, schema_of(("c", "int")))
    file = files.data({"c": [1, 2]}, kind=form)

    more = schema_of(("more", "string", {"initial-default": "x"}), first=5)

    assert _read(files, file, more) == [{"more": "x"}] * 2


def _without_ids(files: Files, form: str) -> DataFile:
    """A file as Hive or Spark write them: a struct and a list, in another order than the table's."""
    path = files.folder / f"foreign.{form}"
    if form == "orc":
        kind = pa.struct([("l", pa.list_(pa.int32())), ("old", pa.int32())])
        table = pa.table({"n": [5, 6], "s": pa.array([{"l": [1], "old": 2}, None], kind)})
        orc.write_table(table, path)
    else:
        inner = {
            "type": "record",
            "name": "inner",
            "fields": [
                {"name": "l", "type": {"type": "array", "items": "int"}},
                {"name": "old", "type": "int"},
            ],
        }
        fields = [{"name": "n", "type": "long"}, {"name": "s", "type": [inner, "null"]}]
        schema = {"type": "record", "name": "r", "namespace": "x", "fields": fields}
        with path.open("wb") as sink:
            fastavro.writer(sink, schema, [{"n": 5, "s": {"l": [1], "old": 2}}, {"n": 6, "s": None}])
    return DataFile(str(path), path.stat().st_size, 2, form, 1, Partition(0))


@pytest.mark.parametrize("form", FORMATS)
def test_names_find_columns_without_ids(tmp_path: Path, form: str) -> None:
    schema = schema_of(("s", _struct((8, "old", "int"), (9, "l", _list(10, "int")))), ("n", "long"))
    files = Files(tmp_path, schema)

    rows = _read(files, _without_ids(files, form), schema, names=names_of(schema.columns))

    assert rows == [{"s": {"old": 2, "l": [1]}, "n": 5}, {"s": None, "n": 6}]


@pytest.mark.parametrize("form", FORMATS)
def test_name_mapping_finds_renamed_columns(tmp_path: Path, form: str) -> None:
    schema = schema_of(("t", _struct((8, "new", "int"))), ("n", "long"))
    files = Files(tmp_path, schema)
    mapping = parse_name_mapping(
        json.dumps(
            [
                {"field-id": 1, "names": ["s", "t"], "fields": [{"field-id": 8, "names": ["old", "new"]}]},
                {"field-id": 2, "names": ["n"]},
            ]
        )
    )

    rows = _read(files, _without_ids(files, form), schema, mapping=mapping, names=names_of(schema.columns))

    assert rows == [{"t": {"new": 2}, "n": 5}, {"t": None, "n": 6}]


@pytest.mark.parametrize("data", ["parquet", *FORMATS])
@pytest.mark.parametrize("deletes", FORMATS)
def test_deletes_apply_to_files_of_any_format(tmp_path: Path, data: str, deletes: str) -> None:
    files = Files(tmp_path, schema_of(("id", "long"), ("t", "string")))
    file = files.data({"id": range(6), "t": ["a", None, "b", "a", "c", None]}, kind=data)
    other = files.data({"id": range(9), "t": ["z"] * 9})
    positions = files.positions([(file, 0), (file, 4), (other, 8)], kind=deletes)
    equality = files.equality({"t": [None]}, [2], kind=deletes)

    assert read_positions(files.reader, positions, {file.path: 6}).keys() == {file.path}
    found = rewritten(files, [with_deletes(file, positions, equality)])

    assert [row["id"] for row in found] == [2, 3]


@pytest.mark.parametrize("written", ["parquet", *FORMATS])
def test_files_of_all_formats_are_rewritten_together(tmp_path: Path, written: str) -> None:
    files = Files(tmp_path, schema_of(("id", "long"), ("t", "string")))
    inputs = [
        files.data({"id": [number], "t": [None]}, kind=kind, first_row_id=10 * number)
        for number, kind in enumerate(("orc", "parquet", "avro"))
    ]

    properties = {"write.format.default": written}
    (new,) = run(task_of(files, inputs, properties=properties, has_lineage=True)).data

    file = DataFile(new.path, new.size, new.rows, new.format, 5, Partition(0))
    columns = (*files.schema.stored(), *LINEAGE)
    assert (new.format, new.rows) == (written, 3)
    batches = FileReader(files.storage).batches(file, Request(columns))
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"id": number, "t": None, "_row_id": 10 * number, "_last_updated_sequence_number": 1}
        for number in range(3)
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_files_roll_and_absorb_a_small_rest(tmp_path: Path, form: str) -> None:
    inner = _struct((8, "a b", "decimal(9, 2)"))
    files = Files(tmp_path, schema_of(("id", "long"), ("s", inner), ("t", "time"), ("k", "string")))
    count = 20_000
    rows = {
        "id": [number * 7919 % 1_000_003 for number in range(count)],
        "s": [{"a b": Decimal(number)} if number % 3 else None for number in range(count)],
        "t": [time(1, 2, 3, number) for number in range(count)],
        "k": [None if number % 5 == 4 else f"k{number % 5}" for number in range(count)],
    }
    file = files.data(rows, use_dictionary=["k"])

    properties = {"write.format.default": form, "write.target-file-size-bytes": "40000"}
    written = run(task_of(files, [file], properties=properties)).data

    assert len(written) > 2
    assert {each.format for each in written} == {form}
    found = [
        row
        for new in written
        for row in _read(files, DataFile(new.path, new.size, new.rows, form, 1, Partition(0)), files.schema)
    ]
    assert found == [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    sizes = [new.size for new in written]
    assert min(sizes) > 10_000


@st.composite
def _columns(draw: st.DrawFn, ids: list[int], depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
    """A type of a column, nested or not, and its values, null included."""
    ids.append(len(ids) + 10)
    own = ids[-1]
    shape = draw(st.sampled_from(["plain", "plain", "list", "map", "struct"] if depth < 3 else ["plain"]))
    if shape == "plain":
        kind, values = draw(st.sampled_from([each for each in VALUES if isinstance(each[0], str)]))
        return kind, st.none() | st.sampled_from(values)
    inner, values = draw(_columns(ids, depth + 1))
    if shape == "list":
        return _list(own, inner), st.none() | st.lists(values, max_size=3)
    if shape == "map":
        ids.append(len(ids) + 10)
        key, keys = draw(st.sampled_from([("int", st.integers(0, 3)), ("string", st.sampled_from("ab"))]))
        pairs = st.lists(st.tuples(keys, values), max_size=3, unique_by=lambda pair: pair[0])
        return _map(own, key, ids[-1], inner), st.none() | pairs
    other, more = draw(_columns(ids, depth + 1))
    ids.append(len(ids) + 10)
    rows = st.fixed_dictionaries({"a b": values, "c": more})
    return _struct((own, "a b", inner), (ids[-1], "c", other)), st.none() | rows


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_rows_that_are_not_deleted_come_through_a_task_in_every_format(
    tmp_path: Path, data: st.DataObject
) -> None:
    kind, values = data.draw(_columns([]))
    rows = data.draw(st.lists(values, min_size=1, max_size=12))
    deleted = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=len(rows) - 1))
    source, target = (data.draw(st.sampled_from(["parquet", *FORMATS])) for _ in range(2))
    files = Files(tmp_path, schema_of(("c", kind)))
    file = files.data({"c": rows}, kind=source)
    if deleted:
        file = with_deletes(file, files.positions([(file, at) for at in sorted(deleted)], kind=target))

    (new,) = run(task_of(files, [file], properties={"write.format.default": target})).data

    found = _read(files, DataFile(new.path, new.size, new.rows, new.format, 1, Partition(0)), files.schema)
    assert [row["c"] for row in found] == [row for at, row in enumerate(rows) if at not in deleted]


def test_fractions_of_seconds_before_1970_are_written_to_parquet(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("id", "int"), ("t", "timestamp")))
    inputs = [
        files.data({"id": [1], "t": [datetime(2024, 1, 1)]}),
        files.data({"id": [2], "t": [datetime(1969, 12, 31, 23, 59, 59, 500_000)]}),
    ]

    (new,) = run(task_of(files, inputs, properties={"write.format.default": "orc"})).data

    assert (new.format, new.rows, new.path.rpartition(".")[2]) == ("parquet", 2, "parquet")
    assert [path.suffix for path in (files.folder / "data").iterdir()] == [".parquet"]
    assert rewritten(files, [DataFile(new.path, new.size, 2, "parquet", 1, Partition(0))]) == [
        {"id": 1, "t": datetime(2024, 1, 1)},
        {"id": 2, "t": datetime(1969, 12, 31, 23, 59, 59, 500_000)},
    ]
    assert new.metrics.value_counts == {1: 2, 2: 2}


def test_rows_before_a_fraction_of_1969_move_to_parquet_with_it(tmp_path: Path) -> None:
    schema = schema_of(
        ("id", "long"), ("t", "timestamp"), ("s", _struct((8, "x y", "uuid"))), ("k", "string")
    )
    files = Files(tmp_path, schema)
    count = 30_000
    rows = {
        "id": [number * 7919 % 1_000_003 for number in range(count)],
        "t": [datetime(2024, 1, 1)] * count,
        "s": [{"x y": b"\x01" * 16} if number % 3 else None for number in range(count)],
        "k": [f"k{number % 5}" for number in range(count)],
    }
    late = datetime(1969, 12, 31, 23, 59, 59, 1)
    last = {"id": [-1], "t": [late], "s": [None], "k": ["k9"]}
    inputs = [files.data(rows), files.data(last)]

    properties = {"write.format.default": "orc", "write.orc.stripe-size-bytes": "60000"}
    (new,) = run(task_of(files, inputs, properties=properties)).data

    file = DataFile(new.path, new.size, new.rows, new.format, 1, Partition(0))
    assert (new.format, new.rows) == ("parquet", count + 1)
    given = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    assert _read(files, file, schema) == [*given, {"id": -1, "t": late, "s": None, "k": "k9"}]
    assert new.metrics.value_counts == dict.fromkeys((1, 2, 8, 4), count + 1)


def test_parts_of_orc_files_that_no_table_has_are_refused_by_name(tmp_path: Path) -> None:
    schema = schema_of(("u", "int"))
    files = Files(tmp_path, schema)
    path = tmp_path / "u.orc"
    kinds = pa.dense_union([pa.field("a", pa.int32()), pa.field("b", pa.string())])
    values = pa.UnionArray.from_dense(
        pa.array([0], pa.int8()),
        pa.array([0], pa.int32()),
        [pa.array([1], pa.int32()), pa.array([""])],
        ["a", "b"],
    )
    assert values.type.equals(kinds)
    orc.write_table(pa.table({"u": values}), path)

    with pytest.raises(UnsupportedTable, match="column u"):
        _read(files, DataFile(str(path), path.stat().st_size, 1, "orc", 1, Partition(0)), schema)


def test_orc_timestamps_of_hive_lose_their_last_digits(tmp_path: Path) -> None:
    schema = schema_of(("t", "timestamp"), ("l", _list(8, "timestamp")))
    path = tmp_path / "hive.orc"
    moments = pa.array([1_234_567_891, 5_000_000_999, None], pa.timestamp("ns"))
    lists = pa.array([[1_999], [], None], pa.list_(pa.timestamp("ns")))
    orc.write_table(pa.table({"t": moments, "l": lists}), path)
    file = DataFile(str(path), path.stat().st_size, 3, "orc", 1, Partition(0))

    rows = _read(Files(tmp_path, schema), file, schema, names=names_of(schema.columns))

    assert rows == [
        {"t": datetime(1970, 1, 1, 0, 0, 1, 234_567), "l": [datetime(1970, 1, 1, 0, 0, 0, 1)]},
        {"t": datetime(1970, 1, 1, 0, 0, 5), "l": []},
        {"t": None, "l": None},
    ]


@pytest.mark.parametrize("nested", [False, True])
def test_orc_timestamps_of_another_kind_are_refused(tmp_path: Path, *, nested: bool) -> None:
    """Hive and Spark write moments as local times of their time zone; Java does not read them as moments."""
    kinds = [_list(8, each) if nested else each for each in ("timestamp", "timestamptz")]
    value = [datetime(2024, 1, 1)]
    files = Files(tmp_path, schema_of(("t", kinds[0])))
    file = files.data({"t": [value] if nested else value}, kind="orc")

    with pytest.raises(UnsupportedTable, match="column"):
        _read(files, file, schema_of(("t", kinds[1])))


@pytest.mark.parametrize("form", FORMATS)
def test_value_of_another_type_is_corrupt(tmp_path: Path, form: str) -> None:
    files = Files(tmp_path, schema_of(("c", "string")))
    file = files.data({"c": ["x"]}, kind=form)

    with pytest.raises(CorruptTable):
        _read(
            files, file, parse_schema({"fields": [{"id": 1, "name": "c", "required": False, "type": "date"}]})
        )
