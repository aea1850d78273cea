"""The prefixes of attempts that have a journal: their files are not orphans, but the concern of clean-up.

Called by the removal of orphans, before it reads snapshots: an attempt whose journal has gone by then has
committed, which its snapshot shows, or was cleaned up.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.engine.attempts.journal import Journal
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScope, AttemptScopes
from lithify.formats.paimon.table import PaimonTable


def attempt_prefixes(table: PaimonTable) -> frozenset[str]:
    """The prefixes in the names of their files, of all branches, whether they are alive, dead or committed.

    Raises:
        CorruptTable: a journal cannot be read, so it is unknown whose files must stay.
    """
    return frozenset(prefix for journal in _journals(table) for prefix in _prefixes(journal))


def _journals(table: PaimonTable) -> Iterator[Journal[AttemptScope]]:
    branches = table.storage.list(f"{table.root}/branch")
    homes = (table.root, *(f"{table.root}/branch/{branch.name}" for branch in branches))
    return (Journal(home, table.storage, AttemptScopes()) for home in homes)


def _prefixes(journal: Journal[AttemptScope]) -> Iterator[str]:
    recorded = journal.recorded()
    for problem in recorded.refused:
        raise problem
    yield from (each.prefix for each in recorded.committed)
    for path in recorded.open:
        attempt = journal.read(path)
        if attempt is not None:
            yield attempt.prefix
