"""Vectors in Avro files: bit by bit as they were, whoever wrote them, and read at once where they can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.files.avro.container import as_long, read_header
from lithify.files.avro.decoding import Decoder
from lithify.files.avro.encoding import encode_rows
from lithify.files.avro.schema import record_schema
from lithify.files.avro.vectors import whole_vectors
from lithify.files.model import FileColumn, InputFile
from lithify.files.types import ColumnType, arrow_type
from lithify.formats.paimon.schema.type_texts import parse_type
from support.data_files import input_file, read, write
from support.manifests import schema
from support.properties import examples

WHOLE = ["BOOLEAN", "FLOAT", "DOUBLE"]
ELEMENTS = ["TINYINT", "SMALLINT", "INT", "BIGINT", *WHOLE]
PRICE = parse_type("DECIMAL(38, 2)")
AVRO = {"file.format": "avro", "file.compression": "null"}


def written(element: str, length: int, suffix: str = "") -> dict[str, Any]:
    return {"type": f"VECTOR{suffix}", "element": element, "length": length}


def random_bits(kind: ColumnType, lengths: Sequence[int | None], seed: int) -> pa.Array:
    """Vectors of these lengths, some of them null, of any bits."""
    element, random = arrow_type(kind).value_type, np.random.default_rng(seed)
    counts = [length or 0 for length in lengths]
    if pa.types.is_boolean(element):
        parts = pa.array(random.integers(0, 2, sum(counts)).astype(bool))
    else:
        bits = random.bytes(sum(counts) * element.bit_width // 8)
        parts = pa.Array.from_buffers(element, sum(counts), [None, pa.py_buffer(bits)])
    offsets = pa.array(np.cumsum([0, *counts], dtype=np.int32))
    mask = pa.array([length is None for length in lengths], pa.bool_())
    return pa.ListArray.from_arrays(offsets, parts, type=arrow_type(kind), mask=mask)


def bits_of(vectors: pa.Array) -> list[bytes | None]:
    """The bytes of each vector: NaN equals nothing, and both zeros are equal."""
    values = (each.values for each in vectors)
    return [None if part is None else part.to_numpy(zero_copy_only=False).tobytes() for part in values]


def header_of(columns: dict[str, ColumnType]) -> dict[str, Any]:
    return record_schema(
        [pa.field(n, arrow_type(kind), kind.nullable) for n, kind in columns.items()], "rows.row"
    )


def coded(columns: dict[str, ColumnType], arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """Columns encoded as a block, and decoded."""
    data, _ = encode_rows(arrays, [kind.nullable for kind in columns.values()])
    wanted = [FileColumn(name, kind) for name, kind in columns.items()]
    return Decoder(header_of(columns), wanted).decode(len(arrays[0]), data.tobytes())


class TestBlocks:
    @settings(max_examples=examples(60), deadline=None)
    @given(data=st.data())
    def test_no_bit_changes(self, data: st.DataObject) -> None:
        element = data.draw(st.sampled_from(ELEMENTS)) + data.draw(st.sampled_from(["", " NOT NULL"]))
        length, seed = data.draw(st.integers(1, 200)), data.draw(st.integers(0, 1 << 30))
        kind = parse_type(written(element, length))
        lengths = data.draw(st.lists(st.sampled_from([length, length, None]), min_size=1, max_size=6))
        columns = {"v": kind, "price": PRICE, "w": kind}
        prices = pa.array([None] * len(lengths), arrow_type(PRICE))
        arrays = [random_bits(kind, lengths, seed), prices, random_bits(kind, lengths[::-1], seed + 1)]
        decoded = coded(columns, arrays)
        for number in (0, 2):
            assert decoded.column(number).type == arrays[number].type
            assert bits_of(decoded.column(number)) == bits_of(arrays[number])

    @pytest.mark.parametrize("element", ELEMENTS)
    @pytest.mark.parametrize("lengths", [[3, 2, 3], [1], [0, 3], [3, None, 4, 70], [200]], ids=str)
    def test_paimon_does_not_hold_vectors_against_their_length(
        self, element: str, lengths: list[int | None]
    ) -> None:
        kind = parse_type(written(element, 3))
        numbers = [None if length is None else [n % 2 for n in range(length)] for length in lengths]
        vectors = pa.array(numbers, pa.list_(pa.int8())).cast(arrow_type(kind))
        columns = {"v": kind, "price": PRICE}
        prices = pa.array([None] * len(lengths), arrow_type(PRICE))
        assert bits_of(coded(columns, [vectors, prices]).column(0)) == bits_of(vectors)

    @pytest.mark.parametrize("suffix", ["", " NOT NULL"])
    def test_several_blocks_of_elements_are_a_vector(self, suffix: str) -> None:
        """Avro allows them, with their bytes behind a negative count, though Java writes none."""
        kind = parse_type(written(f"FLOAT{suffix}", 3, " NOT NULL"))
        one, two, three = (
            (b"" if suffix else b"\x02") + np.float32(number).tobytes() for number in (1, 2, 3)
        )
        pair = b"\x03" + as_long(len(one + two)) + one + two  # -2 elements
        row = pair + as_long(1) + three + b"\x00"
        decoder = Decoder(header_of({"v": kind}), [FileColumn("v", kind)])
        assert decoder.decode(2, row * 2).column(0).to_pylist() == [[1, 2, 3]] * 2

    def test_other_blocks_of_the_file_are_read_after_such_a_vector(self) -> None:
        kind = parse_type(written("FLOAT", 2))
        wanted = FileColumn("v", kind)
        decoder = Decoder(header_of({"v": kind}), [wanted])
        for vectors in ([[1, 2]], [[1], [1, 2]], [None, [3, 4]]):
            array = pa.array(vectors, arrow_type(kind))
            data, _ = encode_rows([array], [True])
            assert decoder.decode(len(array), data.tobytes()).column(0).to_pylist() == vectors

    def test_a_block_that_is_cut_off(self) -> None:
        kind = parse_type(written("FLOAT", 100))
        data, _ = encode_rows([random_bits(kind, [100, 100], 1)], [True])
        with pytest.raises(EOFError):
            Decoder(header_of({"v": kind}), [FileColumn("v", kind)]).decode(2, data[:-50].tobytes())

    def test_which_are_read_at_once(self) -> None:
        kinds = {element: parse_type(written(element, 2)) for element in ELEMENTS}
        kinds |= {f"{element}!": parse_type(written(f"{element} NOT NULL", 2)) for element in ELEMENTS}
        found = whole_vectors(header_of(kinds), [FileColumn(name, kind) for name, kind in kinds.items()])
        assert {name.strip("!") for name in found} == set(WHOLE)
        assert len(found) == 2 * len(WHOLE)
        assert [found[name].size for name in ("FLOAT", "FLOAT!", "BOOLEAN!")] == [12, 10, 4]

    def test_not_what_the_file_says_is_of_another_type(self) -> None:
        header = header_of({"v": parse_type(written("FLOAT", 2)), "w": parse_type("BYTES")})
        wanted = [FileColumn(name, parse_type(written("DOUBLE", 2))) for name in ("v", "w", "x")]
        assert whole_vectors(header, wanted) == {}


class TestFiles:
    TABLE = schema([("id", "INT NOT NULL"), ("v", written("FLOAT", 3)), ("n", written("INT", 2))], ["id"])
    ROWS = ({"id": 1, "v": [1.5, -0.0, 3.0], "n": [1, -2]}, {"id": 2, "v": None, "n": None})

    def file(self, folder: Path) -> InputFile:
        return input_file(folder, write(folder, self.TABLE, [self.ROWS], AVRO))

    def test_their_schema_is_that_of_java(self, tmp_path: Path) -> None:
        with pa.OSFile(self.file(tmp_path).path) as source:
            stored = {field["name"]: field["type"] for field in read_header(source).schema["fields"]}
        assert stored["v"] == ["null", {"type": "array", "items": ["null", "float"]}]
        assert stored["n"] == ["null", {"type": "array", "items": ["null", "int"]}]

    def test_another_reader_finds_the_same(self, tmp_path: Path) -> None:
        with Path(self.file(tmp_path).path).open("rb") as source:
            rows: list[Any] = list(fastavro.reader(source))
        assert [{name: row[name] for name in ("id", "v", "n")} for row in rows] == [*self.ROWS]

    @pytest.mark.parametrize("column", ["v", "n"])
    def test_a_null_in_a_vector(self, tmp_path: Path, column: str) -> None:
        """Java cannot read it, either."""
        file = self.file(tmp_path)
        with Path(file.path).open("rb") as source:
            reader = fastavro.reader(source)
            header, rows = reader.writer_schema, [dict(row) for row in reader]
        rows[0][column] = [1, None, 3][: 4 - len(column)]
        with Path(file.path).open("wb") as sink:
            fastavro.writer(sink, header, rows)
        with pytest.raises(CorruptTable, match="null in a VECTOR") as caught:
            read([file], [self.TABLE])
        assert caught.value.path == file.path
