"""Aggregated bitmaps and sketches are those that Java writes, byte for byte."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.oracle.model import Row
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.primary_key.merge_functions.aggregates.unions import UNIONS
from support.comparing.rounds import check_rounds
from support.comparing.sketches import SKETCHES, draw_sketches, union_by_java
from support.comparing.updates import assert_compacted_as_by_java
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

PAIRS_OF_RUNS = [
    {"ranges": [[0, 10]], "values": []},
    {"ranges": [], "values": [20, 22, 24, 26, 28, 30, 32, 34, 36]},
]
"""18 values and 9 runs after the union: Java keeps runs, CRoaring makes an array."""
LOWER_RESOLUTION = [
    {"lg_k": 12, "ranges": [[6830, 7330]]},
    {"lg_k": 10, "ranges": [[0, 2]]},
]
"""A sketch with registers meets a small one of a lower resolution, and is not out of order."""
OUT_OF_ORDER = [{"ranges": [[0, 500]]}, {"ranges": [[10_000, 13_000]]}, {"ranges": [[0, 7]]}]
"""The union of two sketches with registers is out of order; a small one is added to it."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", SKETCHES)
@pytest.mark.parametrize("seed", range(3))
def test_unions_have_the_bytes_of_java(oracle: Oracle, function: str, seed: int) -> None:
    random = Random(f"{function} {seed}")
    for _ in range(60):
        values = draw_sketches(oracle, function, random, random.choice([2, 2, 3, 5]))
        late = [number for number in range(1, len(values)) if random.random() < 0.2]
        union = b64decode(values[0])
        for number, value in enumerate(map(b64decode, values[1:]), 1):
            pair = (value, union) if number in late else (union, value)
            union = UNIONS[function](*pair)
        assert union == union_by_java(oracle, function, values, late)


@pytest.mark.parametrize(
    ("function", "written"),
    [
        ("rbm32", PAIRS_OF_RUNS),
        ("rbm64", PAIRS_OF_RUNS),
        ("hll_sketch", LOWER_RESOLUTION),
        ("hll_sketch", OUT_OF_ORDER),
    ],
    ids=["as many runs as pairs", "as many runs as pairs, 64 bits", "lower resolution", "out of order"],
)
def test_where_the_libraries_differ(oracle: Oracle, function: str, written: list[dict[str, object]]) -> None:
    values = oracle.call("sketches", sketches=[{"function": function, **each} for each in written])
    union = b64decode(values[0])
    for value in values[1:]:
        union = UNIONS[function](union, b64decode(value))
    assert union == union_by_java(oracle, function, values)


def sketches_table(oracle: Oracle, warehouse: Path, options: dict[str, str], file_format: str) -> Table:
    """An empty table with a column for each function, a sequence field of their own and one bucket."""
    table = Table(warehouse, "db.t")
    functions = {f"fields.{name}.aggregate-function": name for name in SKETCHES}
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", "g": "INT", **dict.fromkeys(SKETCHES, "BYTES")},
        ["id"],
        options={"bucket": "1", "file.format": file_format, "write-only": "true", **functions, **options},
    )
    return table


def write_sketches(oracle: Oracle, table: Table, random: Random, kinds: list[str], commits: int = 6) -> None:
    """Writes two thirds of 30 keys in every commit, with nulls and values that other keys have, too."""
    pools = {name: [None, None, *draw_sketches(oracle, name, random, 12)] for name in SKETCHES}
    for commit in range(commits):
        rows: list[Row] = [
            [random.choice(kinds), key, random.randrange(9), *map(random.choice, pools.values())]
            for key in random.sample(range(30), 20)
        ]
        oracle.write(table, rows)
        if commit == 3:
            tuned = {"num-sorted-run.compaction-trigger": "3", "write-only": "false"}
            oracle.compact(table, full=False, options=tuned)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_tables_are_compacted_as_by_java(oracle: Oracle, file_format: str, tmp_path: Path) -> None:
    original = sketches_table(oracle, tmp_path / "original", {"merge-engine": "aggregation"}, file_format)
    write_sketches(oracle, original, Random(file_format), ["+I", "+U"])
    ours = check_rounds(oracle, original, tmp_path)
    # What we wrote is what Java adds to.
    write_sketches(oracle, ours, Random(1), ["+I"], commits=1)
    oracle.compact(ours, full=True, options={"write-only": "false"})
    assert oracle.files(ours)


