"""Arctic 0.4.1's reader and writer and our runs merge the same keyed table in turns, on one core.

The table has base files in four nodes, and a change store with inserts, updates and deletes. Ours is a whole
run, from planning to the commit; Arctic's is what its executor does with each node, and the commit. Arctic
has done the same work before. The processor time is that of the whole process, Java's compiler and collector
included. Figures are printed only after Arctic has read the same rows from both results as before.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from against_java.page import ON_ONE_CORE, markdown
from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from lithify.clock import SystemClock
from lithify.columns.column_groups import Numbers
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy

ROWS = 1_000_000
ARCTIC = "Arctic 0.4.1"
CODECS = {"zstd": "the default of ours", "gzip": "as Arctic's are"}
"""Codecs of our files. Arctic's writers read no properties: theirs have the default of Iceberg 0.13, gzip."""
_COLUMNS = {
    "id": "long",
    "ts": "timestamp",
    "qty": "int",
    "price": "decimal(10, 2)",
    "amount": "double",
    "cat": "string",
    "name": "string",
    "flag": "boolean",
}
_NODES = 4
_APPENDS = 4
"""To base: each leaves a file in every node."""
_COMMITS = 8
"""To the change store, likewise of each kind."""
_PROPERTIES = {
    "base.file-index.hash-bucket": str(_NODES),
    "change.file-index.hash-bucket": str(_NODES),
    PRIMARY_KEY: "id",
}
_INSERTED, _UPDATED, _DELETED = 10, 10, 20
"""Number of base rows for each such row, over all commits."""
_MIB = 1 << 20
_CENT = pa.scalar(Decimal("0.01"))
_CLOCK = SystemClock(UTC)


@dataclass(slots=True)
class Taken:
    """What one side took, a figure a round: processor seconds, and seconds by the clock."""

    core_seconds: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes: int = 0

    @property
    def least(self) -> float:
        return min(self.core_seconds)

    @property
    def spread(self) -> str:
        return f"{self.least:.2f} s (to {max(self.core_seconds):.2f})"


def compare(rows: int | None, repeats: int) -> str:
    """The figures, in Markdown."""
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        Arctic.start(heap="4g", jvm_args=ON_ONE_CORE) as arctic,
    ):
        race = _Race(arctic, Path(folder), rows or ROWS)
        lines = [*race.lines(repeats)]
    head = ("", ARCTIC, "Lithify", "ratio", "by the clock", "output", "peak memory")
    told = f"{rows or ROWS:,} rows, best of {repeats}, {datetime.now(UTC).date()}, {os.cpu_count()} cores."
    return f"{told} {race.told}\n\n{markdown([head, *lines])}"


class _Race:
    """Both sides on one table, which is put back after each round."""

    def __init__(self, arctic: Arctic, folder: Path, rows: int) -> None:
        print(f"writing {rows:,} rows", file=sys.stderr)
        self._arctic = arctic
        self._folder = folder
        self._table = _make(arctic, folder, rows)
        self._files = {
            path: path.read_bytes() if "version-hint" in path.name else None for path in self._all_files()
        }
        self._rows = self._digest()
        files = arctic.files(self._table)
        changes = sum(each.records for each in files.change)
        self.told = f"{len(files.base)} base files, {len(files.change)} change files with {changes:,} rows."

    def lines(self, repeats: int) -> Iterator[tuple[str, ...]]:
        """The figures with each codec, after one round to warm up."""
        arctic, ours = Taken(), {codec: Taken() for codec in CODECS}
        for number in range(1 + repeats):
            self._by_arctic(arctic)
            reports = {codec: self._by_us(codec, taken) for codec, taken in ours.items()}
            told = [f"{each.core_seconds[-1]:.2f} s" for each in (arctic, *ours.values())]
            print(f"round {number + 1}: {' and '.join(told)} of processor time", file=sys.stderr)
        for side in (arctic, *ours.values()):
            del side.core_seconds[:1], side.seconds[:1]
        for codec, taken in ours.items():
            yield (
                f"files of {codec}, {CODECS[codec]}",
                arctic.spread,
                taken.spread,
                f"**{arctic.least / taken.least:.1f}**",
                f"{min(arctic.seconds) / min(taken.seconds):.1f}",
                f"{taken.bytes / arctic.bytes:.3f}",
                f"{reports[codec].peak_task_bytes / _MIB:,.0f} MiB",
            )

    def _by_arctic(self, taken: Taken) -> None:
        timed = self._arctic.timed("rewrite", **self._table.args())
        self._note(taken, timed.cpu_nanos / 1e9, timed.nanos / 1e9)

    def _by_us(self, codec: str, taken: Taken) -> Report:
        address = TableAddress(
            str(self._folder),
            "db.t",
            overrides={"write.parquet.compression-codec": codec},
            format="mixed-iceberg",
        )
        begin, seconds = perf_counter(), _own_seconds()
        report = compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), _CLOCK)
        seconds = _own_seconds() - seconds
        assert report.status == "Compacted"
        self._note(taken, seconds, perf_counter() - begin)
        return report

    def _note(self, taken: Taken, core_seconds: float, seconds: float) -> None:
        """Notes what a side took, and puts the table back."""
        taken.core_seconds.append(core_seconds)
        taken.seconds.append(seconds)
        if not taken.bytes:
            taken.bytes = sum(file.size for file in self._arctic.files(self._table).base)
            assert not self._unmerged()
            assert self._digest() == self._rows, "the rows have changed"
        for path in self._all_files():
            if path not in self._files:
                path.unlink()
        for path, content in self._files.items():
            if content is not None:
                path.write_bytes(content)

    def _unmerged(self) -> bool:
        """Whether base lacks changes."""
        line = self._arctic.line(self._table)
        return any((file.sequence or 0) > line.get("", -1) for file in self._arctic.files(self._table).change)

    def _digest(self) -> tuple[int, int]:
        """Of all rows, as Arctic reads them."""
        read = self._folder / "read.parquet"
        count = self._arctic.read_into(self._table, read)
        rows = pl.read_parquet(read)
        read.unlink()
        return count, int(rows.hash_rows().sum())

    def _all_files(self) -> list[Path]:
        return [path for path in self._table.location.rglob("*") if path.is_file()]


