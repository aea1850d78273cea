"""The identity of a table: distinguishes it from earlier and later tables of the same name.

Called by `observer` and, through `PaimonTable.uuid`, by the command line and drivers. REST catalogs assign
ids to their tables. For other catalogs the first version of the schema identifies the table: its file is
written once, has the table's creation time in milliseconds, and survives all schema changes. A branch has a
copy of that file, so its name is added; a branch that is dropped and created again counts as the same one.
"""

from __future__ import annotations

from hashlib import sha256

from pypaimon.branch.branch_manager import BranchManager
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import MissingFile
from lithify.formats.paimon.access.file_access import storage_of

_LENGTH = 32
"""Hexadecimal digits, as many as in a UUID without dashes; never parsed as one."""


def table_uuid(table: FileStoreTable) -> str:
    """An id that stays the same while the table exists, even if it is moved, and is not reused after a drop.

    Raises:
        MissingFile: the first version of its schema is gone.
        StorageError: the file system refuses.
    """
    known: str | None = table.catalog_environment.uuid
    branch = "" if is_main(table) else f"${table.current_branch()}"
    if known and not branch:
        return known
    path = f"{table.schema_manager.schema_path}/schema-0"
    text = known or storage_of(table.file_io).read_text(path)
    if text is None:
        raise MissingFile(path)
    return sha256(f"{text}{branch}".encode()).hexdigest()[:_LENGTH]


def is_main(table: FileStoreTable) -> bool:
    """Whether it is the main branch."""
    return bool(BranchManager.is_main_branch(table.current_branch()))


def home(table: FileStoreTable) -> str:
    """The folder of a branch's own files: snapshots, schemas, tags, changelogs, our journals.

    Data files, manifests, index files and statistics are in the table's folder for all branches.
    """
    folder: str = BranchManager.branch_path(table.table_path.rstrip("/"), table.current_branch())
    return folder
