"""Which files of a change store are consumed and old enough to leave it. Pure.

Called by `expiring`. A file may leave only if no reader needs it any more, which is more than that its
partition's line is above it:

- Readers load the metadata of both stores one after the other. One that loaded base before its line moved,
  and the change store after files left it, would miss their rows. So a line counts from `SETTLED_MILLIS` on
  after it moved.
- Version 0.4 adds insert files of the change store to base as they are. While base references such a file, it
  stays: expiry of the change store's snapshots deletes files that no later snapshot has.
- Streams read changes as they are written; the time to live of Amoro is for them.

Amoro compares the line with the transactions in names, which are at most the sequence numbers, and so removes
files that are committed late with an early transaction though nobody has merged them. Here sequence numbers
count, as for readers. Tables of version 0.3, whose line is a transaction, keep their files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flags, integers, whole
from lithify.engine.maintenance.spared_paths import names_of_paths
from lithify.errors import CorruptTable
from lithify.formats.iceberg.properties import is_true, number_in
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.mixed.optimized_line import NOTHING_MERGED, OptimizedLine

TIME_TO_LIVE = "change.data.ttl.minutes"
ENABLED = "table-expire.enabled"
"""Properties of Amoro, of the base store."""
SETTLED_MILLIS = 3_600_000
"""An hour: readers load both stores within seconds, and clocks of writers may differ."""
_WEEK = 7 * 24 * 60
_MINUTE = 60_000


def millis_to_live(properties: Mapping[str, str]) -> int | None:
    """Milliseconds from the commit of a change file until it may leave; None if files never do.

    Raises:
        InvalidOption: the value is no whole number.
    """
    minutes = number_in(properties, TIME_TO_LIVE, _WEEK)
    return minutes * _MINUTE if minutes >= 0 and is_true(properties, ENABLED, "true") else None


def metadata_file_at(metadata: TableMetadata, millis: int) -> str | None:
    """The metadata file that was a table's newest at a time; None if its log does not reach back so far.

    Raises:
        CorruptTable: the log has another form.
    """
    if metadata.last_updated <= millis:
        return metadata.file
    try:
        log = [(int(each["timestamp-ms"]), each) for each in metadata.json.get("metadata-log") or ()]
        older = [str(each["metadata-file"]) for moment, each in log if moment <= millis]
    except (KeyError, TypeError, ValueError) as error:
        problem = f"its metadata-log has no files with times ({type(error).__name__}: {error})"
        raise CorruptTable(metadata.file or metadata.location, problem) from error
    return older[-1] if older else None


def expired_rows(
    files: pa.Table,
    folders: Mapping[int, str],
    lines: Collection[OptimizedLine],
    moments: Mapping[int, int],
    before: int,
) -> Numbers:
    """The rows of files that may leave unless base references them, oldest first.

    Args:
        files: the live files of the change store, as a view has them.
        folders: the folders of their partitions by number.
        lines: the lines to which readers may hold; the lowest of them counts.
        moments: the commit times of snapshots by id. A file whose snapshot has expired is old, as for Amoro.
        before: the time before which files must have been committed. Times in milliseconds since 1970.
    """
    sequences = integers(files["sequence_number"]).astype(np.int64)
    is_consumed = sequences <= _lines_of(files, folders, lines)
    rows = np.flatnonzero(is_consumed & (_moments_of(files, moments) < before))
    return np.asarray(rows[np.argsort(sequences[rows], kind="stable")])


def referenced(paths: Any, by: Any) -> Flags:
    """Which paths are among those of another store; names alone are compared, since each is unique.

    Args:
        paths: a column of paths.
        by: a column of the paths of the other store.
    """
    return flags(pc.is_in(_names(paths), value_set=_names(by)))


def _lines_of(files: pa.Table, folders: Mapping[int, str], lines: Collection[OptimizedLine]) -> Numbers:
    """The line of each file's partition."""
    of_partition = np.full(max(folders, default=0) + 1, NOTHING_MERGED, dtype=np.int64)
    for number, folder in folders.items():
        of_partition[number] = min((each.sequence_of(folder) for each in lines), default=NOTHING_MERGED)
    return np.asarray(of_partition[integers(files["partition"]).astype(np.int64)])


def _moments_of(files: pa.Table, moments: Mapping[int, int]) -> Numbers:
    """When each file was committed; -1 if its snapshot has expired."""
    known: Sequence[int] = [*moments]
    places = pc.index_in(whole(files["snapshot_id"]), value_set=pa.array(known, pa.int64())).fill_null(-1)
    times = np.array([-1, *moments.values()], dtype=np.int64)
    return np.asarray(times[integers(places).astype(np.int64) + 1])


def _names(paths: Any) -> pa.Array:
    return names_of_paths(whole(paths).cast(pa.string()))
