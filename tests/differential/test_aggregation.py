"""Tables of the merge engine aggregation: ours against Java's real compaction manager, on copies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from support.comparing.rounds import Round, assert_rounds_agree
from support.comparing.rows import VALUES
from support.comparing.shapes import Shape
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

NUMBERS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"]
DECIMALS = ["DECIMAL(9, 2)", "DECIMAL(18, 0)", "DECIMAL(38, 10)"]
ORDERED = [kind for kind in VALUES if kind not in ("BOOLEAN", "VARIANT")]


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
            **{f"fields.{column}.aggregate-function": each for column, (each, _) in columns.items()},
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
    aggregating("first_non_null_value", *each("first_non_null_value", list(VALUES))),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_rounds_are_those_that_java_makes(oracle: Oracle, shape: Shape, tmp_path: Path) -> None:
    original = shape.make(oracle, tmp_path / "original")
    rows, before = oracle.read(original), oracle.files(original)
    for full in (False, True):
        java = copy_of(original, tmp_path / f"java, full={full}")
        oracle.manager_round(java, full=full, commit=True)
        ours = copy_of(original, tmp_path / f"ours, full={full}")
        run_inline(ours, full=full)

        assert oracle.read(ours) == rows
        of_ours, of_java = (Round(table, before, oracle.files(table)) for table in (ours, java))
        assert_rounds_agree(oracle, of_ours, of_java)
        assert stray_files(oracle, ours) == set()
