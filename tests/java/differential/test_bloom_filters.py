"""Our bloom filters are those of Java, bit by bit, where the table says how large they are to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.comparing.bloom_filters import Filters, filters_of
from support.comparing.rows import ORC_VALUES, VALUES, create, draw_keys, draw_row, values_of
from support.comparing.shapes import Shape
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

FLAT = {f"c{number}": kind for number, kind in enumerate(VALUES)}
NESTED = {"l": "ARRAY<INT>", "m": "MAP<STRING, BIGINT>", "r": "ROW<x DOUBLE, y ROW<z STRING>>"}
LEAVES = ("l.list.element", "m.key_value.key", "m.key_value.value", "r.x", "r.y.z")
VARIANT = [f"c{[*VALUES].index('VARIANT')}.{part}" for part in ("value", "metadata")]
PARQUET = {
    "parquet.bloom.filter.enabled": "true",
    "parquet.enable.dictionary": "false",  # Java leaves out filters where all pages use the dictionary
}
ORC = {"file.format": "orc", "file.compression": "none", "orc.bloom.filter.columns": "*"}
UNUSED = [
    name
    for name, kind in FLAT.items()
    if kind in ("BOOLEAN", "DECIMAL(38, 10)") or kind.startswith(("TIMESTAMP(7)", "TIMESTAMP(9)"))
]
"""Columns of Parquet files in whose filters readers find nothing; Java writes them all the same."""

UNUSED_IN_ORC = {"0", "3", "5", "6"}
"""All rows, their kinds, the BOOLEAN and the TINYINT, which PyArrow would hash differently."""


def made(oracle: Oracle, warehouse: Path, values: Mapping[str, str], options: Mapping[str, str]) -> Table:
    """A table of two sorted runs."""
    shape = Shape("bloom filters", values=dict(values), options=dict(options))
    table, random = Table(warehouse, "db.t"), Random(4)
    create(oracle, table, shape, {"bucket": "1", **options})
    keys, drawn = draw_keys(random, shape, 300), values_of(oracle, table, shape)
    for _ in range(2):
        oracle.write(table, [draw_row(random, shape, keys, drawn, 0.1) for _ in range(300)])
    return table


def of_both(oracle: Oracle, table: Table, folder: Path) -> tuple[Filters, Filters]:
    """The filters after a full compaction by Java, and after one of ours."""
    java, ours = copy_of(table, folder / "java"), copy_of(table, folder / "ours")
    oracle.manager_round(java, full=True, commit=True)
    run_inline(ours)
    (theirs,), (mine,) = oracle.files(java), oracle.files(ours)
    return filters_of(theirs.path), filters_of(mine.path)


def without(filters: Filters, columns: Collection[str]) -> Filters:
    return [{name: bits for name, bits in one.items() if name not in columns} for one in filters]


@pytest.mark.parametrize("rate", [None, "0.2"])
def test_parquet_filters_are_those_of_java(oracle: Oracle, tmp_path: Path, rate: str | None) -> None:
    columns = ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id", *FLAT, *LEAVES, *VARIANT]
    options = dict(PARQUET)
    for column in columns:
        options[f"parquet.bloom.filter.expected.ndv#{column}"] = "700"
        if rate is not None:
            options[f"parquet.bloom.filter.fpp#{column}"] = rate
    table = made(oracle, tmp_path / "table", {**FLAT, **NESTED}, options)
    (theirs,), (mine,) = of_both(oracle, table, tmp_path)
    assert mine.keys() == {*columns} - {*UNUSED} - {VARIANT[0].split(".")[0]}
    assert [mine] == without([theirs], UNUSED)


def test_orc_filters_are_those_of_java(oracle: Oracle, tmp_path: Path) -> None:
    values = {f"c{number}": kind for number, kind in enumerate(ORC_VALUES)}
    table = made(oracle, tmp_path / "table", {**values, **NESTED}, ORC)
    (theirs,), (mine,) = of_both(oracle, table, tmp_path)
    assert theirs.keys() - mine.keys() == UNUSED_IN_ORC
    assert [mine] == without([theirs], UNUSED_IN_ORC)


def test_only_the_columns_that_are_named_have_filters(oracle: Oracle, tmp_path: Path) -> None:
    options = {
        "parquet.bloom.filter.enabled#c4": "true",
        "parquet.bloom.filter.expected.ndv#c10": "10",
        "parquet.enable.dictionary": "false",
    }
    table = made(oracle, tmp_path / "table", FLAT, options)
    (theirs,), (mine,) = of_both(oracle, table, tmp_path)
    assert mine.keys() == theirs.keys() == {"c4", "c10"}
    assert len(mine["c4"]) < len(theirs["c4"]), "it is as large as its values need, and no megabyte"
