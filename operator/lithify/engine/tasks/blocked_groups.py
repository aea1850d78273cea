"""Reports groups that cannot be compacted while their files stay as they are.

Called by adapters, which find such groups by metadata when they observe a table, and by files when they plan
and rewrite. Pure. Only errors about the files of one group are handled here; problems of a store, a catalog
or the whole table end a run or an observation.
"""

from __future__ import annotations

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.protocol.model import BlockedGroup

GroupError = CorruptTable | UnsupportedTable
"""Errors that may concern the files of a single group."""

GROUP_ERRORS = (CorruptTable, UnsupportedTable)
"""The same errors, for `except`."""


def blocked_group(table: str, group: str, error: GroupError, fingerprint: str) -> BlockedGroup:
    """Reports the group that an error concerns.

    Args:
        table: `database.table`, which the problem does not repeat.
        group: its path.
        error: the error.
        fingerprint: fingerprint of all its live files.
    """
    return BlockedGroup(
        group=group,
        is_corrupt=isinstance(error, CorruptTable),
        problem=problem_of(error, table),
        fingerprint=fingerprint,
    )


def problem_of(error: GroupError, table: str) -> str:
    """The file, without its directory, and the problem of the file or of one of its columns."""
    if isinstance(error, CorruptTable):
        return f"{_name(error.path)}: {error.problem}"
    reasons = "; ".join(error.reasons)
    return reasons if error.table == table else f"{_name(error.table)}: {reasons}"


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
