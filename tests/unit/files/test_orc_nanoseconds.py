"""Nanoseconds of ORC files, at any depth: read where footers say that they can be, and refused elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.model import InputFile
from lithify.files.orc.footers import OrcFooters
from lithify.files.orc.protobuf import Message, number, parse
from lithify.formats.paimon.schema.schema import Schema
from support.atomic_types import instant
from support.data_files import input_file, local_storage, open_file, read, table_of
from support.manifests import schema

NS = pa.timestamp("ns")
AT = {
    "type": "ROW",
    "fields": [{"id": 10, "name": "n", "type": "INT"}, {"id": 11, "name": "at", "type": "TIMESTAMP(9)"}],
}
STORED_AT = pa.struct([("n", pa.int32()), ("at", NS)])


@dataclass(frozen=True)
class Place:
    """Where a timestamp is in a column: what that is called, the column's type, here and in the file."""

    part: str
    written: Any
    stored: pa.DataType
    holding: Callable[[Any], Any]

    @property
    def table(self) -> Schema:
        return table(self.written)


PLACES = {
    "a column": Place("c", "TIMESTAMP(9)", NS, lambda at: at),
    "a field": Place("c.at", AT, STORED_AT, lambda at: {"n": 1, "at": at}),
    "an element": Place(
        "c.element", {"type": "ARRAY", "element": "TIMESTAMP(8)"}, pa.list_(NS), lambda at: [None, at]
    ),
    "a field of elements": Place(
        "c.element.at",
        {"type": "ARRAY", "element": AT},
        pa.list_(STORED_AT),
        lambda at: [None, {"n": None, "at": at}],
    ),
    "a key": Place(
        "c.key",
        {"type": "MAP", "key": "TIMESTAMP(7)", "value": "INT"},
        pa.map_(NS, pa.int32()),
        lambda at: [(at, 1)],
    ),
    "a value of a value": Place(
        "c.value.value",
        {"type": "MAP", "key": "INT", "value": {"type": "MAP", "key": "INT", "value": "TIMESTAMP(9)"}},
        pa.map_(pa.int32(), pa.map_(pa.int32(), NS)),
        lambda at: [(1, None), (2, [(3, None), (4, at)])],
    ),
}
FIRST, LAST = -(2**63) + 2 * 86_400 * 10**9, 2**63 - 1 - 2 * 86_400 * 10**9
MOMENTS = [FIRST, -1_000_000_001, -1, 0, 1, 1_700_000_000_123_456_789, LAST]


def table(written: Any) -> Schema:
    return schema([("id", "INT NOT NULL"), ("c", written)], ["id"])


def store(folder: Path, kind: pa.DataType, values: list[Any]) -> InputFile:
    """An ORC file as if Java had written it."""
    count = len(values)
    columns = {
        "_SEQUENCE_NUMBER": pa.array([1] * count, pa.int64()),
        "_VALUE_KIND": pa.array([0] * count, pa.int8()),
        "id": pa.array(range(count), pa.int32()),
        "c": pa.array(values, kind),
    }
    path = folder / "data-0.orc"
    orc.write_table(pa.table(columns), path, compression="uncompressed")
    return InputFile(str(path), path.stat().st_size, count, 0, 0)


def values_of(file: InputFile, *schemas: Schema) -> list[Any]:
    return [row["c"] for row in read([file], schemas)]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
class TestPlaces:
    def test_nanoseconds_become_instants(self, tmp_path: Path, place: Place) -> None:
        file = store(tmp_path, place.stored, [*map(place.holding, MOMENTS), None])
        assert values_of(file, place.table) == [*(place.holding(instant(at)) for at in MOMENTS), None]

    @pytest.mark.parametrize("at", [-(2**63), 2**63 - 1], ids=["too early", "too late"])
    def test_what_may_have_wrapped_is_refused(self, tmp_path: Path, place: Place, at: int) -> None:
        file = store(tmp_path, place.stored, [place.holding(0), place.holding(at), None])
        with pytest.raises(UnsupportedTable) as caught:
            values_of(file, place.table)
        (reason,) = caught.value.reasons
        assert reason.startswith(f"column {place.part}: it has")

    @pytest.mark.parametrize("left", [0, 4, 99], ids=["none", "those of others", "nothing counted"])
    def test_without_statistics_nothing_is_read(self, tmp_path: Path, place: Place, left: int) -> None:
        file = store(tmp_path, place.stored, [place.holding(0)])
        with_statistics(file, lambda told: [b""] * len(told) if left > len(told) else told[:left])
        with pytest.raises(UnsupportedTable) as caught:
            values_of(file, place.table)
        (reason,) = caught.value.reasons
        assert reason.startswith(f"column {place.part}: nothing tells")

    def test_where_nothing_is_nothing_wraps(self, tmp_path: Path, place: Place) -> None:
        assert values_of(store(tmp_path, place.stored, [None, None]), place.table) == [None, None]

    def test_new_files_are_parquet(self, tmp_path: Path, place: Place) -> None:
        rows = [{"id": n, "c": place.holding(instant(at))} for n, at in enumerate([0, -(2**64), 2**65])]
        file = open_file(tmp_path, place.table, {"file.format": "orc"})
        file.write(table_of(place.table, rows))
        meta = file.close()
        assert meta.name.endswith(".parquet")
        assert values_of(input_file(tmp_path, meta), place.table) == [row["c"] for row in rows]


