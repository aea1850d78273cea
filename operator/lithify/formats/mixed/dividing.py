"""Divides the rows of a task between the nodes of the level that is written; a `RowDivider` of tasks.

Needed where the task has files of a node above that level; else all rows belong to one node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import Part
from lithify.files.types import Field
from lithify.formats.iceberg.model import Partition
from lithify.formats.iceberg.rewriting.destinations import Destination
from lithify.formats.mixed.file_names import FileKind, name_start
from lithify.formats.mixed.key_hashes import nodes_of


@dataclass(frozen=True, slots=True)
class NodeDivider:
    """Divides rows by the hashes of their keys.

    Attributes:
        key: the columns of the key, in its order.
        write_nodes: number of nodes at the level.
        partition: the partition of all rows.
        transaction: the transaction that names of new files have.
    """

    key: tuple[Field, ...]
    write_nodes: int
    partition: Partition
    transaction: int

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The node of each row."""
        columns = [rows.column(field.name) for field in self.key]
        return [nodes_of(columns, self.key, self.write_nodes - 1)]

    def split(self, rows: pa.RecordBatch) -> Iterator[tuple[Destination, pa.RecordBatch]]:
        """Rows in the order of their nodes, divided where the node changes."""
        nodes = np.asarray(self.parts(rows)[0])
        starts = np.flatnonzero(np.diff(nodes, prepend=-1)).tolist()
        for start, stop in zip(starts, [*starts[1:], rows.num_rows], strict=True):
            place = destination(int(nodes[start]), self.partition, self.transaction)
            yield place, rows.slice(start, stop - start)


def destination(node: int, partition: Partition, transaction: int) -> Destination:
    """Where rows of a node go: the name of their files begins with node, kind and transaction."""
    return Destination(partition, name_start(node, FileKind.BASE, transaction))
