"""Tables of the merge engine aggregation: ours against Java's real compaction manager, on copies."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from lithify.errors import UnsupportedTable
from support.comparing.rounds import check_rounds
from support.comparing.rows import VALUES
from support.comparing.shapes import Shape
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

NUMBERS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"]
DECIMALS = ["DECIMAL(9, 2)", "DECIMAL(18, 0)", "DECIMAL(38, 10)"]
ORDERED = [kind for kind in VALUES if kind not in ("BOOLEAN", "VARIANT")]
COMPARED = [f"ARRAY<{kind}>" for kind in VALUES if kind not in ("BYTES", "BINARY(3)", "VARIANT")]
ARRAYS = [
    *COMPARED,
    "ARRAY<BYTES>",
    "ARRAY<ARRAY<INT>>",
    "ARRAY<MAP<STRING, INT>>",
    "ARRAY<ROW<a INT, b DATE>>",
]
MAPS = [
    "MAP<TINYINT, INT>",
    "MAP<STRING, ROW<a INT, b STRING>>",
    "MAP<INT NOT NULL, ARRAY<STRING>>",
    "MAP<BOOLEAN, BIGINT>",
    "MAP<DECIMAL(38, 10), DATE>",
    "MAP<TIMESTAMP(9), DOUBLE>",
]


MANY = [
    ("first_value", "STRING"),
    ("first_non_null_value", "STRING"),
    ("sum", "INT"),
    ("max", "DOUBLE"),
    ("last_value", "BIGINT"),
    ("last_non_null_value", "BIGINT"),
    ("listagg", "STRING"),
    ("product", "SMALLINT"),
    ("bool_and", "BOOLEAN"),
    ("merge_map", "MAP<TINYINT, INT>"),
    ("collect", "ARRAY<TINYINT>"),
    ("collect", "ARRAY<STRING>"),
]
"""Functions of several kinds, some of which cannot retract."""


def aggregating(
    name: str, *functions: tuple[str, str], deletes: float = 0.0, keys: int = 40, **options: str
) -> Shape:
    """A table whose columns have these functions, each with the column's type."""
    columns = {f"c{number}": pair for number, pair in enumerate(functions)}
    return Shape(
        name,
        values={column: kind for column, (_, kind) in columns.items()},
        options={
            "merge-engine": "aggregation",
            **{f"fields.{column}.aggregate-function": each for column, (each, _) in columns.items() if each},
            **{key.replace("__", ".").replace("_", "-"): value for key, value in options.items()},
        },
        key_values=keys,
        rows=60,
        deletes=deletes,
    )


def each(function: str, kinds: list[str]) -> list[tuple[str, str]]:
    return [(function, kind) for kind in kinds]


