"""Deletes the files of an expiry, once its snapshots have left the metadata.

Called by `snapshot_expiry`. The only module of this room that deletes what snapshots have named. What a crash
leaves is found by a journal, whatever the order; data goes before what names it all the same. To delete very
many files takes long, so the metadata is looked at again before each portion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, flagged, flags, listed
from lithify.faults import failpoint
from lithify.formats.iceberg.maintenance.doomed_files import DoomedFiles
from lithify.formats.iceberg.maintenance.named_files import FileKind
from lithify.io.storage import Storage

_AT_ONCE = 10_000
"""Paths that are Python texts at a time."""
_PHASES = {
    "files": (FileKind.DATA, FileKind.DELETES),
    "manifests": (FileKind.MANIFEST,),
    "lists": (FileKind.LIST, FileKind.STATISTICS),
}


def delete_files(
    storage: Storage, doomed: DoomedFiles, still_doomed: Callable[[DoomedFiles], DoomedFiles]
) -> Numbers:
    """Deletes those of some files that are the table's own; returns their number by `FileKind`.

    Args:
        storage: access to them; those that are gone are no error.
        doomed: the files.
        still_doomed: leaves out those that are needed again; asked for each portion before it is deleted.

    Raises:
        StorageError: the file system refuses; some are deleted.
    """
    counts = np.zeros(len(FileKind), dtype=np.int64)
    for name, kinds in _PHASES.items():
        for portion in _portions(doomed.own, kinds):
            left = still_doomed(replace(doomed, files=portion))
            storage.delete_all(listed(left.files["path"]))
            counts += left.counts
        failpoint(f"expired-{name}-deleted")
    return counts


def _portions(files: pa.Table, kinds: tuple[FileKind, ...]) -> Iterator[pa.Table]:
    chosen = flagged(files, flags(pc.is_in(files["kind"], value_set=pa.array([*kinds], pa.int8()))))
    for start in range(0, len(chosen), _AT_ONCE):
        yield chosen.slice(start, _AT_ONCE)