def test_a_field_that_was_dropped_may_have_wrapped(tmp_path: Path) -> None:
    place = PLACES["a field"]
    file = store(tmp_path, place.stored, [place.holding(-(2**63)), None])
    newest = replace(table({**AT, "fields": AT["fields"][:1]}), id=1)
    assert values_of(file, place.table, newest) == [{"n": 1}, None]


def test_nested_microseconds_are_judged_by_their_bounds(tmp_path: Path) -> None:
    """Other digits are an error where nothing wrapped, and no other millennium."""
    file = store(tmp_path, pa.list_(NS), [[1_000], [1]])
    with pytest.raises(CorruptTable, match="six digits"):
        values_of(file, table({"type": "ARRAY", "element": "TIMESTAMP(6)"}))


class TestFooters:
    def test_tell_of_the_parts_of_nested_columns(self, tmp_path: Path) -> None:
        kind = pa.struct([("l", pa.list_(NS)), ("m", pa.map_(pa.string(), pa.int32()))])
        rows = [
            {"l": [1_000_000, None, -2_000_000], "m": [("key", None)]},
            {"l": None, "m": [("k", 7)]},
            None,
        ]
        column = OrcFooters(local_storage()).of(store(tmp_path, kind, rows).path).columns["c"]
        assert (column.rows, column.parts, column.values) == (2, 6, 2 + 1 + 2 + 2 + 2 + 1)
        assert column.fields["l"].fields["element"].rows == 2
        assert column.fields["l"].fields["element"].millis == (-2, 1)
        assert column.text_bytes == column.fields["m"].fields["key"].text_bytes == 4
        assert column.fields["m"].fields["value"].integers == (7, 7)

    @pytest.mark.parametrize(
        ("kept", "names"),
        [(4, {"_SEQUENCE_NUMBER", "_VALUE_KIND", "id"}), (5, {"_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "c"})],
        ids=["of the others", "of the column, not of its elements"],
    )
    def test_do_not_tell_of_what_has_no_statistics(self, tmp_path: Path, kept: int, names: set[str]) -> None:
        file = store(tmp_path, pa.list_(NS), [[1], None])
        with_statistics(file, lambda told: told[:kept])
        columns = OrcFooters(local_storage()).of(file.path).columns
        assert set(columns) == names
        assert "c" not in columns or not columns["c"].fields


def with_statistics(file: InputFile, change: Callable[[list[Any]], list[Any]]) -> None:
    """Changes the statistics in the footer of a file that is not compressed."""
    path = Path(file.path)
    content = path.read_bytes()
    start = len(content) - 1 - content[-1]
    postscript = parse(content[start:-1])
    length = number(postscript, 1)
    footer = parse(content[start - length : start])
    changed = encoded({**footer, 7: change(footer[7])})
    ending = encoded({**postscript, 1: [len(changed)]})
    path.write_bytes(content[: start - length] + changed + ending + bytes([len(ending)]))


def encoded(message: Message) -> bytes:
    """A message of Protocol Buffers whose numbers are all varints."""
    return b"".join(
        varint(field << 3) + varint(value)
        if isinstance(value, int)
        else varint(field << 3 | 2) + varint(len(value)) + value
        for field, values in sorted(message.items())
        for value in values
    )


def varint(value: int) -> bytes:
    return bytes(_sevens(value))


def _sevens(value: int) -> Iterator[int]:
    while value >= 0x80:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
