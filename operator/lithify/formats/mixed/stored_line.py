"""Reads the optimized line of a base store, from whichever of its two forms readers use.

Called by whatever opens a keyed table. A snapshot with a Puffin file counts, as soon as there is one; before,
it is the property. So what stays in the property of a younger table is not of interest. Pure but for `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.mixed.line_files import SEQUENCES, TIMES, LineFile, line_file, parse_blob
from lithify.formats.mixed.line_properties import parse_line
from lithify.formats.mixed.optimized_line import OptimizedLine
from lithify.formats.mixed.partition_keys import PartitionKeys

Reader = Callable[[LineFile], bytes]
"""Reads a file whole."""


def is_in_files(metadata: TableMetadata, branch: str) -> bool:
    """Whether the line of a branch is in Puffin files, so that a commit has to write one.

    Otherwise it is in the property, which readers of all versions use then.
    """
    return line_file(metadata, branch, SEQUENCES) is not None


def read_line(metadata: TableMetadata, branch: str, keys: PartitionKeys, read: Reader) -> OptimizedLine:
    """The line of a branch.

    Args:
        metadata: the metadata of the base store.
        branch: the branch.
        keys: the names of its partitions.
        read: reads a Puffin file; called at most once for each.

    Raises:
        CorruptTable: it is stored in another form.
        UnsupportedTable: a Puffin file is compressed.
    """
    stored = parse_line(metadata.properties, keys)
    files = {kind: line_file(metadata, branch, kind) for kind in (SEQUENCES, TIMES)}
    data = {file: read(file) for file in dict.fromkeys(files.values()) if file is not None}

    def numbers(kind: str, otherwise: Mapping[str, int]) -> Mapping[str, int]:
        file = files[kind]
        return otherwise if file is None else parse_blob(data[file], file.path, kind, keys)

    sequences, times = numbers(SEQUENCES, stored.sequences), numbers(TIMES, stored.times)
    return OptimizedLine(sequences, times, {} if files[SEQUENCES] else stored.transactions)
