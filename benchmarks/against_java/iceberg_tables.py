"""The Iceberg tables that are compacted, as Spark writes them: events of nine columns in many files.

Values follow from ids by hashes, so every machine gets the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from infrastructure.iceberg.model import EqualityDeletes
from infrastructure.iceberg.tables import SparkTable

ROWS = 5_000_000
PARTITIONS = 100
_FILES = 200
_ROWS_OF_LARGE = 625_000
"""Rows of a file whose row group is large enough to be copied, however many rows there are."""
_FEWEST = 500
"""Rows of a file; with few rows there are fewer files."""
_COMMITS = 10
"""Of the table with partitions: each leaves a file in every partition."""
_EQUALITY = 10
"""Files of equality deletes."""
_COLUMNS = (
    "id BIGINT, ts TIMESTAMP, qty INT, price DECIMAL(10, 2), amount DOUBLE, cat STRING, name STRING, "
    "d DATE, flag BOOLEAN"
)
LEVEL = 3
"""Of zstd: Iceberg's usual one."""
_PROPERTIES = {
    "write.distribution-mode": "none",
    "write.delete.granularity": "file",
    "write.parquet.compression-level": str(LEVEL),
}
"""Both sides compress with Iceberg's usual level: if a table names none, ours takes 1 for numbers."""

Fill = Callable[[SparkTable, int], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A table to compact.

    Attributes:
        name: of the table.
        title: what it is, for people.
        version: of the format.
        fill: writes a number of rows, and what deletes some of them.
        partitions: the clause of its partitions.
    """

    name: str
    title: str
    version: int
    fill: Fill
    partitions: str = ""

    def make(self, table: SparkTable, rows: int) -> SparkTable:
        """Makes the table in a catalog."""
        partitioned = ", part INT" if self.partitions else ""
        table.create(self.version, properties=_PROPERTIES, columns=f"{_COLUMNS}{partitioned}")
        if self.partitions:
            table.alter(f"ADD PARTITION FIELD {self.partitions}")
        self.fill(table, rows)
        return table


def _events(first: int, rows: int, tasks: int, more: str = "") -> str:
    return (
        f"SELECT id, timestamp_micros(1700000000000000 + id * 1000 + {_drawn(1, 900)}) AS ts, "
        f"CAST({_drawn(2, 1000)} AS INT) AS qty, "
        f"CAST({_drawn(3, 1_000_000)} / 100 AS DECIMAL(10, 2)) AS price, "
        f"IF({_drawn(4, 50)} = 0, NULL, -50 * ln(({_drawn(5, 1 << 52)} + 1) / {1 << 52})) AS amount, "
        f"concat('category-', {_drawn(6, 40)}) AS cat, "
        f"concat('name-', lpad({_drawn(7, 5000)}, 5, '0')) AS name, "
        f"date_add(DATE '2022-01-08', CAST(id DIV 100000 AS INT)) AS d, {_drawn(8, 2)} = 0 AS flag{more} "
        f"FROM range({first}, {first + rows}, 1, {tasks})"
    )


def _drawn(seed: int, most: int) -> str:
    """A number below `most` that follows from the id."""
    return f"pmod(xxhash64(id, {seed}), {most})"


def _write(files: int) -> Fill:
    def fill(table: SparkTable, rows: int) -> None:
        tasks = max(2, min(files, rows // _FEWEST))  # each writes a file
        table.run(f"INSERT INTO {table.name} {_events(0, rows, tasks)}")

    return fill


def _write_large(table: SparkTable, rows: int) -> None:
    _write(rows // _ROWS_OF_LARGE)(table, rows)


def _with_deletes(table: SparkTable, rows: int) -> None:
    """A fifth of the rows, by position or by vectors."""
    _write(_FILES)(table, rows)
    table.delete(f"{_drawn(9, 5)} = 0")


def _with_equality(table: SparkTable, rows: int) -> None:
    """A fifth of the rows by their ids, which Flink would write in ten commits."""
    _write(_FILES)(table, rows)
    for part in range(_EQUALITY):
        chosen = f"{_drawn(9, 5 * _EQUALITY)} = {part}"
        query = f"SELECT id FROM range(0, {rows}, 1, 1) WHERE {chosen}"
        table.spark.row_delta(table.name, equality=[EqualityDeletes(["id"], query)])


def _in_partitions(table: SparkTable, rows: int) -> None:
    """A twentieth of the rows of each file is deleted by a file of its own."""
    each = rows // _COMMITS
    for number in range(_COMMITS):
        part = f", CAST(id % {PARTITIONS} AS INT) AS part"
        query = f"{_events(number * each, each, 1, part)} ORDER BY part, id"
        table.run(f"INSERT INTO {table.name} {query}")
    table.delete(f"{_drawn(9, 20)} = 0")


def cases() -> Iterator[Case]:
    """All cases, in the order of the page."""
    yield Case("plain", "one group of small files", 2, _write(_FILES))
    yield Case(
        "parts",
        f"{PARTITIONS} partitions of {_COMMITS} files, each with a position delete file, 5 %",
        2,
        _in_partitions,
        "part",
    )
    yield Case("positions", "position deletes, 20 %", 2, _with_deletes)
    yield Case("vectors", "version 3, vectors, 20 %", 3, _with_deletes)
    yield Case("equality", "equality deletes, 20 %", 2, _with_equality)
    yield Case("copied", "row groups that are copied", 2, _write_large)
    yield Case("lineage", "version 3, row groups that are copied", 3, _write_large)
