"""Partitions as numbers: each distinct pair of a spec and its values is one, whichever manifest names it.

Called by `view`. Grouping and matching by partition then compare integers, also across specs, and values are
made for the partitions that somebody asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Numbers, numbered
from lithify.formats.iceberg.manifests.partition_types import (
    PartitionField,
    PartitionType,
    promoted,
    value_of,
    wider_type,
    with_one_nan,
)
from lithify.formats.iceberg.model import Partition


@dataclass(frozen=True, slots=True)
class Partitions:
    """The distinct partitions of the files of a view, numbered from 0.

    Attributes:
        types: the partition fields of each spec.
        spec_ids: the spec of each partition.
        values: the physical values of the partitions of each spec, in the order of their numbers, a column
            per field and a last one without meaning.
        starts: the number of each spec's first partition.
    """

    types: Mapping[int, PartitionType]
    spec_ids: Numbers
    values: Mapping[int, pa.Table]
    starts: Mapping[int, int]

    def __len__(self) -> int:
        return len(self.spec_ids)

    def partition(self, number: int) -> Partition:
        """A partition with its values."""
        spec_id = int(self.spec_ids[number])
        row = number - self.starts[spec_id]
        columns = self.values[spec_id].columns[:-1]
        fields = self.types[spec_id]
        return Partition(
            spec_id,
            tuple(
                value_of(column[row].as_py(), field.type)
                for column, field in zip(columns, fields, strict=True)
            ),
        )

    def of_spec(self, spec_id: int) -> range:
        """The numbers of a spec's partitions."""
        start = self.starts.get(spec_id, 0)
        return range(start, start + (len(self.values[spec_id]) if spec_id in self.values else 0))


Stored = tuple[int, PartitionType, pa.StructArray]
"""The partitions of some files: their spec, its fields, and physical values."""


def number_partitions(stored: Sequence[Stored]) -> tuple[list[Numbers], Partitions]:
    """Numbers the partitions of several lists of files.

    Returns:
        The number of each file's partition, for each list, and the partitions.

    Raises:
        ValueError: lists of one spec have partition fields that do not fit together.
    """
    found: list[Numbers] = [np.empty(0, dtype=np.int64)] * len(stored)
    types, values, starts, spec_ids = {}, {}, {}, []
    following = 0
    for spec_id in sorted({each[0] for each in stored}):
        places = [place for place, each in enumerate(stored) if each[0] == spec_id]
        types[spec_id] = _common_type(stored[place][1] for place in places)
        tables = [_table(stored[place][2], types[spec_id]) for place in places]
        codes = _numbered(tables)
        for place, each in zip(places, codes, strict=True):
            found[place] = each + following
        values[spec_id], starts[spec_id] = _distinct(tables, codes), following
        spec_ids += [spec_id] * len(values[spec_id])
        following += len(values[spec_id])
    return found, Partitions(types, np.array(spec_ids, dtype=np.int64), values, starts)


def _common_type(types: Iterable[PartitionType]) -> PartitionType:
    """The fields of a spec with the widest type that a manifest states."""
    return reduce(_wider, dict.fromkeys(types))


def _wider(one: PartitionType, other: PartitionType) -> PartitionType:
    if [field.id for field in one] != [field.id for field in other]:
        raise ValueError("manifests of one partition spec have different fields")
    return tuple(
        PartitionField(field.id, field.name, wider_type(field.type, second.type))
        for field, second in zip(one, other, strict=True)
    )


def _table(partitions: pa.StructArray, fields: PartitionType) -> pa.Table:
    """Partitions as a table of promoted columns, and a column of zeros for specs without fields.

    All NaN are equal, whichever bits a writer gave them; both zeros are different, as in Java.
    """
    columns = [
        with_one_nan(promoted(column, field.type))
        for column, field in zip(partitions.flatten(), fields, strict=True)
    ]
    names = [f"p{field.id}" for field in fields]
    return pa.table([*columns, np.zeros(len(partitions), dtype=np.int8)], [*names, _NOTHING])


_NOTHING = "nothing"
"""A column whose values are all equal, so that specs without fields have one."""


def _numbered(tables: Sequence[pa.Table]) -> list[Numbers]:
    names = tables[0].column_names
    return numbered(tables, names[:-1] or names)


def _distinct(tables: Sequence[pa.Table], codes: Sequence[Numbers]) -> pa.Table:
    """The values of each number; numbers are in the order of their first rows."""
    greatest = np.maximum.accumulate(np.concatenate(codes))
    firsts = np.flatnonzero(np.diff(greatest, prepend=-1))
    return pa.concat_tables(tables).take(pa.array(firsts)).combine_chunks()
