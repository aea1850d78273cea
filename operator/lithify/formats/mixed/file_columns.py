"""The files of a keyed table as rows: what figures of partitions are made of, in plans and observations.

Called by planning and observers. A row is a base file, an unmerged change file, or a position delete file of
the base store that applies to one of its files. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, flagged, integers, is_one_of, listed, whole
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.manifests.commit_times import commit_millis
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import WHOLE, PartitionSpec
from lithify.formats.mixed.file_names import FileKind
from lithify.formats.mixed.needed_deletes import needed_deletes
from lithify.formats.mixed.optimized_line import NOTHING_MERGED
from lithify.formats.mixed.view import MixedView, folders_of
from lithify.formats.protocol.model import fingerprint_of

_NEEDED = ["file_path", "file_size_in_bytes", "record_count", "sequence_number", "snapshot_id"]
FILES = pa.schema(
    {
        "group": pa.string(),
        "path": pa.string(),
        "offset": pa.int64(),
        "kind": pa.int64(),
        "size": pa.int64(),
        "rows": pa.int64(),
        "sequence": pa.int64(),
        "millis": pa.int64(),
        "line": pa.int64(),
        "optimized": pa.int64(),
    }
)
"""The columns of each file.

`group` is the folder of its partition; `offset` is -1; `kind` the index in `FileKind`: of change files
inserts and deletes, and base and position delete files of the base store. `millis` is when it was committed,
0 if that snapshot had expired; `line` is that of its partition, and `optimized` when it was merged last, 0 if
never.
"""


def files_of(view: MixedView, change: TableMetadata, spec: PartitionSpec) -> pa.Table:
    """The files of a view, base files first.

    Args:
        view: the view.
        change: the metadata of the change store.
        spec: the partition spec of the base store.
    """
    files, base = view.files, view.base
    kinds = np.where(files.is_base, kind_number(FileKind.BASE), files.kinds)
    parts = [
        _rows(base.view.data, files.rows[files.is_base], base.metadata.commit_times),
        _rows(view.change.data, files.rows[~files.is_base], change.commit_times),
    ]
    joined = pa.concat_tables(parts)
    groups = pa.array(files.places, pa.string()).take(pa.array(files.place))
    own = _with(joined, groups, kinds)
    deletes = _deletes(base.view, base.metadata, spec)
    found = pa.concat_tables([own, deletes])
    of_partition = {
        "line": _of_partitions(found["group"], view.line.sequences, NOTHING_MERGED),
        "optimized": _of_partitions(found["group"], view.line.times, 0),
    }
    columns = {**{name: found[name] for name in found.column_names}, **of_partition}
    return pa.table([columns[name] for name in FILES.names], FILES.names).cast(FILES)


def fingerprint_in(files: pa.Table, folder: str) -> str:
    """Identifies the files of a partition among some files; the same for the same files."""
    own = flagged(files, is_one_of(files["group"], [folder]))
    return fingerprint_of(zip(listed(own["path"]), listed(own["kind"]), strict=True))


def folder_of(group: IcebergGroup) -> str:
    """The folder of a group's partition."""
    return "" if group.place == WHOLE else group.place


def kind_number(kind: FileKind) -> int:
    """The number of a kind in columns."""
    return list(FileKind).index(kind)


def _deletes(view: View, metadata: TableMetadata, spec: PartitionSpec) -> pa.Table:
    rows = np.flatnonzero(needed_deletes(view))
    folders = folders_of(view, view.deletes, spec)
    groups = pa.array(
        [folders[number] for number in integers(view.deletes["partition"])[rows].tolist()], pa.string()
    )
    kinds = np.full(len(rows), kind_number(FileKind.POSITION_DELETE), dtype=np.int64)
    return _with(_rows(view.deletes, rows, metadata.commit_times), groups, kinds)


def _rows(table: pa.Table, rows: Numbers, times: Mapping[int, int]) -> pa.Table:
    chosen = table.select(_NEEDED).take(pa.array(rows))
    return pa.table(
        {
            "path": chosen["file_path"],
            "offset": np.full(len(chosen), -1, dtype=np.int64),
            "size": chosen["file_size_in_bytes"],
            "rows": chosen["record_count"],
            "sequence": chosen["sequence_number"],
            "millis": commit_millis(chosen["snapshot_id"], times),
        }
    )


def _with(rows: pa.Table, groups: pa.Array, kinds: Numbers) -> pa.Table:
    columns = {name: rows[name] for name in rows.column_names}
    return pa.table({"group": groups, **columns, "kind": kinds})


def _of_partitions(groups: pa.ChunkedArray, values: Mapping[str, int], otherwise: int) -> Numbers:
    """The value of each file's partition."""
    known = pa.array([*values], pa.string())
    every = np.array([otherwise, *values.values()], dtype=np.int64)
    places = pc.index_in(whole(groups), value_set=known).fill_null(-1)
    found: Numbers = every[integers(places).astype(np.int64) + 1]
    return found
