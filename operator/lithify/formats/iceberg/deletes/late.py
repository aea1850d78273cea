"""Late deletes of replaced files: position deletes and vectors that others commit after the plan.

Called by commits that carry them over to the new files. What is late follows from a view alone, so that each
try decides by what it commits on. Only decoded files are kept from one try to the next: files never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import flags, integers, is_null, is_one_of, listed, whole
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.deletes.position_files import read_positions
from lithify.formats.iceberg.deletes.puffin import read_vector_of
from lithify.formats.iceberg.manifests.delete_index import is_late
from lithify.formats.iceberg.manifests.file_objects import delete_files_of
from lithify.formats.iceberg.manifests.view import PUFFIN, View
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile
from lithify.io.prefetching import prefetched
from lithify.io.storage import Storage

if TYPE_CHECKING:
    from pyroaring import BitMap64

_KEPT_POSITIONS = 32 << 20
"""Decoded positions that are kept between tries; each takes eight bytes at most, but for single ones."""

Problem = CorruptTable | UnsupportedTable


@dataclass(frozen=True, slots=True)
class LateRows:
    """Rows of replaced files that others have deleted since the plan.

    Attributes:
        positions: the positions by the location of the data file. Rows that were deleted at the time of the
            plan may be among them: writers merge older deletes into their own.
        problems: the data files of which a late delete cannot be read, with the reason.
    """

    positions: Mapping[str, BitMap64] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)


class LateDeletes:
    """The late deletes of some data files.

    Args:
        storage: access to the delete files.
        after: the sequence number of the planned snapshot; what is greater is late.
        files: the data files.
    """

    def __init__(self, storage: Storage, after: int, files: Iterable[DataFile]) -> None:
        self._storage = storage
        self._after = after
        self._files = {file.path: file for file in files}
        self._partitions = {file.partition for file in self._files.values()}
        self._decoded: dict[tuple[str, int | None], LateRows] = {}

    def read(self, view: View) -> LateRows:
        """The rows of the data files that the late deletes of a view delete.

        Decodes what the view before did not have.

        Raises:
            StorageError: the store refuses.
        """
        found = {(each.path, each.offset): each for each in self._found(view)}
        missing = [each for key, each in found.items() if key not in self._decoded]
        decoded = {key: rows for key, rows in self._decoded.items() if key in found}
        decoded.update({(file.path, file.offset): rows for file, rows in prefetched(missing, self._decode)})
        self._decoded = dict(_kept(decoded))
        with_vector = self._with_vector(view)
        parts = [_without(decoded[key], () if each.is_vector else with_vector) for key, each in found.items()]
        return _united(parts)

    def _found(self, view: View) -> list[DeleteFile]:
        """The late deletes that name a data file, or that may name several and have the partition of one."""
        deletes = view.deletes
        new = is_late(deletes, self._after, Content.POSITION_DELETES)
        for_many = new & is_null(deletes["referenced"])
        partitions = integers(deletes["partition"])
        wanted = [
            number
            for number in np.unique(partitions[for_many]).tolist()
            if view.partitions.partition(number) in self._partitions
        ]
        found = (for_many & np.isin(partitions, wanted)) | (
            new & is_one_of(deletes["referenced"], self._files)
        )
        return delete_files_of(view, np.flatnonzero(found).tolist())

    def _with_vector(self, view: View) -> frozenset[str]:
        """The data files to which no position delete file applies, because they have a vector."""
        is_vector = flags(pc.equal(view.deletes["file_format"], PUFFIN))
        named = is_one_of(view.deletes["referenced"], self._files)
        return frozenset(listed(whole(view.deletes["referenced"].filter(pa.array(is_vector & named)))))

    def _decode(self, file: DeleteFile) -> LateRows:
        rows = self._rows_of(file)
        try:
            if file.is_vector and file.referenced is not None:
                path = file.referenced
                return LateRows({path: read_vector_of(self._storage, file, path, rows[path])})
            reader = FileReader(self._storage, formats={file.path: file.format})
            return LateRows(read_positions(reader, file, rows))
        except (CorruptTable, UnsupportedTable) as error:
            return LateRows(problems=dict.fromkeys(rows, error))

    def _rows_of(self, file: DeleteFile) -> dict[str, int]:
        """The data files from which a delete file may delete, with their numbers of rows."""
        if file.referenced is not None:
            return {file.referenced: self._files[file.referenced].rows}
        return {each.path: each.rows for each in self._files.values() if each.partition == file.partition}


def _kept(
    decoded: Mapping[tuple[str, int | None], LateRows],
) -> Iterator[tuple[tuple[str, int | None], LateRows]]:
    """What is kept for the next try: what could be read, as much as memory allows."""
    left = _KEPT_POSITIONS
    for key, rows in decoded.items():
        left -= sum(map(len, rows.positions.values()))
        if left >= 0 and not rows.problems:
            yield key, rows


def _without(rows: LateRows, paths: frozenset[str] | tuple[()]) -> LateRows:
    kept = {path: found for path, found in rows.positions.items() if path not in paths}
    return LateRows(kept, rows.problems) if paths else rows


def _united(parts: Iterable[LateRows]) -> LateRows:
    positions: dict[str, BitMap64] = {}
    problems: dict[str, Problem] = {}
    for part in parts:
        problems.update(part.problems)
        for path, found in part.positions.items():
            positions[path] = positions[path] | found if path in positions else found
    return LateRows(positions, problems)
