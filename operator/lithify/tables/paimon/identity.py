"""Which table it is: tells it from another one that had, or will have, the same name.

Called by `observation` and, through `PaimonTable.uuid`, by the command line and drivers. A REST catalog gives
its tables ids. For others the first version of the schema stands for the table: its file is written once,
says to the millisecond when the table was created, and stays whatever happens to the schema later.
"""

from __future__ import annotations

from hashlib import sha256

from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import MissingFile
from lithify.tables.paimon.storage import Storage

_LENGTH = 32
"""Hexadecimal digits of a UUID without its dashes; nothing reads them as one."""


def table_uuid(table: FileStoreTable) -> str:
    """What is the same for as long as the table exists, wherever it is moved, and never again after a drop.

    Raises:
        MissingFile: the first version of its schema is gone.
        StorageError: the file system refuses.
    """
    known: str | None = table.catalog_environment.uuid
    if known:
        return known
    path = f"{table.schema_manager.schema_path}/schema-0"
    text = Storage(table.file_io).read_text(path)
    if text is None:
        raise MissingFile(path)
    return sha256(text.encode()).hexdigest()[:_LENGTH]
