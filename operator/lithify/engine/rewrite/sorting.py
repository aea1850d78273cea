"""Sorts and merges rows that come in any order, in bounded memory.

Called by tasks that move rows to other merge trees, and by `sorted_rows`. Rows are collected in memory; when
these become too many, the caller lets them be written to local disk as sorted runs, which are merged at the
end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.merge import merge_unsorted, reduce_unsorted
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.runs import RunSource
from lithify.engine.rewrite.spec import MergeSpec
from lithify.engine.rewrite.spill import spill


class UnsortedRows:
    """Rows of one merge tree; their sequence numbers rise in the order in which they are added.

    Attributes:
        rows: number of rows added.

    Args:
        spec: how records are ordered and merged.
        budget: bytes that merging runs on disk may hold.
        folder: a local folder of these rows alone, created on demand.
    """

    def __init__(self, spec: MergeSpec, budget: Budget, folder: Path) -> None:
        self._spec = spec
        self._budget = budget
        self._folder = folder
        self._pending: list[pa.RecordBatch] = []
        self._runs: list[RunSource] = []
        self.rows = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Adds rows, which stay in memory."""
        self._pending.append(rows)
        self.rows += rows.num_rows

    def spill(self) -> None:
        """Writes the rows in memory to disk.

        Raises:
            StorageError: the local disk is full or refuses.
        """
        if self._pending:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"sorted-{len(self._runs)}.arrow"
            self._runs.append(spill(reduce_unsorted(self._pending, self._spec), path))
            self._pending = []

    def merged(self) -> Iterator[pa.RecordBatch]:
        """Yields the merged rows with strictly increasing keys; may be called only once.

        Raises:
            UnsupportedTable: the merge function does not support a record.
            StorageError: the local disk is full or refuses.
        """
        if not self._runs:
            pending, self._pending = self._pending, []
            yield from (rows for rows in merge_unsorted(pending, self._spec) if rows.num_rows)
            return
        self.spill()
        yield from merge_section(self._runs, self._spec, self._budget, self._folder)
