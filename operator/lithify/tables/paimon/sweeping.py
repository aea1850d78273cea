"""Deletes the files of attempts that nothing refers to.

Called by `orphans`, `confirming` and the job's driver, who know that an attempt has committed or never can.
Lists the directories of the journal's buckets and that of the manifests, and knows an attempt's files by the
prefix in their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from lithify.errors import CorruptTable
from lithify.faults import reach
from lithify.tables.paimon.journal import Attempt, OutsideRoots
from lithify.tables.paimon.references import unreferenced
from lithify.tables.paimon.table import PaimonTable

LINGERING = timedelta(hours=1)
"""For so long after an attempt its tasks may go on writing, what it sent be under way, and others rename."""


def sweep(table: PaimonTable, *attempts: Attempt) -> int:
    """Deletes the files of attempts that nothing refers to; returns how many there were.

    Only to be called when each has committed or never can, and nothing that it sent is under way.

    Raises:
        CorruptTable: what refers to files cannot be read, so nothing was deleted.
    """
    data = {path: _name(path) for attempt in attempts for path in _data_files(table, attempt)}
    names = [name for attempt in attempts for name in table.manifests.names_with(attempt.prefix)]
    found = data | {table.manifests.path(name): name for name in names}
    if not found:
        return 0
    orphans = unreferenced(table, found.values())
    doomed = [path for path, name in found.items() if name in orphans]
    for path in doomed:
        table.storage.delete(path)
    reach("orphans-deleted")
    return len(doomed)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _data_files(table: PaimonTable, attempt: Attempt) -> Iterator[str]:
    """The files of an attempt, also those that a copy of the table would not have."""
    roots = [table.root]
    if attempt.outside is not None and knows_all_places(table, attempt):
        roots += attempt.outside.roots
    for folder in sorted({f"{root}/{unit.folder}" for unit in attempt.units for root in roots}):
        for path in table.storage.files_below(folder):
            if attempt.prefix in _name(path):
                yield path


def knows_all_places(table: PaimonTable, attempt: Attempt) -> bool:
    """Whether the directories into which an attempt wrote are this table's.

    Those outside are not if the table has been moved or copied since: in a copy the files there may be those
    of the original, and nothing tells which of two is the copy.
    """
    return attempt.outside is None or table.storage.is_same_place(attempt.outside.table, table.root)


def left_alone(table: PaimonTable, attempt: Attempt) -> CorruptTable:
    """Why the journal of an attempt is kept that knows directories which are not this table's."""
    outside = attempt.outside or OutsideRoots("", ())
    problem = (
        f"it was written for {outside.table}, so files in {' and '.join(outside.roots)} whose names contain "
        f"{attempt.prefix} were left alone; delete those that no table uses, then this journal"
    )
    return CorruptTable(table.journal.path(attempt), problem)
