"""Row groups of append tables are copied however small they are, so that tests need no large files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from lithify.files.parquet.copying import file_parts


@contextmanager
def copying_from(size: int) -> Iterator[None]:
    """Row groups are copied from this number of bytes on, whatever number of columns they have."""
    with patch.object(file_parts, "SMALLEST_COPIED", size), patch.object(file_parts, "SMALLEST_CHUNK", 0):
        yield
