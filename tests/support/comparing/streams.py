"""What streaming readers of a table get, and whether it adds up to the rows that batch readers get."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from support.comparing.rows import positive

Stream: TypeAlias = dict[int, list[Row]]
"""The rows of each snapshot, in the order of a reader."""
_GONE = ("-U", "-D")


def audit_log(table: Table) -> Table:
    """The system table with the kinds of a table's rows in a column."""
    return Table(table.warehouse, f"{table.name}$audit_log")


def first_of_stream(oracle: Oracle, table: Table) -> int | None:
    """The first snapshot of which a stream of the main branch can be read, perhaps long after it expired."""
    numbers = [int(snapshot["id"]) for snapshot in oracle.snapshots(table)]
    changelogs = (table.folder / "changelog").glob("changelog-*")
    return min([*numbers, *(int(path.name.partition("-")[2]) for path in changelogs)], default=None)


def in_any_order(rows: Sequence[Row]) -> list[Row]:
    """Rows in an order of their own: buckets are read in any order."""
    return sorted(rows, key=json.dumps)


def assert_stream_is_the_table(oracle: Oracle, table: Table, *, start: int = 1) -> None:
    """All changes since a snapshot, one by one, make the rows of the table.

    An insert finds no row of its key, an update or a delete exactly the row that it replaces: so no change
    is missing, and none comes twice. Zeros of both signs are equal: no change is one that changes only signs.
    """
    rows = replayed(oracle, table, oracle.changelog(table, from_snapshot=start))
    expected = [positive(row[1:]) for row in oracle.read(table)]
    assert in_any_order([positive(row) for row in rows.values()]) == in_any_order(expected)


def replayed(oracle: Oracle, table: Table, stream: Stream) -> dict[str, list[Any]]:
    """The rows that a reader has in the end, by their keys, if it applies change by change."""
    at = _places_of_key(oracle, table)
    rows: dict[str, list[Any]] = {}
    for snapshot, changes in stream.items():
        for kind, *row in changes:
            key = json.dumps([row[place] for place in at])
            if kind in _GONE:
                assert rows.pop(key, None) == row, (snapshot, kind)
            else:
                assert key not in rows, (snapshot, kind, row)
                rows[key] = row
    return rows


def _places_of_key(oracle: Oracle, table: Table) -> list[int]:
    """Where a row has its key, partition columns included."""
    schema = oracle.schema(table)
    key = {*schema["primaryKeys"], *schema["partitionKeys"]}
    return [at for at, field in enumerate(schema["fields"]) if field["name"] in key]
