"""What a move of postponed rows makes of the buckets, without names, sizes and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infrastructure.oracle.client import DataFile, KeyValue, Oracle, Table


def contents(oracle: Oracle, table: Table) -> dict[tuple[Any, int, int], list[list[KeyValue]]]:
    """The records of all files by partition, bucket and level."""
    found: dict[tuple[Any, int, int], list[list[KeyValue]]] = {}
    files = sorted(oracle.files(table), key=lambda file: (file.min_sequence, file.max_sequence))
    for file, rows in zip(files, oracle.kv_rows_of(table, files), strict=True):
        found.setdefault((str(file.partition), file.bucket, file.level), []).append(rows)
    return found


def described(files: Sequence[DataFile]) -> list[tuple[Any, ...]]:
    """What manifests say of files, without names, sizes and times."""
    return sorted(
        (
            str(file.partition),
            file.bucket,
            file.total_buckets,
            file.level,
            file.rows,
            str(file.min_key),
            str(file.max_key),
            file.min_sequence,
            file.max_sequence,
            file.delete_rows,
            file.file_source,
            file.schema_id,
        )
        for file in files
    )
