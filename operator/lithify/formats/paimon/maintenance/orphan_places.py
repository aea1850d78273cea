"""Which files of a table's folder may be orphans, by their paths alone. Pure.

Called by `orphan_removal` with batches of a listing. A file is a candidate only if it lies where Paimon puts
such files and its name has the form that Paimon's writers and ours use. Java (`OrphanFilesClean`) looks at
the same folders and takes every name in them. So snapshots, tags, schemas, consumers, hints, journals, files
of kinds that this release does not know, and whatever else people keep in the folder are never candidates.

Not searched are the folders of `data-file.external-paths`: nothing in them says whose files they are, and two
tables may have the same one. Nor are folders in the table's folder that are tables of their own.
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

_INDEX_FILE = rf"index-{ANY_UUID}-[0-9]+"
_DATA_FILE = rf"[^/]*{ANY_UUID}-[0-9]+(?:\.[a-z0-9_]+)?\.(?:{'|'.join(FORMATS)})(?:(?:-[0-9]+)?\.index)?"
_MANIFEST = rf"(?:manifest|manifest-list|index-manifest)-{ANY_UUID}-[0-9]+"
_TEMPORARY = rf"\.(?:snapshot-[0-9]+|changelog-[0-9]+|EARLIEST|LATEST)\.{ANY_UUID}\.tmp"
"""Java writes snapshots and hints under such names and renames them (`Path.createTempPath`)."""
_METADATA = (
    rf"manifest/{_MANIFEST}|statistics/stat-{ANY_UUID}-[0-9]+"
    rf"|(?:branch/branch-[^/]+/)?(?:snapshot|changelog)/{_TEMPORARY}"
)
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
        levels = [*([directory] if directory else []), *(f"{escape(key)}=" for key in partition_keys)]
        folders = "".join(f"{re.escape(level)}{'[^/]*' if level.endswith('=') else ''}/" for level in levels)
        bucket = rf"{folders}bucket-(?:[0-9]+|postpone)"
        patterns: dict[int, str] = {
            FileKind.DATA: rf"^{bucket}/{_DATA_FILE}$",
            FileKind.INDEX: rf"^(?:{bucket}|{INDEX_FOLDER})/{_INDEX_FILE}$",
            FileKind.METADATA: rf"^(?:{_METADATA})$",
        }
        super().__init__(patterns, _OTHER_TABLE, lambda folder: _BRANCH.fullmatch(folder) is not None)
