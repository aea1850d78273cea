"""The prefixes of all attempts that have a journal: nobody but clean-up deletes their files.

Called by the removal of orphans, before it reads snapshots: an attempt whose journal has gone by then has
committed, which its snapshot shows, or was cleaned up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lithify.engine.attempts.attempt import Scope
from lithify.engine.attempts.journal import Journal


def recorded_prefixes(journals: Iterable[Journal[Scope]]) -> frozenset[str]:
    """The prefixes in the names of files of attempts, whether they are alive, dead or committed.

    Raises:
        CorruptTable: a journal cannot be read, so it is unknown whose files must stay.
    """
    return frozenset(prefix for journal in journals for prefix in _prefixes(journal))


def _prefixes(journal: Journal[Scope]) -> Iterator[str]:
    recorded = journal.recorded()
    for problem in recorded.refused:
        raise problem
    yield from (each.prefix for each in recorded.committed)
    for path in recorded.open:
        attempt = journal.read(path)
        if attempt is not None:
            yield attempt.prefix
