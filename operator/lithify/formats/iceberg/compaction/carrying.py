"""Carries late deletes over to the new files of a step, by the maps of its tasks; implements `DeleteCarrier`.

Made by a step for its commit, which asks it in every try. What is carried follows from the view of the try
alone. Only what cannot change is kept between tries: decoded deletes, and where rows of a file went.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lithify.engine.commit.loop import Validation
from lithify.errors import CorruptTable, MissingFile, UnsupportedTable
from lithify.formats.iceberg.commit.changes import GroupChange, Start
from lithify.formats.iceberg.commit.rules import validate_no_new_deletes
from lithify.formats.iceberg.compaction.tasks import VECTORS_SINCE, schema_of, write_options
from lithify.formats.iceberg.deletes.late import LateDeletes, LateRows
from lithify.formats.iceberg.deletes.puffin import read_blob
from lithify.formats.iceberg.manifests.view import PUFFIN, View
from lithify.formats.iceberg.model import DataFile, NewDataFile, NewDeleteFile
from lithify.formats.iceberg.rewriting.destinations import Destination
from lithify.formats.iceberg.rewriting.maps import RowMaps, TaskMap
from lithify.formats.iceberg.rewriting.new_deletes import delete_target, write_new_vectors, write_positions
from lithify.formats.iceberg.rewriting.new_files import NewFiles
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.table.data_locations import data_locations
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import spec_of
from lithify.formats.iceberg.table.table import IcebergTable

if TYPE_CHECKING:
    from pyroaring import BitMap64

_AT_ONCE = 16
"""Position delete files that are written at a time."""
NOT_CARRIED = "others have deleted rows of a file of it, which cannot be carried over to the new files"


@dataclass(frozen=True, slots=True)
class _Translated:
    """Where deleted rows of an input are: the rows, and their positions by the paths of outputs."""

    late: BitMap64
    positions: Mapping[str, BitMap64]


class MapCarrier:
    """Carries deletes over for the groups of which there are maps; those of others are in conflict.

    Args:
        table: the table.
        start: the state that the step was planned on.
        changes: the changes of the step.
        maps: the maps of their tasks, by group.
        folder: an existing local folder for places of rows.
    """

    def __init__(
        self,
        table: IcebergTable,
        start: Start,
        changes: Mapping[Any, GroupChange],
        maps: Mapping[Any, Sequence[TaskMap]],
        folder: Path,
    ) -> None:
        self._table = table
        self._start = start
        self._mapped = {group for group in changes if maps.get(group)}
        files = [file for group in self._mapped for file in changes[group].inputs]
        files += [file for change in changes.values() for file in change.kept if _has_vectors(change)]
        self._late = LateDeletes(table.storage, start.sequence, files)
        self._own: dict[str, BitMap64] = {}
        self._maps = RowMaps((each for found in maps.values() for each in found), table.storage, folder)
        self._translated: dict[str, _Translated] = {}

    def carry(
        self, changes: Mapping[Any, GroupChange], view: View, is_live: Callable[[], bool]
    ) -> Validation[GroupChange]:
        """The changes with the rows of their files that late deletes delete; see `DeleteCarrier`."""
        unmapped = {group: change for group, change in changes.items() if group not in self._mapped}
        conflicts = validate_no_new_deletes(unmapped, self._start, view)
        late = self._late.read(view)
        ready: dict[Any, GroupChange] = {}
        for group, change in changes.items():
            if group in conflicts:
                continue
            try:
                ready[group] = replace(change, late=self._carried(change, late))
            except (CorruptTable, UnsupportedTable) as error:
                if isinstance(error, MissingFile) and not is_live():
                    raise
                conflicts[group] = f"{NOT_CARRIED}: {error}"
        return Validation(ready, conflicts)

    def write(
        self, changes: Sequence[GroupChange], metadata: TableMetadata, writer: str
    ) -> Sequence[NewDeleteFile]:
        """Writes the deletes of outputs; see `DeleteCarrier`."""
        late = {path: positions for change in changes for path, positions in change.late.items()}
        outputs: list[DataFile | NewDataFile] = []
        for change in changes:
            outputs += (file for file in change.outputs if file.path in late)
            outputs += (file for file in change.kept if file.path in late)
        if metadata.format_version >= VECTORS_SINCE:
            return self._write_vectors(outputs, late, metadata, writer)
        return self._write_files(outputs, late, metadata, writer)

    def _carried(self, change: GroupChange, late: LateRows) -> Mapping[str, BitMap64]:
        """The rows of a group's outputs that late deletes delete; see also `_united`.

        Raises:
            CorruptTable, UnsupportedTable: a late delete or a map cannot be read, or they do not fit.
        """
        found: dict[str, BitMap64] = {}
        rows = 0
        for file in change.inputs:
            if file.path in late.problems:
                raise late.problems[file.path]
            if positions := late.positions.get(file.path):
                for path, places in self._translate(file.path, positions).items():
                    found[path] = found[path] | places if path in found else places
                    rows += len(places)
        if rows != sum(map(len, found.values())):
            raise CorruptTable(change.inputs[0].path, "two rows of its group have one place in the new files")
        return {**found, **self._united(change, late)}

    def _united(self, change: GroupChange, late: LateRows) -> Mapping[str, BitMap64]:
        """The rows of files that stay which new vectors and late deletes delete, where there are both.

        Raises:
            CorruptTable, UnsupportedTable: a late delete or a new vector cannot be read.
        """
        found = {}
        for each in change.deletes:
            path = each.referenced or ""
            if not each.is_vector or not (path in late.problems or path in late.positions):
                continue
            if path in late.problems:
                raise late.problems[path]
            if path not in self._own:
                place = (each.offset or 0, each.length or 0)
                self._own[path] = read_blob(self._table.storage, each.path, each.size, place, each.rows)
            found[path] = self._own[path] | late.positions[path]
        return found

    def _translate(self, path: str, late: BitMap64) -> Mapping[str, BitMap64]:
        """Where rows of an input are.

        Raises:
            MissingFile, CorruptTable: the map cannot be read, or does not account for all rows.
        """
        known = self._translated.get(path)
        if known is None or known.late != late:
            known = _Translated(late, self._maps.translate(path, late).positions)
            self._translated[path] = known
        return known.positions

    def _write_vectors(
        self,
        outputs: Sequence[DataFile | NewDataFile],
        late: Mapping[str, BitMap64],
        metadata: TableMetadata,
        writer: str,
    ) -> Sequence[NewDeleteFile]:
        """Writes all vectors into one file."""
        path = data_locations(metadata).path("", f"{writer}-deletes.{PUFFIN}")
        return write_new_vectors(self._table.storage, path, outputs, late)

    def _write_files(
        self,
        outputs: Sequence[DataFile | NewDataFile],
        late: Mapping[str, BitMap64],
        metadata: TableMetadata,
        writer: str,
    ) -> Sequence[NewDeleteFile]:
        """Writes a file for each output, several at a time."""
        target = delete_target(
            WriteTarget(
                data_locations(metadata),
                schema_of(metadata),
                spec_of(metadata, metadata.spec_id),
                write_options(self._table),
            )
        )
        files = NewFiles(f"{writer}-deletes", target, self._table.storage)

        def write(file: DataFile | NewDataFile) -> NewDeleteFile:
            return write_positions(files, target, file.path, Destination(file.partition), late[file.path])

        try:
            with ThreadPoolExecutor(_AT_ONCE) as writers:
                return [*writers.map(write, outputs)]
        except BaseException:
            files.delete()
            raise


def _has_vectors(change: GroupChange) -> bool:
    return any(each.is_vector for each in change.deletes)
