"""The map of a task: where each row of its inputs went. Written by tasks, read by the driver.

A map lies in the metadata folder, in at most two files whose names have the writer's id, so that clean-up
finds those of dead attempts: `<writer>-dropped.puffin` has the dropped positions of each input as vectors,
`<writer>-places.parquet` the places of rows that did not keep their order. A task that dropped no row and
kept the order writes neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lithify.engine.rewrite.places import Places
from lithify.engine.rewrite.row_map import MovedRows, RowMap
from lithify.errors import CorruptTable
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.positions import DeletedPositions
from lithify.formats.iceberg.deletes.puffin import read_blob
from lithify.formats.iceberg.deletes.vectors import WrittenVector, write_vectors
from lithify.formats.iceberg.model import DataFile, NewDataFile
from lithify.formats.iceberg.rewriting.new_files import NewFiles
from lithify.formats.iceberg.rewriting.place_files import StoredPlaces, write_places
from lithify.io.storage import Storage, reporting

if TYPE_CHECKING:
    from pyroaring import BitMap64


_DROPPED, _PLACES = "dropped.puffin", "places.parquet"


@dataclass(frozen=True, slots=True)
class MappedInput:
    """A file that a task rewrote.

    Attributes:
        path: its location.
        rows: number of its rows, dropped ones included.
        dropped: number of positions that the task dropped.
        offset: first byte of their blob; 0 if there is none.
        length: bytes of it; 0 if there is none.
    """

    path: str
    rows: int
    dropped: int = 0
    offset: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class MappedOutput:
    """A file that a task wrote: its location and the number of its rows."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class TaskMap:
    """Where the map of a task is; in `TaskOutputs.maps`.

    Attributes:
        inputs: the files that the task rewrote, in the order in which it read them.
        outputs: the data files that it wrote, in the order of rows.
        dropped: the file with dropped positions; None if no row was dropped.
        dropped_size: its bytes.
        places: the file with places; None if rows kept their order.
        places_size: its bytes.

    Raises:
        CorruptTable: inputs have more or fewer rows that were not dropped than outputs have rows.
    """

    inputs: tuple[MappedInput, ...]
    outputs: tuple[MappedOutput, ...]
    dropped: str | None = None
    dropped_size: int = 0
    places: str | None = None
    places_size: int = 0

    def __post_init__(self) -> None:
        read = sum(each.rows - each.dropped for each in self.inputs)
        if read != self.rows:
            problem = f"its task read {read} rows that are not deleted, but wrote {self.rows}"
            raise CorruptTable(self.inputs[0].path, problem)

    @property
    def rows(self) -> int:
        """The number of rows that were written."""
        return sum(each.rows for each in self.outputs)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the map, none, one or two: to be deleted once nobody reads it any more."""
        return tuple(path for path in (self.dropped, self.places) if path is not None)


def write_map(
    files: NewFiles,
    storage: Storage,
    folder: str,
    inputs: Sequence[DataFile],
    deleted: DeletedPositions,
    outputs: Sequence[NewDataFile],
    places: Places | None,
) -> TaskMap:
    """Writes the map of a task.

    Args:
        files: the files of the task, of which those of the map become two more.
        storage: access to the file system.
        folder: where they go.
        inputs: the files that the task rewrote, in the order in which it read them.
        deleted: positions that it dropped.
        outputs: the data files that it wrote, in the order of rows.
        places: the places of its rows; None if they kept their order.

    Raises:
        CorruptTable: rows were lost or written twice.
        StorageError: a file cannot be written.
    """
    dropped = {each.path: deleted[each.path] for each in inputs if each.path in deleted}
    dropped_path = files.path_beside(folder, _DROPPED) if dropped else None
    vectors: dict[str, WrittenVector] = {}
    if dropped_path is not None:
        with reporting(dropped_path):
            vectors = write_vectors(storage, dropped_path, dropped)
    written = tuple(MappedOutput(each.path, each.rows) for each in outputs)
    rows = sum(each.rows for each in written)
    places_path = files.path_beside(folder, _PLACES) if places is not None and rows else None
    size = 0
    if places is not None and places_path is not None:
        size = write_places(storage, places_path, rows, places.slabs())
    return TaskMap(
        inputs=tuple(_input(each, vectors.get(each.path)) for each in inputs),
        outputs=written,
        dropped=dropped_path,
        dropped_size=max((each.file_size for each in vectors.values()), default=0),
        places=places_path,
        places_size=size,
    )


def _input(file: DataFile, dropped: WrittenVector | None) -> MappedInput:
    if dropped is None:
        return MappedInput(file.path, file.rows)
    return MappedInput(file.path, file.rows, dropped.positions, dropped.offset, dropped.length)


@dataclass(frozen=True, slots=True)
class Translation:
    """Where deleted rows of one input are.

    Attributes:
        positions: their positions by the paths of outputs; outputs without any are left out.
        dropped: the number of rows that their task had dropped already.
    """

    positions: DeletedPositions
    dropped: int


class RowMaps:
    """The maps of the tasks of a step, as its driver reads them.

    Holds the dropped positions of one input at a time. The places that are asked for are decoded once, in
    slabs, into files in a local folder (4 bytes a row), from which later calls read single places.

    Args:
        maps: maps of tasks; each input is in one of them.
        storage: access to the table's files.
        folder: an existing local folder of these maps alone; whoever made it deletes it.
    """

    def __init__(self, maps: Iterable[TaskMap], storage: Storage, folder: Path) -> None:
        self._maps = tuple(maps)
        self._inputs = {
            file.path: (number, place)
            for number, each in enumerate(self._maps)
            for place, file in enumerate(each.inputs)
        }
        self._storage = storage
        self._folder = folder
        self._opened: dict[int, RowMap] = {}

    def translate(self, path: str, positions: BitMap64) -> Translation:
        """Where rows of an input are in the outputs of its task.

        Args:
            path: the input.
            positions: positions in it, also of rows that had been dropped.

        Raises:
            MissingFile: a file of the map does not exist any more.
            CorruptTable: the map is damaged or contradicts itself, no map has the input, or the input does
                not have so many rows.
            StorageError: the local disk is full or refuses, or the store does.
        """
        if path not in self._inputs:
            raise CorruptTable(path, "no task of this run says where its rows went")
        number, place = self._inputs[path]
        task, opened = self._maps[number], self._open(number)
        found: dict[int, BitMap64] = {}
        dropped = 0
        for rows in opened.translate(place, positions, self._dropped(task, task.inputs[place])):
            dropped += rows.dropped
            for output, moved in _by_output(rows).items():
                found[output] = found[output] | moved if output in found else moved
        translated = sum(map(len, found.values()))
        if translated + dropped != len(positions):
            problem = f"its map finds {translated} rows of {len(positions)}, and {dropped} that were dropped"
            raise CorruptTable(path, problem)
        return Translation({task.outputs[output].path: moved for output, moved in found.items()}, dropped)

    def _open(self, number: int) -> RowMap:
        if number not in self._opened:
            task, slab = self._maps[number], None
            if task.places is not None:
                local = self._folder / f"{number}.places"
                slab = StoredPlaces(self._storage, task.places, task.places_size, task.rows, local).slab
            live = [each.rows - each.dropped for each in task.inputs]
            origin = task.places or task.inputs[0].path
            self._opened[number] = RowMap(origin, live, [each.rows for each in task.outputs], slab)
        return self._opened[number]

    def _dropped(self, task: TaskMap, file: MappedInput) -> BitMap64 | None:
        if task.dropped is None or not file.dropped:
            return None
        where = (file.offset, file.length)
        return read_blob(self._storage, task.dropped, task.dropped_size, where, file.dropped)


def _by_output(rows: MovedRows) -> dict[int, BitMap64]:
    """The positions of rows in each output."""
    order = np.lexsort((rows.positions, rows.outputs))
    outputs, positions = rows.outputs[order], rows.positions[order]
    starts = np.flatnonzero(np.diff(outputs, prepend=-1))
    parts = np.split(positions, starts[1:])
    return {int(outputs[start]): bitmap_of(part) for start, part in zip(starts, parts, strict=False)}