SHAPES = [
    aggregating("sum of numbers", *each("sum", NUMBERS)),
    aggregating("sum of numbers, retracted", *each("sum", NUMBERS), deletes=0.4),
    aggregating("sum of decimals, retracted", *each("sum", ["DECIMAL(38, 10)"]), deletes=0.4),
    aggregating("product of numbers", *each("product", NUMBERS)),
    aggregating("product of decimals", *each("product", DECIMALS)),
    aggregating("product of floats, retracted", *each("product", ["FLOAT", "DOUBLE"]), deletes=0.4),
    aggregating("max", *each("max", ORDERED)),
    aggregating("min", *each("min", ORDERED)),
    aggregating("last_value", *each("last_value", list(VALUES)), deletes=0.3),
    aggregating("last_non_null_value", *each("last_non_null_value", list(VALUES)), deletes=0.3),
    aggregating("first_value", *each("first_value", list(VALUES))),
    aggregating("booleans", ("bool_and", "BOOLEAN"), ("bool_or", "BOOLEAN")),
    aggregating(
        "listagg",
        *each("listagg", ["STRING"] * 3),
        fields__c1__list_agg_delimiter="; ",
        fields__c2__list_agg_delimiter="",
    ),
    aggregating("collect", *each("collect", ARRAYS)),
    aggregating("collect, retracted", *each("collect", COMPARED), deletes=0.4),
    aggregating(
        "collect distinct",
        *each("collect", COMPARED),
        **{f"fields__c{number}__distinct": "true" for number in range(len(COMPARED))},
    ),
    aggregating(
        "collect distinct, retracted",
        *each("collect", COMPARED),
        deletes=0.4,
        **{f"fields__c{number}__distinct": "true" for number in range(len(COMPARED))},
    ),
    aggregating("merge_map", *each("merge_map", MAPS)),
    aggregating("merge_map, retracted", *each("merge_map", MAPS), deletes=0.4),
    aggregating(
        "deletes that remove the record",
        *MANY,
        deletes=0.3,
        aggregation__remove_record_on_delete="true",
        fields__c10__distinct="true",
    ),
    aggregating(
        "retractions that are ignored",
        *MANY,
        deletes=0.4,
        fields__c10__distinct="true",
        **{f"fields__c{number}__ignore_retract": "true" for number in range(len(MANY))},
    ),
    aggregating(
        "a sequence field, and a function for all others",
        ("", "BIGINT"),
        ("", "TINYINT"),
        ("", "DOUBLE"),
        deletes=0.3,
        sequence__field="c1",
        fields__default_aggregate_function="sum",
    ),
    aggregating(
        "sequence fields, descending",
        ("first_value", "STRING"),
        ("", "BOOLEAN"),
        ("", "DECIMAL(9, 2)"),
        sequence__field="c1,c2",
        sequence__field__sort_order="descending",
    ),
    aggregating("no function is named", ("", "STRING"), ("", "INT"), deletes=0.3),
    aggregating("sums of wide decimals, some of which have too many digits", ("sum", DECIMALS[2]), keys=8),
    aggregating("sums in Avro", *each("sum", [*NUMBERS, DECIMALS[2]]), file__format="avro"),
    aggregating("sums in ORC", *each("sum", [*NUMBERS, DECIMALS[2]]), file__format="orc"),
    aggregating("first_non_null_value", *each("first_non_null_value", list(VALUES))),
]


