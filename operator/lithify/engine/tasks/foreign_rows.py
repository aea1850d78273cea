"""Reports what the library of a format cannot read for a canary.

Called by adapters around all that such a library plans and reads (`formats.protocol.canary`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lithify.errors import LithifyError, MissingFile, UnsupportedTable

_MOST_TOLD = 500
"""Characters of a library's message."""


def not_checked(table: str, *reasons: str) -> UnsupportedTable:
    """The error for a table that can have no canary."""
    return UnsupportedTable(table, reasons, "checked by a canary")


@contextmanager
def foreign_reading(table: str, library: str, what: str, path: str) -> Iterator[None]:
    """Turns what a library raises into our errors.

    Args:
        table: name of the table.
        library: name of the library.
        what: what it reads, for people.
        path: the file that it reads first.

    Raises:
        MissingFile: a file is gone.
        UnsupportedTable: the library cannot read it.
        LithifyError, OSError, MemoryError: as they are raised.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except (LithifyError, OSError, MemoryError):
        raise
    except Exception as error:
        problem = " ".join(str(error).split())[:_MOST_TOLD]
        reason = f"option canary: {library} cannot read {what} ({type(error).__name__}: {problem})"
        raise not_checked(table, reason) from error
