"""Which table it is: tells it from another one that had, or will have, the same name.

Called by `observation` and, through `PaimonTable.uuid`, by the command line and drivers. A REST catalog gives
its tables ids. For others the first version of the schema stands for the table: its file is written once,
says to the millisecond when the table was created, and stays whatever happens to the schema later. A branch
has a copy of that file, so its name is added; a branch that was dropped and created again is the same one.
"""

from __future__ import annotations

from hashlib import sha256

from pypaimon.branch.branch_manager import BranchManager
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import MissingFile
from lithify.tables.paimon.catalog.file_access import storage_of

_LENGTH = 32
"""Hexadecimal digits of a UUID without its dashes; nothing reads them as one."""


def table_uuid(table: FileStoreTable) -> str:
    """What is the same for as long as the table exists, wherever it is moved, and never again after a drop.

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
    """Whether it is the table itself and none of its branches."""
    return bool(BranchManager.is_main_branch(table.current_branch()))


def home(table: FileStoreTable) -> str:
    """The folder of what each branch has for itself: snapshots, schemas, tags, changelogs, our journals.

    Data files, manifests, index files and statistics lie in the table's folder, whatever branch they are of.
    """
    folder: str = BranchManager.branch_path(table.table_path.rstrip("/"), table.current_branch())
    return folder
