"""Shredded VARIANT columns: read, put together, merged, and shredded anew as Java does it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.files.parquet.physical import leaves_of_rows
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

Document = Callable[[Random], Any]
INFERRED = {"variant.inferShreddingSchema": "true"}
TYPE = "parquet.variant.shreddingSchema"


def row(**fields: Any) -> dict[str, Any]:
    """A ROW type as Paimon's schemas spell it."""
    parts = [{"id": number, "name": name, "type": kind} for number, (name, kind) in enumerate(fields.items())]
    return {"type": "ROW", "fields": parts}


def given(kind: Any, key: str = TYPE) -> dict[str, str]:
    return {key: json.dumps(row(v=kind))}


def events(random: Random) -> Any:
    """What most people have: records that are alike."""
    return {
        "id": random.randint(0, 10**6),
        "user": {
            "name": f"u{random.randint(0, 50)}",
            "age": random.randint(0, 99),
            "vip": random.random() < 0.1,
        },
        "price": random.randint(0, 999) + 0.25,
        "tags": [random.choice("abc") for _ in range(random.randint(1, 3))],
        "items": [{"sku": f"s{random.randint(0, 9)}", "n": random.randint(1, 300)} for _ in range(2)],
        **({"note": "n" * random.randint(0, 100)} if random.random() < 0.2 else {}),
        **({f"rare{random.randint(0, 99)}": None} if random.random() < 0.1 else {}),
    }


def anything(random: Random, depth: int = 0) -> Any:
    """Values of every kind, at every depth."""
    kind = random.randint(0, 8 if depth < 3 else 5)
    if kind == 6:
        return [anything(random, depth + 1) for _ in range(random.randint(0, 3))]
    if kind > 6:
        names = random.sample(["a", "b", "ab", "é", "\ue000", "\U00010000"], random.randint(0, 4))
        return {name: anything(random, depth + 1) for name in names}
    return scalars(random)


def scalars(random: Random) -> Any:
    """Numbers of every width, texts of every length, booleans, nulls."""
    digits = random.randint(1, 18)
    return random.choice(
        [
            None,
            random.random() < 0.5,
            random.randint(-(10**digits), 10**digits),
            random.choice([2**63 - 1, -(2**63), 0, 127, 128, -128, -129, 32767, 32768, 2**31, -(2**31)]),
            random.randint(-(10**6), 10**6) + random.choice([0.5, 0.25, 0.125]),
            random.choice([1e300, -2.5e-7]),
            random.choice(["", "x", "y" * 63, "z" * 64, "é" * 40]),
        ]
    )


def mostly(usual: Document, other: Document, share: float = 0.15) -> Document:
    return lambda random: (other if random.random() < share else usual)(random)


def record(**fields: Document) -> Document:
    """Objects of which each field is missing now and then."""

    def draw(random: Random) -> Any:
        return {name: value(random) for name, value in fields.items() if random.random() < 0.9}

    return draw


def numbers(low: int, high: int, scale: int = 0) -> Document:
    """Whole numbers, or those with so many digits behind the point, the last of them no zero."""
    if not scale:
        return lambda random: random.randint(low, high)
    return lambda random: float(f"{random.randint(low, high)}.{random.randint(0, 9):0{scale - 1}d}5")


def wide(random: Random) -> Any:
    return {f"f{number}": number for number in range(random.randint(290, 310))}


def deep(random: Random) -> Any:
    value: Any = random.randint(0, 9)
    for _ in range(6):
        value = {"d": value, "l": [value]}
    return value


@dataclass(frozen=True, slots=True)
class Case:
    """What the variants of a table are, and how files are written.

    Attributes:
        documents: what each commit writes.
        options: of the table.
        is_shredded: whether files are.
        column: the type of their column.
    """

    documents: Sequence[Document]
    options: Mapping[str, str] = field(default_factory=lambda: INFERRED)
    is_shredded: bool = True
    column: str = "VARIANT"


