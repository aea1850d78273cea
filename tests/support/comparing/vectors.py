"""The rows that deletion vectors delete, as two tables with the same history must have them; and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import UnsupportedTable
from support.runs import run_inline

REFUSED: Mapping[str, tuple[dict[str, str], str]] = {
    "index files elsewhere": (
        {"global-index.external-path": "file:/tmp/indexes"},
        "global-index.external-path",
    ),
    "index files beside data elsewhere": (
        {
            "index-file-in-data-file-dir": "true",
            "data-file.external-paths": "file:/tmp/elsewhere",
            "data-file.external-paths.strategy": "round-robin",
        },
        "index-file-in-data-file-dir",
    ),
    "vectors may be switched off": ({"deletion-vectors.modifiable": "true"}, "deletion-vectors.modifiable"),
}
"""Options that no table with deletion vectors may have, and what the reason names."""


def assert_refused(table: Table, name: str) -> None:
    """A run refuses the table for one reason, which has this name in it."""
    with pytest.raises(UnsupportedTable) as caught:
        run_inline(table)
    (reason,) = caught.value.reasons
    assert name in reason


def with_ids(*ids: int) -> dict[str, Any]:
    """The filter of a DELETE that takes the rows with these ids."""
    return {"column": "id", "op": "in", "literals": list(ids)}


def deleted(oracle: Oracle, table: Table) -> Mapping[Any, tuple[int | None, bytes]]:
    """The cardinality and the stored bytes of each live file's vector, by the file's place and keys.

    New files have other names in each table. Java may keep vectors of files that are gone.
    """
    files = {file.name: file for file in oracle.files(table)}
    return {
        place(files[name]): (found.cardinality, stored(index.path, found.offset))
        for index in oracle.index_files(table)
        for name, found in index.deletion_vectors.items()
        if name in files
    }


def unpaired(oracle: Oracle, table: Table) -> set[str]:
    """Files with vectors that are not live."""
    marked = {name for index in oracle.index_files(table) for name in index.deletion_vectors}
    return marked - {file.name for file in oracle.files(table)}


def cardinality(oracle: Oracle, table: Table) -> int:
    """Number of rows that vectors delete."""
    vectors = (found for index in oracle.index_files(table) for found in index.deletion_vectors.values())
    return sum(found.cardinality or 0 for found in vectors)


def place(file: Any) -> tuple[Any, ...]:
    return str(file.partition), file.bucket, file.level, str(file.min_key)


def stored(path: str, offset: int) -> bytes:
    """The bytes of a vector in an index file, with its length and checksum."""
    content = Path(path.removeprefix("file:")).read_bytes()
    return content[offset : offset + 8 + int.from_bytes(content[offset : offset + 4], "big")]
