"""A task takes memory by its budget, however many rows and deletes there are."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lithify.engine.rewrite.budget import Budget
from lithify.formats.iceberg.model import DataFile
from lithify.formats.iceberg.rewriting.ordering import SortOrder
from lithify.formats.iceberg.table.data_locations import DataLocations
from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec
from lithify.formats.iceberg.table.row_orders import OrderField
from support.iceberg_files import Files, schema_of, task_of, with_deletes

MIB = 1 << 20
BUDGET = Budget(24 * MIB)
ROWS, FILES = 1_200_000, 6
WIDTH = 120
"""Bytes of the text of a row: the rows take six times the budget."""
SCHEMA = schema_of(("id", "long"), ("text", "string"))


def _files(files: Files, kind: str) -> list[DataFile]:
    rng = np.random.default_rng(5)
    return [_file(files, part, kind) for part in np.array_split(rng.permutation(ROWS), FILES)]


def _file(files: Files, ids: np.ndarray, kind: str) -> DataFile:
    texts = pa.array([f"{number:0{WIDTH}}" for number in ids])
    rows = pa.table([pa.array(ids), texts], schema=SCHEMA.file_schema())
    return files.data(rows, kind=kind, compression="zstd")


def _equality(files: Files, inputs: list[DataFile]) -> list[DataFile]:
    texts = [f"{number:0{WIDTH}}" for number in range(0, ROWS, 3)]
    rows = {"id": range(0, ROWS, 3), "text": texts}
    delete = files.equality(rows, [1, 2], kind=inputs[0].format)
    return [with_deletes(file, delete) for file in inputs]


def _positions(files: Files, inputs: list[DataFile]) -> list[DataFile]:
    deleted = [(file, at) for file in inputs for at in range(0, file.rows, 3)]
    delete = files.positions(deleted, kind=inputs[0].format)
    return [with_deletes(file, delete) for file in inputs]


CASES: list[tuple[str, Callable[[Files, list[DataFile]], list[DataFile]], dict[str, object], int]] = [
    ("plain", lambda _, inputs: inputs, {}, ROWS),
    ("positions", _positions, {}, ROWS - FILES * len(range(0, ROWS // FILES, 3))),
    ("equality deletes", _equality, {}, ROWS // 3 * 2),
    ("sorted", lambda _, inputs: inputs, {"order": SortOrder((OrderField(1),), SCHEMA)}, ROWS),
    (
        "partitioned",
        lambda _, inputs: inputs,
        {"spec": PartitionSpec(1, (PartitionField(1, "b", "bucket[8]"),))},
        ROWS,
    ),
]


MEASURED = [
    *((*each, "parquet") for each in CASES),
    *((*each, kind) for each in CASES[:3] for kind in ("orc", "avro")),
]


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "deleted", "how", "rows", "kind"), MEASURED, ids=[f"{case[0]} in {case[4]}" for case in MEASURED]
)
def test_memory_stays_within_bounds(
    tmp_path: Path,
    name: str,
    deleted: Callable[[Files, list[DataFile]], list[DataFile]],
    how: dict[str, object],
    rows: int,
    kind: str,
) -> None:
    files = Files(tmp_path, SCHEMA)
    inputs = deleted(files, _files(files, kind))
    how = {**how, "properties": {"write.format.default": kind}, "maps": f"{tmp_path}/metadata"}
    assert sum(WIDTH * file.rows for file in inputs) > 5 * BUDGET.total
    where = DataLocations(f"{tmp_path}/warm")
    few = [_file(files, np.arange(1000), kind)]
    warm = task_of(files, few, budget=BUDGET, locations=where, **how)
    task = task_of(files, inputs, budget=BUDGET, **how)

    grown = _measured(pickle.dumps((warm, task)))

    assert grown["rows"] == rows
    assert grown["grown_by"] <= 3 * BUDGET.total, name


def _measured(tasks: bytes) -> dict[str, int]:
    program = Path(__file__).with_name("measured.py")
    paths = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": paths, "POLARS_MAX_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(  # our own program
        [sys.executable, str(program)], input=tasks, capture_output=True, env=environment, check=True
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found
