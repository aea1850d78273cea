"""Checks that the stages of a section, which are merged or copied one after the other, are in key order.

Called by `section_copier`. Stages are divided by the statistics of row groups. A run whose statistics are
wrong is not sorted, and no single stage may notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import pyarrow as pa

from lithify.columns.order import KeyValue, key_at
from lithify.engine.rewrite.records import RecordLayout
from lithify.errors import CorruptTable
from lithify.files.parquet.copying.copied_groups import CopiedGroup

T = TypeVar("T", bound=pa.RecordBatch | CopiedGroup)


def in_key_order(parts: Iterable[T], layout: RecordLayout, path: str) -> Iterator[T]:
    """Passes on batches and copied row groups, each of which is sorted and has rows.

    Args:
        parts: batches of rows, and row groups whose facts have the key columns.
        layout: which columns are the key.
        path: where the rows come from, for messages.

    Raises:
        CorruptTable: a part begins with a key that is not greater than the last one before it.
    """
    last: tuple[KeyValue, ...] | None = None
    for part in parts:
        for rows in [part] if isinstance(part, pa.RecordBatch) else part.facts:
            first = _key_of(rows, 0, layout)
            if last is not None and first <= last:
                raise CorruptTable(path, "the rows of a file are not sorted, or its statistics are wrong")
            last = _key_of(rows, rows.num_rows - 1, layout)
        yield part


def _key_of(rows: pa.RecordBatch | pa.Table, number: int, layout: RecordLayout) -> tuple[KeyValue, ...]:
    row = rows.slice(number, 1)
    batch = row if isinstance(row, pa.RecordBatch) else row.combine_chunks().to_batches()[0]
    return key_at(layout.key_parts(batch), 0)