CASES = {
    "records": Case([events, events]),
    "records and others": Case([mostly(events, record(id=anything, user=anything, x=scalars)), events]),
    "records with bloom filters": Case(
        [events, events], {**INFERRED, "parquet.bloom.filter.enabled": "true"}
    ),
    "records that are never null": Case([events, events], column="VARIANT NOT NULL"),
    "anything": Case([anything, anything], is_shredded=False),
    "scalars": Case([scalars, scalars], is_shredded=False),
    "numbers": Case([numbers(-5, 5), numbers(-(10**17), 10**17)]),
    "longest numbers": Case([numbers(-5, 5), numbers(-(2**63), 2**63 - 1)]),
    "decimals": Case([record(d=numbers(0, 10**4, 2)), record(d=numbers(0, 10**6, 3))]),
    "decimals and numbers": Case([record(d=numbers(0, 9, 2)), record(d=numbers(0, 10**18))]),
    "records that differ": Case([record(a=scalars, b=events), record(b=events, c=numbers(0, 9))]),
    "lists of anything": Case([lambda random: [anything(random) for _ in range(3)]] * 2),
    "more columns than there may be": Case([wide, wide]),
    "few columns": Case([events, events], {**INFERRED, "variant.shredding.maxSchemaWidth": "9"}),
    "few levels": Case([deep, deep], {**INFERRED, "variant.shredding.maxSchemaDepth": "3"}),
    "many levels": Case([deep, deep]),
    "what most have": Case(
        [record(a=numbers(0, 9), b=numbers(0, 9)), record(a=numbers(0, 9), c=numbers(0, 9))],
        {**INFERRED, "variant.shredding.minFieldCardinalityRatio": "0.6"},
    ),
    "first rows only": Case(
        [events, record(id=anything, x=scalars)], {**INFERRED, "variant.shredding.maxInferBufferRow": "5"}
    ),
    "given types": Case(
        [mostly(record(**dict.fromkeys("abcdefghij", scalars), l=anything), anything)] * 2,
        given(
            row(
                a="BOOLEAN",
                b="TINYINT",
                c="SMALLINT",
                d="INT",
                e="BIGINT",
                f="FLOAT",
                g="DOUBLE",
                h="STRING",
                i="DECIMAL(9, 2)",
                j="DECIMAL(38, 10)",
                l={"type": "ARRAY", "element": "VARIANT"},
                missing="INT",
            )
        ),
    ),
    "given lists": Case(
        [lambda random: [record(a=scalars, b=anything)(random) for _ in range(random.randint(0, 4))]] * 2,
        given({"type": "ARRAY", "element": row(a="INT", b="VARIANT")}),
    ),
    "a given scalar": Case([scalars, scalars], given("DECIMAL(18, 3)")),
    "a type for another column": Case([events, events], {TYPE: json.dumps(row(w="INT"))}, is_shredded=False),
    "options of before": Case([events, events], {}, is_shredded=False),
}


def made(oracle: Oracle, warehouse: Path, case: Case, rows: int = 60) -> Table:
    table, random = Table(warehouse, "db.t"), Random(7)
    columns = {"id": "INT NOT NULL", "v": case.column, "s": "STRING"}
    oracle.create_table(table, columns, ["id"], options={"bucket": "1", **case.options})
    for document in case.documents:
        keys = sorted(random.sample(range(2 * rows), rows))
        has_nulls = not case.column.endswith("NOT NULL")
        drawn = [
            [key, None if has_nulls and random.random() < 0.1 else document(random), f"s{key}"]
            for key in keys
        ]
        how = {} if case.options else {"options": INFERRED}
        oracle.write(table, [["+I", *each] for each in drawn], **how)
    return table


def stored(path: str) -> tuple[str, dict[str, pa.ChunkedArray]]:
    """The columns of a file and what is in them; of what stays encoded, where it is."""
    schema = str(pq.read_metadata(path).schema).split("\n", 2)[2]
    leaves = {leaf.path: leaf.values for leaf in leaves_of_rows(pq.read_table(path))}
    encoded = (".value", ".metadata")
    return schema, {
        name: values.is_null() if name.startswith("v.") and name.endswith(encoded) else values
        for name, values in leaves.items()
    }


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_files_are_those_of_java(oracle: Oracle, tmp_path: Path, case: Case) -> None:
    table = made(oracle, tmp_path / "table", case)
    before = oracle.read(table)
    java, ours = copy_of(table, tmp_path / "java"), copy_of(table, tmp_path / "ours")
    oracle.manager_round(java, full=True, commit=True)
    run_inline(ours)
    (theirs,), (mine,) = oracle.files(java), oracle.files(ours)
    assert oracle.read(ours) == oracle.read(java) == before
    assert stored(mine.path) == stored(theirs.path)
    assert ("typed_value" in stored(mine.path)[0]) == case.is_shredded
