"""Which files of an Iceberg table's folders may be orphans, by their paths alone. Pure.

Called by `orphan_removal` with batches of a listing. A candidate lies in the folder of data files or in that
of metadata, and its name has a UUID, as the names have that Java, pyiceberg, Trino and Lithify give. Java's
`DeleteOrphanFilesSparkAction` takes every name anywhere in the table's location. Metadata files
(`*.metadata.json`) are never candidates: another catalog may have one of them as its newest. Those that
crashed commits of Lithify have left under other names are.

Files are compared by name, not by location, because a location may be spelled in several ways: `s3` and
`s3a`, with another authority, or as before the table was moved. Java compares locations, and has modes for
those that do not match.
"""

from __future__ import annotations

import re
from enum import IntEnum

from lithify.engine.attempts.names import ANY_UUID
from lithify.engine.maintenance.file_places import FilePlaces
from lithify.io.local_files import TEMPORARY

_START = r"(?:[A-Za-z0-9][A-Za-z0-9._-]*)?"
"""Letters that are the same in locations and in listings; hidden files are somebody's work in progress."""
_STEM = rf"{_START}{ANY_UUID}[A-Za-z0-9._-]*"
_DATA_FILE = rf"{_STEM}\.(?:parquet|orc|avro|puffin)"
_UNNAMED = rf"{re.escape(TEMPORARY)}(?:version-hint\.text|.+\.metadata\.json)\.{ANY_UUID}"
"""What a commit of ours wrote beside a file's place and never renamed."""
_METADATA_FILE = rf"(?:{_STEM}\.(?:avro|stats|puffin|parquet)|{_UNNAMED})"
_FOLDERS = r"(?:[^/._][^/]*/)*"
"""Partitions and hashes, but no hidden folders."""
_OTHER_TABLE = r"^(?P<folder>.+)/metadata/[^/]*\.metadata\.json(?:\.gz)?$"


class FileKind(IntEnum):
    """What a candidate is."""

    DATA = 0
    METADATA = 1


FIGURES = ("dataFiles", "metadataFiles")
"""The figure of each kind."""


class OrphanPlaces(FilePlaces):
    """The places of one table's files.

    Args:
        data_folder: the folder of data files, relative to the table's.
        metadata_folder: the folder of metadata, likewise.
    """

    def __init__(self, data_folder: str, metadata_folder: str) -> None:
        patterns: dict[int, str] = {
            FileKind.DATA: rf"^{re.escape(data_folder)}/{_FOLDERS}{_DATA_FILE}$",
            FileKind.METADATA: rf"^{re.escape(metadata_folder)}/{_METADATA_FILE}$",
        }
        own = metadata_folder.rpartition("/")[0]
        super().__init__(patterns, _OTHER_TABLE, lambda folder: folder == own)
