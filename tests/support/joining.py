"""Pages of small files are joined however small they are, so that tests need no large files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from lithify.files.parquet import small_files
from lithify.files.parquet.copying import file_parts, joined_files


@contextmanager
def joining_from(page: int = 1, group: int = 1, joined: int = 1) -> Iterator[None]:
    """Lowers the sizes from which pages of small files are joined.

    Args:
        page: uncompressed bytes of a column's average page.
        group: bytes of the files that become one row group.
        joined: uncompressed bytes of a file that have to be joined.
    """
    with ExitStack() as stack:
        for module in (small_files, joined_files):
            stack.enter_context(patch.object(module, "SMALLEST_PAGE", page))
        for module in (file_parts, joined_files):
            stack.enter_context(patch.object(module, "SMALLEST_COPIED", group))
        stack.enter_context(patch.object(file_parts, "SMALLEST_CHUNK", 1 << 30))  # nothing is copied as it is
        stack.enter_context(patch.object(joined_files, "LEAST_JOINED", joined))
        yield
