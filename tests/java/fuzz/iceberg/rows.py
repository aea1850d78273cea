"""Rows of Iceberg tables as Spark reads them, with their lineage, and what may become of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from infrastructure.iceberg.tables import LINEAGE, SparkTable

_LINEAGE_SINCE = 3
_FILE = "_file"


@dataclass(frozen=True, slots=True)
class Row:
    """A row.

    Attributes:
        id: what its column `id` has.
        values: those of all columns, as text.
        row_id: its `_row_id`; None before version 3, and where no commit has given it one.
        updated: its `_last_updated_sequence_number`.
    """

    id: int
    values: str
    row_id: int | None = None
    updated: int | None = None


Rows = Counter[Row]


def read(table: SparkTable, version: int, branch: str | None = None) -> Rows:
    """The rows of a table, or of one of its branches.

    Spark takes a file's sequence number for rows without one of their own, and not its data's
    (apache/iceberg#17039): these are put right here.
    """
    has_lineage = version >= _LINEAGE_SINCE
    columns = ("*", *LINEAGE, _FILE) if has_lineage else ("*",)
    at = "" if branch is None else f"VERSION AS OF '{branch}'"
    found = table.spark.sql(f"SELECT {', '.join(columns)} FROM {table.name} {at}").to_pylist()
    wrong = _wrong_numbers(table, branch) if has_lineage else {}
    return Counter(_row(values, wrong) for values in found)


def _wrong_numbers(table: SparkTable, branch: str | None) -> Mapping[tuple[object, object], int | None]:
    """The data's sequence number by a file and its sequence number, where they differ."""
    files = [task.file for task in table.spark.scan(table.name, **({"branch": branch} if branch else {}))]
    return {
        (file.path, file.file_sequence_number): file.data_sequence_number
        for file in files
        if file.file_sequence_number != file.data_sequence_number
    }


def plain(rows: Rows) -> Counter[str]:
    """The rows without their lineage."""
    counted: Counter[str] = Counter()
    for row, count in rows.items():
        counted[row.values] += count
    return counted


def chosen(rows: Rows, is_wanted: Callable[[int], bool]) -> Rows:
    """The rows with some ids."""
    return Counter({row: count for row, count in rows.items() if is_wanted(row.id)})


def assert_rows_stay(before: Rows, after: Rows) -> None:
    """Checks that a rewrite has changed no row, and no lineage that there was.

    Rows without a row id may get one: commits give them to all files of upgraded tables.
    """
    assert plain(after) == plain(before)
    assert_rows_are_kept(before, after)
    assert_ids_are_unique(after)


def assert_rows_are_kept(before: Rows, after: Rows) -> None:
    """Checks that all rows are there, with the lineage that they had; there may be others."""
    gone = plain(before) - plain(after)
    assert not gone, sorted(gone)
    had, have = _lineage(before), _lineage(after)
    lost = had - have
    assert not lost, f"lineage before {sorted(map(str, lost))}, after {sorted(map(str, have - had))}"


def assert_ids_are_unique(rows: Rows) -> None:
    """Checks that no two rows have one row id."""
    ids = [row.row_id for row in rows.elements() if row.row_id is not None]
    assert len(ids) == len(set(ids)), [each for each, count in Counter(ids).items() if count > 1]


def _lineage(rows: Rows) -> Counter[tuple[str, int, int | None]]:
    return Counter((row.values, row.row_id, row.updated) for row in rows.elements() if row.row_id is not None)


def _row(values: dict[str, object], wrong: Mapping[tuple[object, object], int | None]) -> Row:
    row_id, updated, file = (values.pop(name, None) for name in (*LINEAGE, _FILE))
    updated = wrong.get((file, updated), updated)
    number = values["id"]
    assert isinstance(number, int), values
    assert row_id is None or isinstance(row_id, int)
    assert updated is None or isinstance(updated, int)
    return Row(number, repr(values), row_id, updated)
