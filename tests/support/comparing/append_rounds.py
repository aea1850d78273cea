"""A round of ours on a table without a primary key beside Java's: what must be the same of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile
from support.comparing.rounds import Round, metadata, stored_columns


def in_row_order(files: Iterable[DataFile]) -> list[DataFile]:
    """Files by bucket, and by the order of their rows."""
    return sorted(files, key=lambda file: (str(file.partition), file.bucket, file.min_sequence))


def assert_append_rounds_agree(ours: Round, java: Round) -> None:
    """The same files are rewritten, and the new ones have the same columns and metadata."""
    assert ours.removed == java.removed != set()
    mine, theirs = (
        [file for file in in_row_order(each.after) if file in each.added] for each in (ours, java)
    )
    assert [metadata(each) for each in mine] == [
        metadata(each, like=like) for each, like in zip(theirs, mine, strict=True)
    ]
    assert stored_columns(ours) == stored_columns(java)


def rows_by_partition(oracle: Oracle, table: Table) -> dict[str, list[Mapping[str, Any]]]:
    """The rows of each partition, in the order in which Java reads them, as values by column."""
    schema = oracle.schema(table)
    names, keys = [column["name"] for column in schema["fields"]], schema["partitionKeys"]
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in oracle.read(table, in_order=True):
        values = dict(zip(names, row[1:], strict=True))
        parts.setdefault(str([values[key] for key in keys]), []).append(values)
    return parts
