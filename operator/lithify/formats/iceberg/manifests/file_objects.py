"""Objects for single files of a view.

Called by planning for the files that a plan takes, and by the commit. Never for all files of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lithify.columns.column_groups import Numbers, listed, taken
from lithify.formats.iceberg.manifests.delete_index import DeleteIndex
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, Partition

_OF_DATA = (
    "file_path",
    "file_size_in_bytes",
    "record_count",
    "file_format",
    "sequence_number",
    "partition",
    "first_row_id",
    "sort_order_id",
)
_OF_DELETES = (
    "file_path",
    "file_size_in_bytes",
    "record_count",
    "content",
    "file_format",
    "sequence_number",
    "partition",
    "equality_ids",
    "referenced",
    "content_offset",
    "content_size_in_bytes",
)


@dataclass(frozen=True, slots=True)
class FileObjects:
    """Makes objects for rows of a view.

    Args:
        view: the view.
        index: the deletes of its data files.
    """

    view: View
    index: DeleteIndex

    def data_files(self, rows: Numbers) -> list[DataFile]:
        """Some data files with the deletes that apply to them, in the order of `rows`."""
        applied = self.index.applied(rows)
        distinct = sorted(set(applied.deletes.tolist()))
        deletes = dict(zip(distinct, self.delete_files(distinct), strict=True))
        bounds = applied.offsets.tolist()
        numbers = applied.deletes.tolist()
        partitions = _Partitions(self.view)
        found = []
        for place, values in enumerate(_records(self.view.data, rows, _OF_DATA)):
            path, size, count, kind, sequence, partition, first, order = values
            found.append(
                DataFile(
                    path=path,
                    size=size,
                    rows=count,
                    format=kind,
                    sequence=sequence,
                    partition=partitions[partition],
                    first_row_id=first,
                    sort_order_id=order,
                    deletes=tuple(deletes[n] for n in numbers[bounds[place] : bounds[place + 1]]),
                    row=int(rows[place]),
                )
            )
        return found

    def delete_files(self, rows: Iterable[int]) -> list[DeleteFile]:
        """Some delete files, in the order of `rows`."""
        numbers = list(rows)
        partitions = _Partitions(self.view)
        return [
            _delete_file(values, partitions, row)
            for row, values in zip(numbers, _records(self.view.deletes, numbers, _OF_DELETES), strict=True)
        ]


class _Partitions(dict[int, Partition]):
    """Partitions by their numbers, made once each."""

    def __init__(self, view: View) -> None:
        self._partitions = view.partitions

    def __missing__(self, number: int) -> Partition:
        return self.setdefault(number, self._partitions.partition(number))


def _records(table: pa.Table, rows: Any, names: Iterable[str]) -> Iterable[tuple[Any, ...]]:
    """The values of some columns, row by row."""
    columns = list(names)
    chosen = taken(table.select(columns), pa.array(rows, pa.int64()).to_numpy())
    return zip(*(listed(chosen[name]) for name in columns), strict=True)


def _delete_file(values: tuple[Any, ...], partitions: Mapping[int, Partition], row: int) -> DeleteFile:
    path, size, count, content, kind, sequence, partition, ids, referenced, offset, length = values
    return DeleteFile(
        path=path,
        size=size,
        rows=count,
        content=Content(content),
        format=kind,
        sequence=sequence,
        partition=partitions[partition],
        equality_ids=tuple(ids or ()),
        referenced=referenced,
        offset=offset,
        length=length,
        row=row,
    )
