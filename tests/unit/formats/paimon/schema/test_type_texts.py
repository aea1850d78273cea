"""Types as Paimon's schema files write them, and what they are in Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lithify.files.types import ColumnType, arrow_type
from lithify.formats.paimon.schema.type_texts import parse_type

PARSED = {
    "BOOLEAN": (ColumnType("BOOLEAN"), pa.bool_()),
    "TINYINT": (ColumnType("TINYINT"), pa.int8()),
    "SMALLINT": (ColumnType("SMALLINT"), pa.int16()),
    "INT": (ColumnType("INT"), pa.int32()),
    "INTEGER": (ColumnType("INT"), pa.int32()),
    "BIGINT NOT NULL": (ColumnType("BIGINT", nullable=False), pa.int64()),
    "bigint not null": (ColumnType("BIGINT", nullable=False), pa.int64()),
    "FLOAT": (ColumnType("FLOAT"), pa.float32()),
    "DOUBLE": (ColumnType("DOUBLE"), pa.float64()),
    "DATE": (ColumnType("DATE"), pa.date32()),
    "TIME": (ColumnType("TIME"), pa.time32("ms")),
    "TIME(3)": (ColumnType("TIME", 3), pa.time32("ms")),
    "CHAR(3)": (ColumnType("CHAR", 3), pa.string()),
    "VARCHAR(2147483647)": (ColumnType("VARCHAR", 2147483647), pa.string()),
    "STRING NOT NULL": (ColumnType("VARCHAR", 2147483647, nullable=False), pa.string()),
    "BINARY(3)": (ColumnType("BINARY", 3), pa.binary()),
    "VARBINARY(9)": (ColumnType("VARBINARY", 9), pa.binary()),
    "BYTES": (ColumnType("VARBINARY", 2147483647), pa.binary()),
    "DECIMAL": (ColumnType("DECIMAL", 10), pa.decimal128(10, 0)),
    "DECIMAL(5)": (ColumnType("DECIMAL", 5), pa.decimal128(5, 0)),
    "DECIMAL(38, 18)": (ColumnType("DECIMAL", 38, 18), pa.decimal128(38, 18)),
    "DECIMAL(10,2) NOT NULL": (ColumnType("DECIMAL", 10, 2, nullable=False), pa.decimal128(10, 2)),
    "NUMERIC(4, 1)": (ColumnType("DECIMAL", 4, 1), pa.decimal128(4, 1)),
    "DEC(4, 1)": (ColumnType("DECIMAL", 4, 1), pa.decimal128(4, 1)),
    "TIMESTAMP": (ColumnType("TIMESTAMP", 6), pa.timestamp("us")),
    "TIMESTAMP(0)": (ColumnType("TIMESTAMP", 0), pa.timestamp("ms")),
    "TIMESTAMP(3)": (ColumnType("TIMESTAMP", 3), pa.timestamp("ms")),
    "TIMESTAMP(4)": (ColumnType("TIMESTAMP", 4), pa.timestamp("us")),
    "TIMESTAMP(6) NOT NULL": (ColumnType("TIMESTAMP", 6, nullable=False), pa.timestamp("us")),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": (ColumnType("TIMESTAMP_LTZ", 3), pa.timestamp("ms", "UTC")),
    "TIMESTAMP WITH LOCAL TIME ZONE NOT NULL": (
        ColumnType("TIMESTAMP_LTZ", 6, nullable=False),
        pa.timestamp("us", "UTC"),
    ),
    "TIMESTAMP_LTZ": (ColumnType("TIMESTAMP_LTZ", 6), pa.timestamp("us", "UTC")),
    "TIMESTAMP_LTZ(2)": (ColumnType("TIMESTAMP_LTZ", 2), pa.timestamp("ms", "UTC")),
}

NESTED = ["ARRAY<INT>", "MAP<STRING, INT NOT NULL> NOT NULL", "ROW<a INT, b STRING>", "VECTOR<FLOAT, 3>"]


class TestText:
    @pytest.mark.parametrize(("text", "expected"), PARSED.items(), ids=PARSED)
    def test_types_are_read_as_schema_files_write_them(
        self, text: str, expected: tuple[ColumnType, pa.DataType]
    ) -> None:
        column, arrow = expected
        assert parse_type(text) == column
        assert arrow_type(column) == arrow

    @pytest.mark.parametrize("text", NESTED)
    def test_nested_types_are_kept_apart_from_every_other(self, text: str) -> None:
        column = parse_type(text)
        assert column.nullable == (not text.endswith("NOT NULL"))
        with pytest.raises(KeyError):
            arrow_type(column)
        assert parse_type(text.replace("INT", "BIGINT")) != column or "INT" not in text

    @pytest.mark.parametrize("text", ["BLOB", "GEOMETRY"])
    def test_a_type_that_is_not_supported_has_no_arrow_type(self, text: str) -> None:
        with pytest.raises(KeyError):
            arrow_type(parse_type(text))

    @pytest.mark.parametrize(
        ("text", "wide"), [("DECIMAL(18, 2)", False), ("DECIMAL(19, 2)", True), ("BIGINT", False)]
    )
    def test_decimals_of_many_digits_are_wide(self, text: str, wide: bool) -> None:
        assert parse_type(text).is_wide_decimal is wide


class TestVector:
    @pytest.mark.parametrize("suffix", ["", " NOT NULL"])
    @pytest.mark.parametrize(
        "element", ["BOOLEAN", "TINYINT", "SMALLINT", "INT NOT NULL", "BIGINT", "FLOAT", "DOUBLE NOT NULL"]
    )
    def test_it_is_read_as_schema_files_write_it(self, element: str, suffix: str) -> None:
        column = parse_type({"type": f"VECTOR{suffix}", "element": element, "length": 3})
        part = parse_type(element)
        assert (column.root, column.precision, column.nullable) == ("VECTOR", 3, not suffix)
        assert [each.type for each in column.fields] == [part]
        assert column.is_nested
        assert arrow_type(column) == pa.list_(pa.field("element", arrow_type(part), part.nullable))

    def test_its_length_is_part_of_it(self) -> None:
        short, long = (parse_type({"type": "VECTOR", "element": "INT", "length": n}) for n in (2, 3))
        assert short != long