def _make(arctic: Arctic, folder: Path, rows: int) -> KeyedTable:
    """The table; keys of updates and deletes are spread over all of base."""
    table = arctic.create(KeyedTable(folder / "db" / "t", _COLUMNS, ["id"]), _PROPERTIES)
    source = folder / "rows.parquet"
    for number in range(_APPENDS):
        first, last = (rows * each // _APPENDS for each in (number, number + 1))
        pq.write_table(_rows(np.arange(first, last), seed=1), source)
        arctic.write_base(table, transaction_id=arctic.begin_transaction(table), parquet=source)
    drawn = np.random.default_rng(2).permutation(rows)
    updated, deleted = drawn[: rows // _UPDATED], drawn[rows // _UPDATED :][: rows // _DELETED]
    inserted = np.arange(rows, rows + rows // _INSERTED)
    for part in range(_COMMITS):
        chosen = [keys[part::_COMMITS] for keys in (inserted, updated, deleted)]
        pq.write_table(_changes(*chosen, seed=3 + part), source)
        arctic.write_change(table, parquet=source)
    source.unlink()
    return table


def _changes(inserted: Numbers, updated: Numbers, deleted: Numbers, seed: int) -> pa.Table:
    """Rows with their actions; both rows of an update are neighbours."""
    keys = np.concatenate([inserted, np.repeat(updated, 2), deleted])
    actions = np.concatenate(
        [
            np.full(len(inserted), "INSERT", object),
            np.tile(np.array(["UPDATE_BEFORE", "UPDATE_AFTER"], object), len(updated)),
            np.full(len(deleted), "DELETE", object),
        ]
    )
    return _rows(keys, seed).add_column(0, "_action", pa.array(actions, pa.string()))


def _rows(keys: Numbers, seed: int) -> pa.Table:
    """Rows of some keys."""
    chance, count = np.random.default_rng([seed, len(keys)]), len(keys)
    return pa.table(
        {
            "id": pa.array(keys, pa.int64()),
            "ts": pa.array(1_700_000_000_000_000 + keys * 1000 + chance.integers(0, 900, count)).cast(
                pa.timestamp("us")
            ),
            "qty": pa.array(chance.integers(0, 1000, count), pa.int32()),
            "price": _decimals(chance.integers(0, 1_000_000, count)),
            "amount": pa.array(chance.exponential(50, count)),
            "cat": _texts("category-", chance.integers(0, 40, count)),
            "name": _texts("name-", chance.integers(0, 5000, count)),
            "flag": pa.array(chance.integers(0, 2, count) == 1),
        }
    )


def _decimals(cents: Numbers) -> pa.Array:
    return pc.multiply(pa.array(cents, pa.int32()).cast(pa.decimal128(10, 0)), _CENT).cast(
        pa.decimal128(10, 2)
    )


def _texts(start: str, numbers: Numbers) -> pa.Array:
    return pc.binary_join_element_wise(start, pa.array(numbers).cast(pa.string()), "")


def _own_seconds() -> float:
    """Processor seconds of this process, and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)
