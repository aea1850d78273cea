"""Columns whose type was changed after files were written: read and compacted as Java converts them.

One table holds a column for every pair of types between which we convert, with values at the edges of both.
What Java reads of it before a compaction, it must read after it, and find in the file what its own writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from lithify.errors import CorruptTable
from lithify.files.casting import cast_between
from lithify.files.types import ColumnType
from lithify.formats.paimon.schema.type_texts import parse_type
from support.comparing.rounds import metadata
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

ONE_BUCKET = {"bucket": "1"}
_INTEGERS: Mapping[str, int] = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_NUMBERS = [0, 1, -1, 127, 128, 255, 256, -129, 32_767, 65_536, 16_777_217, 2**31 - 1, 2**53 + 1, 2**63 - 1]
_FLOATS = ["NaN", "Infinity", "-Infinity", "-0.0", 0.5, -0.5, 1.5, -300.75, 3e9, -3e9, 1e19, -1e19, 1e30, 0.1]


def integers(bits: int) -> list[int]:
    return [n for each in _NUMBERS for n in (each, -each - 1) if -(1 << bits) <= n < 1 << bits]


def decimals(digits: int, scale: int) -> list[str]:
    """Unscaled values at the edges of rounding and of the digits, with the point where it belongs."""
    top = 10**digits - 1
    unscaled = [
        n
        for each in (0, 4, 5, 49, 50, 15, 149_99, 150_00, 2**31, 2**63, 2**64 + 5, top)
        for n in (each, -each)
    ]
    return [_with_point(n, scale) for n in unscaled if abs(n) <= top]


def _with_point(unscaled: int, scale: int) -> str:
    text = f"{abs(unscaled):0{scale + 1}d}"
    sign = "-" if unscaled < 0 else ""
    return f"{sign}{text[:-scale]}.{text[-scale:]}" if scale else sign + text


_MOMENTS = ["1969-12-31T23:59:59", "1970-01-01T00:00:00", "1969-12-30T00:00:01", "2024-02-29T12:00:00"]
VALUES: Mapping[str, list[Any]] = {
    "BOOLEAN": [True, False],
    **{root: integers(bits) for root, bits in _INTEGERS.items()},
    "FLOAT": [value for value in _FLOATS if value != 0.1],
    "DOUBLE": _FLOATS,
    "DECIMAL(5, 2)": decimals(5, 2),
    "DECIMAL(10, 0)": decimals(10, 0),
    "DECIMAL(18, 6)": decimals(18, 6),
    "DECIMAL(38, 10)": decimals(38, 10),
    "DECIMAL(4, 4)": decimals(4, 4),
    "DECIMAL(38, 38)": decimals(38, 38),
    "STRING": ["", "a", "ä€\U0001f600", "exactly ten", "longer than ten characters"],
    "VARCHAR(8)": ["", "ä€\U0001f600", "12345678"],
    "CHAR(4)": ["abcd", "ä€ü\U0001f600"],
    "BYTES": ["", "AAEC", "AAECAwQFBgcICQ=="],
    "BINARY(3)": ["AAEC"],
    "DATE": ["1969-12-31", "1970-01-01", "0001-01-01", "9999-12-31", "2024-02-29"],
    "TIMESTAMP(0)": _MOMENTS,
    "TIMESTAMP(3)": [*(f"{each}.001" for each in _MOMENTS), *_MOMENTS, "9999-12-31T23:59:59.999"],
    "TIMESTAMP(6)": [*(f"{each}.000001" for each in _MOMENTS), *_MOMENTS, "0001-01-01T00:00:00.999999"],
    "TIMESTAMP(7)": [f"{each}.0000001" for each in _MOMENTS],
    "TIMESTAMP(9)": [*(f"{each}.000000001" for each in _MOMENTS), "9999-12-31T23:59:59.999999999"],
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": [*(f"{each}.001" for each in _MOMENTS), *_MOMENTS],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [f"{each}.000001" for each in _MOMENTS],
}
TARGETS = [
    *VALUES,
    "DECIMAL(9, 4)",
    "VARCHAR(3)",
    "CHAR(6)",
    "VARBINARY(2)",
    "BINARY(6)",
    "STRING",
    "TIMESTAMP(9) WITH LOCAL TIME ZONE",
]


def pairs() -> Iterable[tuple[str, str]]:
    """Every change of type that we make."""
    for old in VALUES:
        for newest in dict.fromkeys(TARGETS):
            before, after = parse_type(old), parse_type(newest)
            if old != newest and cast_between(before, after) is not None:
                yield old, newest


def table_of(oracle: Oracle, warehouse: Path, changes: list[tuple[str, str]]) -> Table:
    """A table with a column for each change; half of the rows were written before the types changed."""
    table = Table(warehouse, "db.t")
    columns = {f"c{number}": old for number, (old, _) in enumerate(changes)}
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", **columns},
        ["id"],
        options={**ONE_BUCKET, "metadata.stats-mode": "full"},
    )
    values = [fitting(VALUES[old], parse_type(newest)) for old, newest in changes]
    rows = list(zip_longest(*values, [None] * (max(map(len, values)) + 1)))
    rows = [row[:-1] for row in rows]
    oracle.write(table, [["+I", 2 * number, *row] for number, row in enumerate(rows)])
    types = [{"update_type": [f"c{number}", newest]} for number, (_, newest) in enumerate(changes)]
    oracle.alter_table(table, *types)
    return table


def fitting(values: list[Any], newest: ColumnType) -> list[Any]:
    """Values that Java can convert: it fails on those with too many digits for a DECIMAL."""
    if newest.root != "DECIMAL":
        return values
    bound = 10 ** (newest.precision - newest.scale)
    exact = Context(prec=80)
    unit = Decimal(1).scaleb(-newest.scale)
    return [v for v in values if abs(Decimal(v).quantize(unit, ROUND_HALF_UP, exact)) < bound]


def test_every_change_that_is_made_is_that_of_java(oracle: Oracle, tmp_path: Path) -> None:
    changes = list(pairs())
    original = table_of(oracle, tmp_path / "original", changes)
    nothing = [None] * len(changes)
    oracle.write(original, [["+I", 1, *nothing], ["-D", 2, *nothing]])
    rows = oracle.read(original)
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.manager_round(java, full=True, commit=True)
    run_inline(ours, full=True)
    after = oracle.read(ours)
    for number, change in enumerate(changes):
        assert [row[number + 2] for row in after] == [row[number + 2] for row in rows], change
    assert after == rows
    assert [metadata(file) for file in oracle.files(ours)] == [metadata(file) for file in oracle.files(java)]


def test_a_text_that_became_a_char_loses_its_padding_in_orc_files(oracle: Oracle, tmp_path: Path) -> None:
    """Java pads where it converts and trims CHARs that it reads from ORC: its own compaction does that."""
    original = Table(tmp_path / "original", "db.t")
    options = {**ONE_BUCKET, "file.format": "orc"}
    oracle.create_table(original, {"id": "INT NOT NULL", "v": "STRING"}, ["id"], options=options)
    for _ in range(2):
        oracle.write(original, [["+I", 1, "ab"]])
    oracle.alter_table(original, {"update_type": ["v", "CHAR(4)"]})
    assert oracle.read(original) == [["+I", 1, "ab  "]]
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.manager_round(java, full=True, commit=True)
    run_inline(ours, full=True)
    assert oracle.read(ours) == oracle.read(java) == [["+I", 1, "ab"]]


def test_a_number_with_too_many_digits_ends_the_run(oracle: Oracle, tmp_path: Path) -> None:
    """Java cannot read such a table either."""
    table = Table(tmp_path / "w", "db.t")
    oracle.create_table(table, {"id": "INT NOT NULL", "n": "INT"}, ["id"], options=ONE_BUCKET)
    oracle.write(table, [["+I", 1, 1000]])
    oracle.alter_table(table, {"update_type": ["n", "DECIMAL(3, 1)"]})
    oracle.write(table, [["+I", 2, "1.0"]])
    with pytest.raises(OracleError, match="Decimal"):
        oracle.read(table)
    before = oracle.files(table)
    with pytest.raises(CorruptTable, match="column n: a value cannot be converted") as caught:
        run_inline(table, full=True)
    assert caught.value.path in {file.path.removeprefix("file:") for file in before}
    assert oracle.files(table) == before
