"""Objects for single files of a view.

Called by planning for the files that a plan takes, and by the commit. Never for all files of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lithify.columns.column_groups import Numbers, listed, taken
from lithify.formats.iceberg.manifests.bounds import bound_values
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
_BOUNDED = ("int", "long", "date", "string")
"""The types of columns whose bounds are those of their values, whatever type the column had before."""
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
        deletes = dict(zip(distinct, delete_files_of(self.view, distinct), strict=True))
        bounds = applied.offsets.tolist()
        numbers = applied.deletes.tolist()
        partitions = _Partitions(self.view)
        key_bounds = self._key_bounds(rows)
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
                    key_bounds=key_bounds[place],
                )
            )
        return found

    def _key_bounds(self, rows: Numbers) -> list[dict[int, tuple[Any, Any]]]:
        """The bounds of compared columns of some data files; see `DataFile`."""
        found: list[dict[int, tuple[Any, Any]]] = [{} for _ in rows]
        for number, column in self.index.columns.items():
            names = [f"{side}_bounds.{number}" for side in ("lower", "upper")]
            if column.type in _BOUNDED and set(names) <= set(self.view.data.column_names):
                chosen = taken(self.view.data.select(names), rows)
                lower, upper = (listed(bound_values(chosen[name], column.type)) for name in names)
                for each, low, high in zip(found, lower, upper, strict=True):
                    if low is not None and high is not None:
                        each[number] = (low, high)
        return found


def delete_files_of(view: View, rows: Iterable[int]) -> list[DeleteFile]:
    """Some delete files of a view, in the order of `rows`."""
    numbers = list(rows)
    partitions = _Partitions(view)
    return [
        _delete_file(values, partitions, row)
        for row, values in zip(numbers, _records(view.deletes, numbers, _OF_DELETES), strict=True)
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