ROWS = "ARRAY<ROW<k STRING, n INT, d DATE>>"
SOME_ROWS = [
    None,
    [],
    [None],
    [["a", 1, "2026-01-01"], None, ["b", 2, None]],
    [["a", 2, None], ["a", 1, "2026-01-02"]],
    [[None, None, "2026-01-03"], ["b", None, "2026-01-04"], ["longer than eight", 1, None]],
    [[f"k{n}", n % 3, None] for n in range(15)],
    [["a", 1, "2026-01-01"], ["k7", 1, None]],
]
TIMED = "MAP<STRING, ROW<v INT, t STRING, x STRING>>"
CHOSEN: dict[str, tuple[str, dict[str, str], list[Any]]] = {
    "listagg distinct": (
        "STRING",
        {"function": "listagg", "distinct": "true"},
        [None, "", "a", "b", "a,b", "b,c,b", ",a,,d", "ä,€", "a,"],
    ),
    "listagg distinct, long delimiter": (
        "STRING",
        {"function": "listagg", "distinct": "true", "list-agg-delimiter": ", "},
        [None, "", "a", "b", "a, b", "a,", ", ", "b,, a"],
    ),
    "collect distinct texts": (
        "ARRAY<STRING>",
        {"function": "collect", "distinct": "true"},
        [
            None,
            [],
            [None],
            [f"text number {n}" for n in range(30)],
            ["a", "b", "a"],
            [f"n{n}" for n in range(9)],
        ],
    ),
    "collect distinct numbers": (
        "ARRAY<BIGINT>",
        {"function": "collect", "distinct": "true"},
        [
            None,
            [],
            [None, 1, None],
            list(range(0, 900, 23)),
            [1, 17, 33, 1],
            [-1, -(2**63), 2**40, 2**40 + 1],
        ],
    ),
    "merge_map_with_keytime": (
        TIMED,
        {"function": "merge_map_with_keytime"},
        [
            None,
            [],
            [["a", [1, "x", "2"]], ["b", [2, "x", "3"]]],
            [["a", [3, "x", "10"]], ["c", None]],
            [["a", None], ["b", [4, "x", None]]],
            [["b", [5, "x", "3"]], ["c", [6, "x", "\U0001f600"]]],
            [["c", [7, "x", "\uffff"]]],
        ],
    ),
    "merge_map_with_keytime, by another field": (
        TIMED,
        {"function": "merge_map_with_keytime", "ts-field": "t"},
        [
            [["a", [1, "2", None]]],
            [["a", [2, None, None]]],
            [["a", [3, "3", "x"]]],
            None,
            [["a", [4, "3", "y"]]],
        ],
    ),
    "nested_update": (ROWS, {"function": "nested_update"}, SOME_ROWS),
    "nested_update, retracted": (ROWS, {"function": "nested_update"}, SOME_ROWS),
    "nested_update, limited": (ROWS, {"function": "nested_update", "count-limit": "5"}, SOME_ROWS),
    "nested_update with a key": (ROWS, {"function": "nested_update", "nested-key": "k"}, SOME_ROWS),
    "nested_update with keys, limited": (
        ROWS,
        {"function": "nested_update", "nested-key": "k, n", "count-limit": "5"},
        SOME_ROWS,
    ),
    "nested_update with keys, retracted": (
        ROWS,
        {"function": "nested_update", "nested-key": "k,n"},
        SOME_ROWS,
    ),
    # To Java's hash codes a null of these types is not as short as one of others.
    "nested_update, keys with wide nulls": (
        "ARRAY<ROW<d DECIMAL(20, 2), t TIMESTAMP(6)>>",
        {"function": "nested_update", "nested-key": "d,t"},
        [[[f"{n}.25", None], [None, f"2026-11-{n + 10}T10:00:00"], [None, None]] for n in range(9)],
    ),
    "nested_partial_update": (ROWS, {"function": "nested_partial_update", "nested-key": "k"}, SOME_ROWS),
    "collect, retracted": (
        "ARRAY<INT>",
        {"function": "collect"},
        [None, [], [1, 1, 2], [1], [2, None], [None]],
    ),
    "collect distinct, retracted": (
        "ARRAY<STRING>",
        {"function": "collect", "distinct": "true"},
        [None, [], ["a", "b", "a"], ["a"], [f"n{n}" for n in range(14)], ["n1", "n2", None]],
    ),
    "merge_map, retracted": (
        "MAP<STRING, INT>",
        {"function": "merge_map"},
        [None, [], [["a", 1], ["b", None]], [["a", 2]], [["c", 3], ["b", 4]]],
    ),
    "sum of decimals, retracted": ("DECIMAL(9, 2)", {"function": "sum"}, [None, "1.25", "-3.99", "99999.99"]),
    "product of integers, retracted": (
        "INT",
        {"function": "product"},
        [None, 3, -7, 2**31 - 1, -(2**31), -1],
    ),
    "product of bytes, retracted": ("TINYINT", {"function": "product"}, [None, 3, -7, 127, -128, -1]),
    "product of longs, retracted": (
        "BIGINT",
        {"function": "product"},
        [None, 3, -7, 2**63 - 1, -(2**63), -1],
    ),
    "product of decimals, retracted": (
        "DECIMAL(9, 2)",
        {"function": "product"},
        [None, "1.25", "-4.00", "0.05", "100000.00", "-0.50"],
    ),
    "product of wide decimals, retracted": (
        "DECIMAL(38, 10)",
        {"function": "product"},
        [None, "1.25", "-4", "0.0000000005", "10000000000000000000000", "-0.5"],
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CHOSEN)
def test_functions_on_chosen_values_do_what_java_does(oracle: Oracle, name: str, tmp_path: Path) -> None:
    kind, said, pool = CHOSEN[name]
    options = {
        f"fields.v.{key.replace('function', 'aggregate-function')}": text for key, text in said.items()
    }
    table, random = Table(tmp_path / "original", "db.t"), Random(name)
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", "v": kind},
        primary_key=["id"],
        options={"bucket": "1", "merge-engine": "aggregation", **options},
    )
    for _ in range(6):
        kinds = ["+I", "+I", "+U", "-U", "-D"] if name.endswith("retracted") else ["+I"]
        oracle.write(table, [[random.choice(kinds), key, random.choice(pool)] for key in range(50)])
    check_rounds(oracle, table, tmp_path)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_rounds_are_those_that_java_makes(oracle: Oracle, shape: Shape, tmp_path: Path) -> None:
    check_rounds(oracle, shape.make(oracle, tmp_path / "original"), tmp_path)


