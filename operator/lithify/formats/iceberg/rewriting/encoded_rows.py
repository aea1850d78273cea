"""Rows of other files that are added without decoding all of them, with lineage columns beside them.

Made by `packing`, added by `writer`; `EncodedRows` of `engine.rewrite.rolling`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.parquet.small_files import JoinedGroup


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """A row group that is copied.

    Attributes:
        group: the row group.
        lineage: its lineage columns, which are encoded; None in files without them.
    """

    group: CopiedGroup
    lineage: pa.Table | None

    @property
    def bytes(self) -> int:
        """Encoded bytes."""
        return self.group.bytes


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """The rows of small files, some columns of which are joined page by page.

    Attributes:
        group: the columns.
        lineage: the lineage columns, which are encoded; None in files without them.
    """

    group: JoinedGroup
    lineage: pa.Table | None

    @property
    def bytes(self) -> int:
        """Encoded bytes."""
        return self.group.bytes