GROUP = {"merge-engine": "partial-update", "fields.g.sequence-group": ",".join(SKETCHES)}
IGNORING = {f"fields.{name}.ignore-retract": "true" for name in SKETCHES}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (GROUP, ["+I"]),
        ({**GROUP, **IGNORING}, ["+I", "+U", "-D", "-U"]),
        (
            {**GROUP, **IGNORING, "partial-update.remove-record-on-sequence-group": "g"},
            ["+I", "+U", "-D", "-D"],
        ),
    ],
    ids=["late values", "retractions are ignored", "deletes remove"],
)
def test_sketches_in_sequence_groups_equal_javas(
    oracle: Oracle, options: dict[str, str], kinds: list[str], tmp_path: Path
) -> None:
    original = sketches_table(oracle, tmp_path / "original", options, "parquet")
    write_sketches(oracle, original, Random(len(kinds)), kinds, commits=8)
    for full in (False, True):
        assert_compacted_as_by_java(oracle, original, tmp_path, full=full)


def one_column(oracle: Oracle, warehouse: Path, function: str, kind: str = "BYTES") -> Table:
    """An aggregating table with one value column."""
    table = Table(warehouse, "db.t")
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", "v": kind},
        ["id"],
        options={"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": function},
    )
    return table


def assert_both_fail(oracle: Oracle, table: Table, folder: Path) -> None:
    """Java fails to compact a copy, and we refuse the bucket and leave it alone."""
    with pytest.raises(OracleError):
        oracle.compact(copy_of(table, folder / "java"), full=True)
    files = oracle.files(table)
    with pytest.raises(UnsupportedTable) as raised:
        run_inline(table)
    assert raised.value.table.endswith("column v")
    assert oracle.files(table) == files


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", SKETCHES)
def test_what_is_none_blocks_the_bucket(oracle: Oracle, function: str, tmp_path: Path) -> None:
    table = one_column(oracle, tmp_path / "original", function)
    good = draw_sketches(oracle, function, Random(3), 1)[0]
    oracle.write(table, [["+I", 1, good], ["+I", 2, good]])
    oracle.write(table, [["+I", 2, b64encode(b"this is not what it should be").decode()]])
    assert_both_fail(oracle, table, tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", SKETCHES)
def test_values_that_stand_alone_are_not_read(oracle: Oracle, function: str, tmp_path: Path) -> None:
    table, nonsense = one_column(oracle, tmp_path, function), b64encode(b"nonsense").decode()
    oracle.write(table, [["+I", 1, nonsense], ["+I", 2, None]])
    oracle.write(table, [["+I", 1, None], ["+I", 2, nonsense]])
    run_inline(table, full=True)
    assert oracle.read(table) == [["+I", 1, nonsense], ["+I", 2, nonsense]]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", SKETCHES)
def test_retractions_block_the_bucket(oracle: Oracle, function: str, tmp_path: Path) -> None:
    table = one_column(oracle, tmp_path / "original", function)
    value = draw_sketches(oracle, function, Random(4), 1)[0]
    oracle.write(table, [["+I", 1, value]])
    oracle.write(table, [["-D", 1, value]])
    assert_both_fail(oracle, table, tmp_path)


def test_sketches_of_another_seed_block_the_bucket(oracle: Oracle, tmp_path: Path) -> None:
    table = one_column(oracle, tmp_path / "original", "theta_sketch")
    sketch = {"function": "theta_sketch", "ranges": [[0, 9]]}
    for value in oracle.call("sketches", sketches=[sketch, {**sketch, "seed": 7}]):
        oracle.write(table, [["+I", 1, value]])
    assert_both_fail(oracle, table, tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", SKETCHES)
def test_other_types_are_refused_by_both(oracle: Oracle, function: str, tmp_path: Path) -> None:
    table = one_column(oracle, tmp_path, function, "BINARY(3)")
    with pytest.raises(OracleError):
        oracle.write(table, [["+I", 1, "AAEC"]])
    with pytest.raises(UnsupportedTable) as raised:
        run_inline(table)
    assert any("fields.v.aggregate-function" in reason for reason in raised.value.reasons)
