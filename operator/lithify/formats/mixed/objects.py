"""Makes the files of chosen partitions as objects, divided into the subtrees that tasks merge.

Called by planning. Position deletes that name no data file apply to base files of their node and below, as
Amoro's `BasicMixedFileScanTask` has it; manifests only tell their partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from lithify.columns.column_groups import Numbers
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import DataFile, DeleteFile
from lithify.formats.mixed.file_names import FileKind, names_in_base
from lithify.formats.mixed.nodes import is_ancestor_or_same, subtrees
from lithify.formats.mixed.units import KeyedFile, Subtree
from lithify.formats.mixed.view import MixedView


class KeyedObjects:
    """The objects of a view.

    Args:
        view: the pinned state.
        write_nodes: number of nodes at the level that is written.
    """

    def __init__(self, view: MixedView, write_nodes: int) -> None:
        self._files = view.files
        self._write_nodes = write_nodes
        self._base = _objects_of(view.base.view, view.base.metadata.unpartitioned_specs)
        self._change = _objects_of(replace(view.change, deletes=view.change.deletes.slice(0, 0)), frozenset())
        self._nodes_of_deletes = _nodes_of_deletes(view.base.view)

    def subtrees(self, rows: Numbers) -> Iterator[Subtree]:
        """Divides the files of one partition into subtrees, by ascending root.

        Args:
            rows: rows of the view's columns.
        """
        files = self._files
        roots = subtrees(files.nodes[rows], self._write_nodes)
        objects = self._objects(rows)
        inserts, deletes = files.of_kind(FileKind.INSERT), files.of_kind(FileKind.DELETE)
        for root in np.unique(roots).tolist():
            chosen = rows[roots == root]
            yield Subtree(
                root,
                base=tuple(objects[row] for row in chosen[files.is_base[chosen]].tolist()),
                inserts=tuple(objects[row] for row in chosen[inserts[chosen]].tolist()),
                deletes=tuple(objects[row] for row in chosen[deletes[chosen]].tolist()),
            )

    def _objects(self, rows: Numbers) -> Mapping[int, KeyedFile]:
        files, found = self._files, dict[int, KeyedFile]()
        for chosen, objects in (
            (rows[files.is_base[rows]], self._base),
            (rows[~files.is_base[rows]], self._change),
        ):
            for row, file in zip(chosen.tolist(), objects.data_files(files.rows[chosen]), strict=True):
                node = int(files.nodes[row])
                related = replace(file, deletes=self._related(file, node))
                found[row] = KeyedFile(related, node, int(files.transactions[row]))
        return found

    def _related(self, file: DataFile, node: int) -> tuple[DeleteFile, ...]:
        return tuple(
            each
            for each in file.deletes
            if each.referenced is not None
            or bool(is_ancestor_or_same(self._nodes_of_deletes[each.row], node))
        )


def _objects_of(view: View, unpartitioned: frozenset[int]) -> FileObjects:
    return FileObjects(view, delete_index(view.data, view.deletes, unpartitioned))


def _nodes_of_deletes(view: View) -> Mapping[int, int]:
    """The nodes of a store's delete files by their rows; those without one in their names are of the root."""
    return dict(enumerate(names_in_base(view.deletes["file_path"]).nodes.tolist()))
