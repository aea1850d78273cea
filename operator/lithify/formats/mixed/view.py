"""The files of a keyed table in one pinned state: columns of base files and of changes that base has not yet.

Made by `pinning`; planning, inspection and observers work on it. Base and change files of a partition are
matched by its folder, which is also its name in the line. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers, integers
from lithify.errors import CorruptTable
from lithify.formats.iceberg.compaction.plan import PinnedView
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.table.partition_paths import PartitionSpec
from lithify.formats.iceberg.table.snapshots import Snapshot
from lithify.formats.mixed.file_names import FileKind, FileNames, names_in_base, names_in_change
from lithify.formats.mixed.optimized_line import OptimizedLine
from lithify.formats.protocol.model import SnapshotId


@dataclass(frozen=True, slots=True)
class KeyedColumns:
    """Files as columns, an element for each file; base files come first.

    Attributes:
        places: the folders of partitions, ascending.
        place: the partition of each file, as index in `places`.
        nodes: id of its node.
        transactions: id of its transaction.
        sequences: its data sequence number.
        sizes: its bytes.
        kinds: its kind, as index in `FileKind`.
        is_base: whether it is in the base store.
        rows: its row in the view of its store.
    """

    places: tuple[str, ...]
    place: Numbers
    nodes: Numbers
    transactions: Numbers
    sequences: Numbers
    sizes: Numbers
    kinds: Numbers
    is_base: Flags
    rows: Numbers

    def __len__(self) -> int:
        return len(self.place)

    def of_kind(self, kind: FileKind) -> Flags:
        """Which files are of a kind."""
        return np.asarray(self.kinds == list(FileKind).index(kind))


@dataclass(frozen=True, slots=True)
class MixedView:
    """A pinned state of a keyed table.

    Attributes:
        base: the base store; of data files only the selected ones.
        change: the live files of the change store, likewise.
        change_snapshot: the change store's snapshot; `EMPTY` if it has none.
        line: which changes base has.
        files: the files of both.
    """

    base: PinnedView
    change: View
    change_snapshot: Snapshot
    line: OptimizedLine
    files: KeyedColumns

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the base store's snapshot, which is that of commits; -1 if it has none yet."""
        return self.base.snapshot_id


def keyed_columns(
    base: View, change: View, base_spec: PartitionSpec, change_spec: PartitionSpec, line: OptimizedLine
) -> KeyedColumns:
    """The files of both stores, without changes that base already has."""
    sequences = integers(change.data["sequence_number"])
    names = (names_in_base(base.data["file_path"]), names_in_change(change.data["file_path"], sequences))
    folders = (folders_of(base, base.data, base_spec), folders_of(change, change.data, change_spec))
    places = tuple(sorted(set(folders[0].values()) | set(folders[1].values())))
    found = [_columns(*each, places) for each in zip((base, change), names, folders, strict=True)]
    joined = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
    _check_kinds(names[1])
    is_base = np.arange(len(joined["place"])) < len(base.data)
    unmerged = line.unmerged(places, joined["place"], joined["sequences"], joined["transactions"])
    stays = is_base | unmerged
    return KeyedColumns(
        places, is_base=is_base[stays], **{name: column[stays] for name, column in joined.items()}
    )


def folders_of(view: View, files: pa.Table, spec: PartitionSpec) -> Mapping[int, str]:
    """The folders of the partitions of some files by their numbers; a loop over the distinct ones only."""
    numbers = np.unique(integers(files["partition"])).tolist()
    return {number: spec.folder(view.partitions.partition(number)) for number in numbers}


def _check_kinds(names: FileNames) -> None:
    """Checks that change files are inserts or deletes: others would be passed over by the line.

    Raises:
        CorruptTable: one is not.
    """
    if not (names.of_kind(FileKind.INSERT) | names.of_kind(FileKind.DELETE)).all():
        raise CorruptTable("change store", "a file's name says that it has neither inserts nor deletes")


def _columns(
    view: View, names: FileNames, folders: Mapping[int, str], places: tuple[str, ...]
) -> dict[str, Numbers]:
    numbers = integers(view.data["partition"]).astype(np.int64)
    index = {place: number for number, place in enumerate(places)}
    of_partition = np.zeros(max(folders, default=0) + 1, dtype=np.int64)
    of_partition[list(folders)] = [index[folder] for folder in folders.values()]
    return {
        "place": of_partition[numbers],
        "nodes": names.nodes,
        "transactions": names.transactions,
        "sequences": integers(view.data["sequence_number"]).astype(np.int64),
        "sizes": integers(view.data["file_size_in_bytes"]).astype(np.int64),
        "kinds": names.kinds,
        "rows": np.arange(len(view.data), dtype=np.int64),
    }
