"""Prints the processor seconds of one task for each kind of files: `python -m iceberg_rewriting [ROWS
[FILES]]`.

Each case runs several times in one process with one thread; the median counts. It is what an executor does,
without planning and commit. The last column is the time with the task's map, without which no delete can be
carried over that lands on the files meanwhile; runs with and without one take turns.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa

from iceberg_rewriting.files import (
    SCHEMA,
    Shape,
    with_equality,
    with_positions,
    with_vectors,
    write_files,
)
from lithify.clock import SystemClock
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.sort_keys import RowKey
from lithify.formats.iceberg.data_files.schema import LINEAGE
from lithify.formats.iceberg.model import DataFile, NewDataFile
from lithify.formats.iceberg.rewriting.options import parse_write_options
from lithify.formats.iceberg.rewriting.ordering import SortOrder
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.data_locations import DataLocations
from lithify.formats.iceberg.table.partition_paths import PartitionSpec
from lithify.formats.iceberg.table.row_orders import OrderField
from lithify.io.local_storage import local_storage

_RUNS = 3
_LARGE = 4
"""Files of the case that is copied."""


def main() -> None:
    """Makes the files, runs all cases and prints a line for each."""
    numbers = [int(each) for each in sys.argv[1:]]
    shape = Shape(*numbers)
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when Polars is first used
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_files(folder / "small", shape)
        large = write_files(folder / "large", Shape(shape.rows, _LARGE))
        print(f"{shape.rows:,} rows in {shape.files} files, {sum(file.size for file in files) / 1e6:.1f} MB")
        _case(folder, "plain", files)
        _case(folder, "positions 20 %", with_positions(folder / "positions", files))
        vectors = with_vectors(folder / "vectors", files)
        _case(folder, "vectors 20 %, lineage", vectors, has_lineage=True)
        _case(folder, "plain, lineage", files, has_lineage=True)
        _case(folder, "equality 20 %", with_equality(folder / "equality", files))
        _case(folder, "copied", large)
        _case(folder, "copied, lineage", large, has_lineage=True)
        _case(folder, "sorted", files, order=SortOrder((OrderField(4),), SCHEMA))


def _case(
    folder: Path,
    title: str,
    files: tuple[DataFile, ...],
    *,
    has_lineage: bool = False,
    order: RowKey | None = None,
) -> None:
    seconds: dict[bool, list[float]] = {False: [], True: []}
    written, copied = tuple[NewDataFile, ...](), 0
    for run in range(2 * _RUNS):
        place, has_map = folder / "new", run % 2 == 1
        target = WriteTarget(
            DataLocations(str(place)),
            SCHEMA,
            PartitionSpec(0),
            parse_write_options({}).with_packed([field.name for field in LINEAGE if has_lineage]),
            has_lineage=has_lineage,
        )
        storage = local_storage([str(folder)])
        task = RewriteTask(
            prefix=f"run{run}",
            files=files,
            target=target,
            storage=storage,
            budget=Budget(),
            order=order,
            maps=str(place) if has_map else None,
        )
        started = time.process_time()
        result = task.run(SystemClock())
        seconds[has_map].append(time.process_time() - started)
        if result.failure is not None:
            raise result.failure.as_error()
        written = result.outputs.data
        copied = result.outputs.copied_bytes
        shutil.rmtree(place)
    rows, size = sum(file.rows for file in written), sum(file.size for file in written) / 1e6
    print(
        f"{title:24} {median(seconds[False]):6.2f} cpu s  {size:7.1f} MB in {len(written)} files"
        f"  {rows:,} rows  {copied / 1e6:.1f} MB copied  {median(seconds[True]):6.2f} cpu s with a map"
    )


if __name__ == "__main__":
    main()
