"""Deletes the files of an expiry, once its snapshots have left the metadata.

Called by `snapshot_expiry`. The only module of this room that deletes what snapshots have named. What a crash
leaves is found by a journal, whatever the order; data goes before what names it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import flagged, flags, listed
from lithify.faults import failpoint
from lithify.formats.iceberg.maintenance.named_files import FileKind
from lithify.io.storage import Storage

_AT_ONCE = 10_000
"""Paths that are Python texts at a time."""
_PHASES = {
    "files": (FileKind.DATA, FileKind.DELETES),
    "manifests": (FileKind.MANIFEST,),
    "lists": (FileKind.LIST, FileKind.STATISTICS),
}


def delete_files(storage: Storage, files: pa.Table) -> None:
    """Deletes files; those that are gone are no error.

    Raises:
        StorageError: the file system refuses; some are deleted.
    """
    for name, kinds in _PHASES.items():
        for paths in _portions(files, kinds):
            storage.delete_all(paths)
        failpoint(f"expired-{name}-deleted")


def _portions(files: pa.Table, kinds: tuple[FileKind, ...]) -> Iterator[list[str]]:
    chosen = flagged(files, flags(pc.is_in(files["kind"], value_set=pa.array([*kinds], pa.int8()))))
    for start in range(0, len(chosen), _AT_ONCE):
        yield listed(chosen["path"].slice(start, _AT_ONCE))
