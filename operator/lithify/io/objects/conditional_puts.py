"""Checks that an object store honours conditional puts, on which commits and journals depend.

Called by adapters before a run, because not all stores do; docs/design/0009-object-stores.md has more.
"""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

from lithify.errors import LithifyError, NotAllowed, StorageError, StorageUnavailable, UnsupportedTable
from lithify.io.local_files import TEMPORARY
from lithify.io.objects.files import StoreFiles
from lithify.io.small_files import MOST_JSON

_FIRST, _SECOND = "first", "second"


def check_heeded(table: str, root: str, objects: StoreFiles) -> None:
    """Checks that a store refuses to create an existing object; three small requests in the table's folder.

    Raises:
        UnsupportedTable: it overwrites, or does not support conditional puts.
        NotAllowed: the credentials may not write there.
        StorageUnavailable: it does not answer.
    """
    # If a crash leaves it behind, it is cleaned up like other temporary files.
    probe = f"{root}/lithify/attempts/{TEMPORARY}probe-{uuid4()}"
    condition = objects.dialect.condition
    try:
        if not objects.create(probe, _FIRST):
            raise _unsupported(table, root, f"refuses {condition} where nothing is")
        heeded = not objects.create(probe, _SECOND) and objects.read(probe, MOST_JSON) == _FIRST.encode()
    except (NotAllowed, StorageUnavailable):
        raise
    except (StorageError, FileNotFoundError) as error:
        raise _unsupported(table, root, f"refuses {condition} ({error})") from error
    finally:
        with suppress(LithifyError):
            objects.delete(probe)
    if not heeded:
        raise _unsupported(table, root, f"ignores {condition}, so that commits could overwrite each other")


def _unsupported(table: str, root: str, problem: str) -> UnsupportedTable:
    remedy = "use a store that heeds it, or a REST catalog that commits"
    return UnsupportedTable(table, (f"table location = {root}: the store {problem}; {remedy}",))
