"""Data files that the manifests of a snapshot list more than once, by a fault of a writer. Pure.

Readers read the rows of such a file as often as it is listed, and a commit that removes its path removes all
listings. So groups that have one are blocked. Java's `rewrite_data_files` fails on them, too; an INSERT
OVERWRITE of their rows mends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import listed, whole
from lithify.engine.tasks.blocked_groups import blocked_group
from lithify.errors import CorruptTable
from lithify.formats.iceberg.compaction.plan import IcebergUnit
from lithify.formats.protocol.results import Block

_PROBLEM = "the manifests list it more than once, so readers read its rows as often"


def repeated_paths(data: pa.Table) -> frozenset[str]:
    """The paths that several rows of a view's data files have."""
    paths = whole(data["file_path"])
    if pc.count_distinct(paths).as_py() == len(paths):
        return frozenset()
    counts = pc.value_counts(paths)
    several = pc.greater(counts.field("counts"), 1)
    return frozenset(listed(counts.field("values").filter(several)))


def blocks_of(table: str, units: Iterable[IcebergUnit], repeated: frozenset[str]) -> Iterator[Block]:
    """A block for each unit that has such a file."""
    for unit in units:
        path = next((file.path for file in (*unit.files, *unit.kept) if file.path in repeated), None)
        if path is not None:
            error = CorruptTable(path, _PROBLEM)
            told = blocked_group(table, unit.group.path, error, unit.group.fingerprint)
            yield Block(unit.group, error, told)
