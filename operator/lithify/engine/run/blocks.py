"""The error of a run that could do nothing because of blocked groups. Used by `driver` and by dry runs."""

from __future__ import annotations

from collections.abc import Sequence

from lithify.errors import CorruptTable, LithifyError, with_message
from lithify.formats.protocol.results import Block

_REMEDY = "restore its files or rewrite them with the engine that writes the table, then compact again"


def error_of(table: str, blocks: Sequence[Block]) -> LithifyError:
    """The error of a run whose only remaining work is blocked groups: that of the first group.

    A corrupt group goes before one that is merely not supported.
    """
    first = min(blocks, key=lambda block: (not block.told.is_corrupt, block.told.group))
    others = f" ({len(blocks) - 1} more like it)" if len(blocks) > 1 else ""
    said = f"{table}: {first.told.group} cannot be compacted: {first.error}{others}"
    remedy = f"; {_REMEDY}" if isinstance(first.error, CorruptTable) else ""
    return with_message(first.error, f"{said}; nothing was committed{remedy}")
