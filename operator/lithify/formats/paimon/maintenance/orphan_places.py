"""Which files of a table's folder may be orphans, by their paths alone. Pure.

Called by `orphan_removal` with batches of a listing. A file is a candidate only if it lies where Paimon puts
such files and its name has the form that Paimon's writers and ours use. Java (`OrphanFilesClean`) looks at
the same folders and takes every name in them. So snapshots, tags, schemas, consumers, hints, journals, files
of kinds that this release does not know, and whatever else people keep in the folder are never candidates.

Files in `data-file.external-paths` are found, but only to be counted: nothing there says whose they are, and
two tables, or a table and its copy, may have the same path. Folders in the table's folder that are tables of
their own are not searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

from lithify.engine.attempts.names import ANY_UUID
from lithify.engine.maintenance.file_places import FilePlaces
from lithify.files.names import FORMATS
from lithify.formats.paimon.names.file_names import INDEX_FOLDER
from lithify.formats.paimon.names.partition_names import escape
from lithify.io.local_files import TEMPORARY

_INDEX_FILE = rf"index-{ANY_UUID}-[0-9]+"
_DATA_FILE = rf"[^/]*{ANY_UUID}-[0-9]+(?:\.[a-z0-9_]+)?\.(?:{'|'.join(FORMATS)})(?:(?:-[0-9]+)?\.index)?"
_MANIFEST = rf"(?:manifest|manifest-list|index-manifest)-{ANY_UUID}-[0-9]+"
_RENAMED = r"(?:snapshot-[0-9]+|changelog-[0-9]+|EARLIEST|LATEST)"
_TEMPORARY = rf"(?:\.{_RENAMED}\.{ANY_UUID}\.tmp|{re.escape(TEMPORARY)}{_RENAMED}\.{ANY_UUID})"
"""Java writes snapshots and hints under such names and renames them (`Path.createTempPath`), and so do we."""
_METADATA = (
    rf"manifest/{_MANIFEST}|statistics/stat-{ANY_UUID}-[0-9]+"
    rf"|(?:branch/branch-[^/]+/)?(?:snapshot|changelog)/{_TEMPORARY}"
)
_ENTROPY = r"(?:[01]{4}/[01]{4}/[01]{4}/[01]{8}/)?"
"""Folders of the strategy `entropy-inject`."""
_OTHER_TABLE = (
    r"^(?P<folder>.+)/(?:schema/schema-[0-9]+|snapshot/snapshot-[0-9]+|metadata/[^/]*\.metadata\.json)$"
)
_BRANCH = re.compile(r"branch/branch-[^/]+")


class FileKind(IntEnum):
    """What a candidate is."""

    DATA = 0
    INDEX = 1
    METADATA = 2


FIGURES = ("dataFiles", "indexFiles", "metadataFiles")
"""The figure of each kind."""


class OrphanPlaces(FilePlaces):
    """The places of one table's files.

    Args:
        partition_keys: the partition columns.
        directory: the folder of all data files in the table's, empty for that itself.
    """

    def __init__(self, partition_keys: Sequence[str], directory: str) -> None:
        bucket = _bucket(partition_keys, directory)
        patterns: dict[int, str] = {
            FileKind.DATA: rf"^{bucket}/{_DATA_FILE}$",
            FileKind.INDEX: rf"^(?:{bucket}|{INDEX_FOLDER})/{_INDEX_FILE}$",
            FileKind.METADATA: rf"^(?:{_METADATA})$",
        }
        super().__init__(patterns, _OTHER_TABLE, lambda folder: _BRANCH.fullmatch(folder) is not None)


class ExternalPlaces(FilePlaces):
    """The places of one table's files in an external path; arguments are those of `OrphanPlaces`."""

    def __init__(self, partition_keys: Sequence[str], directory: str) -> None:
        folder = f"{_bucket(partition_keys, directory)}/{_ENTROPY}"
        patterns: dict[int, str] = {
            FileKind.DATA: rf"^{folder}{_DATA_FILE}$",
            FileKind.INDEX: rf"^{folder}{_INDEX_FILE}$",
        }
        super().__init__(patterns, _OTHER_TABLE, lambda _: False)


def _bucket(partition_keys: Sequence[str], directory: str) -> str:
    """Pattern of the folders of buckets."""
    levels = [*([directory] if directory else []), *(f"{escape(key)}=" for key in partition_keys)]
    folders = "".join(f"{re.escape(level)}{'[^/]*' if level.endswith('=') else ''}/" for level in levels)
    return rf"{folders}bucket-(?:[0-9]+|postpone)"
