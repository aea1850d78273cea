"""Views of made-up files, for rules that look at columns only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.formats.iceberg.commit.changes import GroupChange, Start
from lithify.formats.iceberg.manifests.partitions import Partitions
from lithify.formats.iceberg.manifests.view import PUFFIN, View
from lithify.formats.iceberg.model import DataFile, Partition
from lithify.formats.protocol.model import GroupId

START = Start(snapshot=10, sequence=5, schema_id=0, spec_id=1, format_version=2)
POSITION, EQUALITY = 1, 2


@dataclass(frozen=True, slots=True)
class Data:
    """A live data file: its path, sequence number, partition (a number), spec and first row id."""

    path: str
    sequence: int = 1
    partition: int = 0
    spec: int = 1
    first_row_id: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """A live delete file; `of` is the one data file that it deletes from, by a vector if it is one."""

    content: int
    sequence: int
    partition: int = 0
    spec: int = 1
    of: str | None = None
    is_vector: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A group of files, by a name."""

    path: str


def view(data: Sequence[Data], deletes: Sequence[Delete] = ()) -> View:
    """The view of some files."""
    most = max([each.partition for each in (*data, *deletes)], default=-1)
    specs = np.zeros(most + 1, dtype=np.int64)
    return View((), _data(data), _deletes(deletes), Partitions({}, specs, {}, {}), {})


def _data(files: Sequence[Data]) -> pa.Table:
    return pa.table(
        {
            "file_path": pa.array([each.path for each in files], pa.string()),
            "sequence_number": pa.array([each.sequence for each in files], pa.int64()),
            "partition": pa.array([each.partition for each in files], pa.int64()),
            "spec_id": pa.array([each.spec for each in files], pa.int32()),
            "first_row_id": pa.array([each.first_row_id for each in files], pa.int64()),
        }
    )


def _deletes(files: Sequence[Delete]) -> pa.Table:
    return pa.table(
        {
            "content": pa.array([each.content for each in files], pa.int32()),
            "sequence_number": pa.array([each.sequence for each in files], pa.int64()),
            "partition": pa.array([each.partition for each in files], pa.int64()),
            "spec_id": pa.array([each.spec for each in files], pa.int32()),
            "referenced": pa.array([each.of for each in files], pa.string()),
            "file_format": pa.array([PUFFIN if each.is_vector else "parquet" for each in files], pa.string()),
        }
    )


def changes(**groups: Sequence[str]) -> dict[GroupId, GroupChange]:
    """Changes that replace some files, by the names of their groups."""
    return {
        Group(name): GroupChange(Group(name), tuple(map(_file, paths)), ()) for name, paths in groups.items()
    }


def _file(path: str) -> DataFile:
    return DataFile(path, 1, 1, "parquet", 1, Partition(1))
