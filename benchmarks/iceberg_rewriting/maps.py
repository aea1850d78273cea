"""Writes and reads the map of a task of very many rows: `python -m iceberg_rewriting.maps [ROWS]`.

Rows are sorted at random, which makes the largest maps, and every fifth is dropped at random: by default,
100 million of 125 million stay. No data file is written. Writing and reading are processes of their own,
whose most memory is printed: that of an executor beside its merge, and that of a driver.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.places import places_of
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.model import DataFile, FileMetrics, NewDataFile, Partition
from lithify.formats.iceberg.rewriting.maps import RowMaps, TaskMap, write_map
from lithify.formats.iceberg.rewriting.new_files import NewFiles
from lithify.formats.iceberg.rewriting.options import parse_write_options
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.table.data_locations import DataLocations
from lithify.formats.iceberg.table.partition_paths import PartitionSpec
from lithify.io.local_storage import local_storage

_INPUTS, _OUTPUTS = 16, 16
_BATCH = 1 << 17
_EVERY = 5
"""Each fifth row is dropped."""
_LATE = 100_000
_NOWHERE = Partition(0)


def main() -> None:
    """Writes and reads a map, and prints a line for each part."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 125_000_000
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name, processes.Pool(1, maxtasksperchild=1) as pool:
        found = pool.apply(_write, (Path(name), rows))
        size = sum(Path(path).stat().st_size for path in found.paths)
        print(f"{found.rows:,} rows: {size / 1e6:.1f} MB of maps")
        pool.apply(_read, (Path(name), found))


def _write(folder: Path, rows: int) -> TaskMap:
    rng = np.random.default_rng(1)
    each = rows // _INPUTS
    inputs = [DataFile(f"in-{number}", 1, each, "parquet", 1, _NOWHERE) for number in range(_INPUTS)]
    deleted = {file.path: bitmap_of(np.flatnonzero(rng.random(each) < 1 / _EVERY)) for file in inputs}
    live = sum(file.rows - len(deleted[file.path]) for file in inputs)
    cuts = np.diff(np.linspace(0, live, _OUTPUTS + 1).astype(int)).tolist()
    outputs = [
        NewDataFile(f"out-{number}", "parquet", 1, count, _NOWHERE, FileMetrics())
        for number, count in enumerate(cuts)
    ]
    places = places_of(live, str(folder), Budget(), folder)
    with _measured("collect places"):
        for numbers in _shuffled(live):
            places.add(numbers)
    storage = local_storage([str(folder)])
    target = WriteTarget(DataLocations(str(folder)), Schema(0, ()), PartitionSpec(0), parse_write_options({}))
    with _measured("write the map"):
        return write_map(
            NewFiles("run", target, storage), storage, str(folder), inputs, deleted, outputs, places
        )


def _read(folder: Path, found: TaskMap) -> None:
    maps = RowMaps([found], local_storage([str(folder)]), folder)
    rng = np.random.default_rng(2)
    for title, count in (("first", _LATE), ("second", _LATE), ("single rows", _INPUTS)):
        with _measured(f"translate {count:,} late deletes, {title}"):
            for file in found.inputs:
                late = rng.choice(file.rows, count // _INPUTS, replace=False)
                maps.translate(file.path, bitmap_of(np.sort(late)))
    with _measured("translate all rows"):
        for file in found.inputs:
            maps.translate(file.path, bitmap_of(np.arange(file.rows)))


@contextmanager
def _measured(title: str) -> Iterator[None]:
    before, started = time.process_time(), time.monotonic()
    yield
    seconds, elapsed = time.process_time() - before, time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{title:44} {seconds:7.2f} cpu s {elapsed:7.2f} s   most memory {peak} MiB", flush=True)


def _shuffled(rows: int) -> Iterator[np.ndarray]:
    """All numbers below `rows` once, as if shuffled, in batches; holds none but those of a batch."""
    bits = rows.bit_length()
    mask, half = np.uint64((1 << bits) - 1), np.uint64(bits // 2)
    for start in range(0, 1 << bits, _BATCH):
        mixed = np.arange(start, min(start + _BATCH, 1 << bits), dtype=np.uint64)
        for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
            mixed = mixed * np.uint64(factor) & mask  # odd factors and shifts change no two numbers alike
            mixed ^= mixed >> half
        numbers = mixed.astype(np.int64)
        yield numbers[numbers < rows]


if __name__ == "__main__":
    main()
