"""Makes the files of chosen partitions as objects, divided into the subtrees that tasks merge.

Called by planning. Position deletes apply to base files of their node and below (`BasicMixedFileScanTask`).
Readers of version 0.4 only apply those of the same node (`BasicArcticFileScanTask`), and those of Iceberg do
not know nodes. Where the readers of a table disagree about a delete, its partition cannot be merged; tasks
find out whether a disputed delete file is about a file at all.
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
        by_older: whether readers of version 0.4 read the table.
    """

    def __init__(self, view: MixedView, write_nodes: int, *, by_older: bool) -> None:
        self._files = view.files
        self._write_nodes = write_nodes
        self._by_older = by_older
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
                node, transaction = int(files.nodes[row]), int(files.transactions[row])
                related = replace(file, deletes=self._related(file, node))
                found[row] = KeyedFile(related, node, transaction, self._disputed(file, node))
        return found

    def _related(self, file: DataFile, node: int) -> tuple[DeleteFile, ...]:
        """The deletes that readers of today apply to a file."""
        return tuple(each for each in file.deletes if self._is_above(each, node))

    def _disputed(self, file: DataFile, node: int) -> tuple[DeleteFile, ...]:
        """The deletes that only some readers would apply to a file, if they are about it."""
        return tuple(each for each in file.deletes if self._is_disputed(each, node))

    def _is_disputed(self, delete: DeleteFile, node: int) -> bool:
        is_above, is_same = self._is_above(delete, node), self._nodes_of_deletes[delete.row] == node
        only_today = self._by_older and is_above and not is_same
        return only_today or (delete.referenced is not None and not is_above)

    def _is_above(self, delete: DeleteFile, node: int) -> bool:
        return bool(is_ancestor_or_same(self._nodes_of_deletes[delete.row], node))


def _objects_of(view: View, unpartitioned: frozenset[int]) -> FileObjects:
    return FileObjects(view, delete_index(view.data, view.deletes, unpartitioned))


def _nodes_of_deletes(view: View) -> Mapping[int, int]:
    """The nodes of a store's delete files by their rows; those without one in their names are of the root."""
    return dict(enumerate(names_in_base(view.deletes["file_path"]).nodes.tolist()))
