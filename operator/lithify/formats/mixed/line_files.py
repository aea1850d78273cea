"""The optimized line in Puffin files, which versions from 0.6.1 on register as statistics of snapshots.

Called by `stored_line` and by commits. The summary of a snapshot with a file says so, and later snapshots
without one have the line of their nearest ancestor. A file has the lines of all partitions, a blob for the
sequence numbers and one for the times. Follows `MixedTableUtil` and `StatisticsFileUtil` of Amoro. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lithify.errors import CorruptTable
from lithify.files.puffin import Blob, PuffinFile, parse_footer, puffin_file
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import Snapshot
from lithify.formats.mixed.optimized_line import OptimizedLine
from lithify.formats.mixed.partition_keys import PartitionKeys

SEQUENCES, TIMES = "optimized-sequence", "base-optimized-time"
"""The types of the blobs."""
FOLDER = "puffin"
"""The folder of such files, below that of the data."""
_FLAG = ".exist"
_END = 1 << 63


@dataclass(frozen=True, slots=True)
class LineFile:
    """A Puffin file with a blob of the line, as table metadata name it: its location and bytes."""

    path: str
    size: int


def summary_flags() -> Mapping[str, str]:
    """The notes in the summary of a snapshot with a file; readers only ask whether there are such notes."""
    return {f"{kind}{_FLAG}": "true" for kind in (SEQUENCES, TIMES)}


def flagged_snapshot(metadata: TableMetadata, branch: str, kind: str) -> Snapshot | None:
    """The newest snapshot of a branch whose summary says that it has a blob; None if none does.

    The walk ends where a parent is expired; readers then fall back on the property.
    """
    ancestry = metadata.ancestry(branch)
    return next((each for each in ancestry if f"{kind}{_FLAG}" in each.summary), None)


def line_file(metadata: TableMetadata, branch: str, kind: str) -> LineFile | None:
    """The file with a blob of the line of a branch; None if no snapshot has one.

    Raises:
        CorruptTable: the snapshot that should have one has none or several, which readers refuse.
    """
    snapshot = flagged_snapshot(metadata, branch, kind)
    if snapshot is None:
        return None
    entries = [
        entry
        for entry in metadata.json.get("statistics") or ()
        if entry.get("snapshot-id") == snapshot.id
        and any(blob.get("type") == kind for blob in entry.get("blob-metadata") or ())
    ]
    if len(entries) != 1:
        problem = f"snapshot {snapshot.id} has {len(entries)} files with its {kind} instead of one"
        raise CorruptTable(metadata.file or metadata.location, problem)
    return LineFile(str(entries[0]["statistics-path"]), int(entries[0]["file-size-in-bytes"]))


def parse_blob(data: bytes, path: str, kind: str, keys: PartitionKeys) -> Mapping[str, int]:
    """The numbers in a blob, by partition.

    Args:
        data: all bytes of a Puffin file.
        path: its location.
        kind: the type of the blob.
        keys: the names of the partitions.

    Raises:
        CorruptTable: the file is damaged, or has no blob of this type or several.
        UnsupportedTable: it is compressed.
    """
    blobs = [blob for blob in parse_footer(data, path) if blob.type == kind]
    if len(blobs) != 1:
        raise CorruptTable(path, f"it has {len(blobs)} blobs {kind} instead of one")
    try:
        found = json.loads(data[blobs[0].offset : blobs[0].offset + blobs[0].length])
        return {keys.read(name): _number(value) for name, value in found.items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptTable(path, f"its {kind} has no numbers by partition") from error


def write_line(line: OptimizedLine, snapshot: int, sequence: int) -> PuffinFile:
    """The file of a snapshot, with the lines of all partitions.

    Args:
        line: the line after the commit.
        snapshot: id of the snapshot.
        sequence: its sequence number.
    """
    numbers = {SEQUENCES: line.sequences, TIMES: line.times}
    return puffin_file(
        [
            (Blob(kind, (), snapshot, sequence), json.dumps(dict(each)).encode())
            for kind, each in numbers.items()
        ]
    )


def statistics_entry(file: PuffinFile, path: str, snapshot: int) -> Mapping[str, Any]:
    """The entry of a file among the statistics in table metadata; of a later snapshot, too, if it has it.

    Args:
        file: the file.
        path: its location.
        snapshot: id of the snapshot that gets it.
    """
    return {
        "snapshot-id": snapshot,
        "statistics-path": path,
        "file-size-in-bytes": len(file.data),
        "file-footer-size-in-bytes": file.footer_bytes,
        "blob-metadata": [
            {
                "type": blob.type,
                "snapshot-id": blob.snapshot,
                "sequence-number": blob.sequence,
                "fields": list(blob.fields),
            }
            for blob in file.blobs
        ],
    }


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_END <= value < _END:
        raise TypeError(value)
    return value
