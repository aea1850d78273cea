"""Our planning of clustered tables, and our curves, against Paimon's own classes over random input."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from infrastructure.oracle.model import Table
from lithify.columns.orders import SortStrategy
from lithify.engine.rewrite.curves import hilbert
from lithify.engine.rewrite.sort_keys import SortKey
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.clustering.plan import ClusteredUnit, plan_bucket
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions
from lithify.formats.protocol.strategy import Strategy
from support.clustered import COLUMNS, random_files, random_options
from support.merge_trees import MIDNIGHT, names
from support.small_files import bucket_of

if TYPE_CHECKING:
    from infrastructure.oracle.client import Oracle

pytestmark = pytest.mark.oracle

COUNT = 1500
ROWS = 400
CLUSTERED = {"clustering.incremental": "true", "clustering.columns": ",".join(COLUMNS)}


@pytest.fixture(scope="module")
def table(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = Table(tmp_path_factory.mktemp("clustered"), "db.t")
    oracle.create_table(table, dict.fromkeys("ab", "INT"), options=CLUSTERED)
    return table


@pytest.mark.parametrize("strategy", Strategy)
def test_files_picked_for_clustering_are_those_that_java_picks(
    oracle: Oracle, table: Table, strategy: Strategy
) -> None:
    rng = Random(strategy)
    asked = []
    for _ in range(COUNT):
        options = random_options(rng)
        asked.append((options, random_files(rng, options)))
    replies = oracle.cluster_pick(
        table, (java(options, files, full=strategy is Strategy.FULL) for options, files in asked)
    )
    ours = [our_pick(options, files, strategy) for options, files in asked]
    assert ours == replies
    assert None in replies
    assert len({reply["output_level"] for reply in replies if reply}) > 2


def test_what_was_sorted_by_other_columns_is_sorted_again(oracle: Oracle, tmp_path: Path) -> None:
    """The oracle's files have the first schema, which is that of one table and not of the other."""
    rng = Random(7)
    asked = []
    for _ in range(COUNT // 5):
        options = random_options(rng)
        top = options.universal.num_levels - 1
        asked.append((options, [each for each in random_files(rng, options) if each.level == top]))
    asked = [(options, files) for options, files in asked if files]
    for columns, is_sorted in (("a,b", True), ("a", False)):
        table = Table(tmp_path / columns, "db.t")
        options = {**CLUSTERED, "clustering.columns": columns}
        oracle.create_table(table, dict.fromkeys("ab", "INT"), options=options)
        replies = oracle.cluster_pick(table, (java(options, files, full=True) for options, files in asked))
        same = [0] if is_sorted else []
        assert [our_pick(options, files, Strategy.FULL, same) for options, files in asked] == replies
        assert {reply is None for reply in replies} == {is_sorted}


def our_pick(
    options: ClusteringOptions, files: Sequence[DataFile], strategy: Strategy, same: Sequence[int] = (0,)
) -> dict[str, Any] | None:
    planned = plan_bucket(
        bucket_of(files), options, strategy, MIDNIGHT, lambda number: number in same, takes_history=False
    )
    if not isinstance(planned, ClusteredUnit):
        return None
    return {"output_level": planned.output_level, "files": names(planned.inputs)}


def java(options: ClusteringOptions, files: Sequence[DataFile], *, full: bool) -> dict[str, Any]:
    universal = options.universal
    return {
        "columns": list(options.columns),
        "num_levels": universal.num_levels,
        "full": full,
        "options": {
            "max_size_amp": universal.size_amplification_percent,
            "size_ratio": universal.size_ratio,
            "trigger": universal.run_trigger,
        },
        "files": [
            {"name": each.name, "level": each.level, "size": each.size, "rows": each.rows} for each in files
        ],
    }


NUMBERS = {
    "TINYINT": (pa.int8(), lambda rng: rng.randint(-128, 127)),
    "SMALLINT": (pa.int16(), lambda rng: rng.randint(-(2**15), 2**15 - 1)),
    "INT": (pa.int32(), lambda rng: rng.randint(-(2**31), 2**31 - 1)),
    "BIGINT": (pa.int64(), lambda rng: rng.randint(-(2**63), 2**63 - 1)),
    "DATE": (pa.date32(), lambda rng: date.fromordinal(rng.randint(1, 900_000))),
    "TIME(0)": (pa.time32("ms"), lambda rng: time(rng.randrange(24), rng.randrange(60), 7)),
    "TIMESTAMP(3)": (
        pa.timestamp("ms"),
        lambda rng: datetime(rng.randint(1600, 2200), 1, 2, 3, 4, 5, rng.randrange(1000) * 1000),
    ),
    "STRING": (pa.string(), lambda rng: "".join(rng.choices("aé€z", k=rng.randint(0, 9)))),
}


@pytest.mark.parametrize("text_bytes", [8, 3, 11])
def test_positions_on_the_z_order_curve_are_those_of_java(
    oracle: Oracle, tmp_path: Path, text_bytes: int
) -> None:
    """Where Java's coordinates keep the order of values; see `sort_keys`."""
    rng, table = Random(text_bytes), Table(tmp_path, "db.t")
    options = {"zorder.var-length-contribution": str(text_bytes)}
    oracle.create_table(table, {f"c{n}": kind for n, kind in enumerate(NUMBERS)}, options=options)
    columns = [
        [None if rng.random() < 0.1 else value(rng) for _ in range(ROWS)] for _, value in NUMBERS.values()
    ]
    kinds = [kind for kind, _ in NUMBERS.values()]
    rows = pa.record_batch(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)],
        names=[f"c{n}" for n in range(len(kinds))],
    )
    for count in (1, 2, 5, len(kinds)):
        chosen = rng.sample(rows.schema.names, count)
        key = SortKey(tuple(chosen), frozenset(chosen), SortStrategy.ZORDER, text_bytes)
        theirs = oracle.curve_positions(table, as_json(rows), chosen, "zorder")
        assert positions(key, rows, len(theirs[0])) == theirs


@pytest.mark.parametrize("dimensions", [2, 3, 5, 7])
def test_positions_on_the_hilbert_curve_are_those_of_java(
    oracle: Oracle, tmp_path: Path, dimensions: int
) -> None:
    """Of numbers of 63 bits, which is what Java's curve takes; it cuts positions from 8 columns on."""
    rng, table = Random(dimensions), Table(tmp_path, "db.t")
    columns = [f"c{n}" for n in range(dimensions)]
    oracle.create_table(table, dict.fromkeys(columns, "BIGINT"))
    sizes = [rng.choice([1, 5, 20, 63]) for _ in range(ROWS)]
    points = [[rng.randrange(1 << size) for _ in columns] for size in sizes]
    theirs = oracle.curve_positions(table, [["+I", *point] for point in points], columns, "hilbert")
    words = hilbert([np.array(column, dtype=np.uint64) for column in zip(*points, strict=True)], bits=63)
    ours = [int.from_bytes(row.astype(">u8").tobytes(), "big") for row in words]
    assert ours == [int.from_bytes(each, "big") for each in theirs]


def positions(key: SortKey, rows: pa.RecordBatch, size: int) -> list[bytes]:
    words = np.stack([np.asarray(part) for part in key.parts(rows)], axis=1).view(np.uint64)
    octets = (words ^ np.uint64(1 << 63)).astype(">u8")
    return [row.tobytes()[:size] for row in octets]


def as_json(rows: pa.RecordBatch) -> list[list[Any]]:
    def value(each: Any) -> Any:
        return each.isoformat() if isinstance(each, date | time) else each

    return [["+I", *map(value, row.values())] for row in rows.to_pylist()]