FAILING: dict[str, tuple[str, dict[str, str], list[Any]]] = {
    "a value that cannot be retracted": ("INT", {"function": "max"}, [["+I", 1, 5], ["-D", 1, 5]]),
    "a null where none may be": ("INT NOT NULL", {"function": "last_value"}, [["+I", 1, 5], ["-U", 1, 5]]),
    "a quotient without an end": (
        "DECIMAL(9, 2)",
        {"function": "product"},
        [["+I", 1, "1.00"], ["-D", 1, "3.00"]],
    ),
    "a division by zero": ("INT", {"function": "product"}, [["+I", 1, 1], ["-D", 1, 0]]),
    "a row of an array": (
        "ARRAY<ROW<a INT>>",
        {"function": "collect"},
        [["+I", 1, [[1]]], ["-D", 1, [[1]]]],
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FAILING)
def test_what_java_fails_on_blocks_the_bucket(oracle: Oracle, name: str, tmp_path: Path) -> None:
    kind, said, records = FAILING[name]
    table = Table(tmp_path / "original", "db.t")
    options = {
        f"fields.v.{key.replace('function', 'aggregate-function')}": text for key, text in said.items()
    }
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", "v": kind},
        primary_key=["id"],
        options={"bucket": "1", "merge-engine": "aggregation", **options},
    )
    for record in records:
        oracle.write(table, [record])
    with pytest.raises(OracleError):
        oracle.compact(copy_of(table, tmp_path / "java"), full=True)
    files = oracle.files(table)
    with pytest.raises(UnsupportedTable) as raised:
        run_inline(table)
    assert raised.value.table.endswith("column v")
    assert oracle.files(table) == files


def test_partition_columns_outside_the_key_are_refused(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", "p": "INT", "v": "INT"},
        primary_key=["id"],
        partition_keys=["p"],
        options={"bucket": "-1", "merge-engine": "aggregation"},
    )
    with pytest.raises(UnsupportedTable) as raised:
        run_inline(table)
    assert "merge-engine" in raised.value.reasons[0]


@pytest.mark.parametrize(("file_format", "of_java"), [("parquet", "199.98"), ("avro", None), ("orc", None)])
def test_a_sum_with_too_many_digits_blocks_the_bucket(
    oracle: Oracle, file_format: str, of_java: str | None, tmp_path: Path
) -> None:
    """What Java writes depends on the format, and is no value of the type."""
    table = Table(tmp_path / "original", "db.t")
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", "v": "DECIMAL(4, 2)"},
        primary_key=["id"],
        options={
            "bucket": "1",
            "file.format": file_format,
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
        },
    )
    for _ in range(2):
        oracle.write(table, [["+I", 1, "99.99"]])
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, full=True)
    assert oracle.read(java) == [["+I", 1, of_java]]
    with pytest.raises(UnsupportedTable) as raised:
        run_inline(table)
    assert raised.value.table.endswith("column v")
