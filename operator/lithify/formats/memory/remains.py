"""Answers the questions of clean-up about a reference table: `Remains` of `engine.attempts.clean_up`."""

from __future__ import annotations

from lithify.engine.attempts.clean_up import Fate
from lithify.engine.attempts.settled_history import SettledHistory
from lithify.faults import failpoint
from lithify.formats.memory.scope import MemoryAttempt, MemoryJournal
from lithify.formats.memory.snapshot import Group
from lithify.formats.memory.table import MemoryTable
from lithify.io.storage import Storage


class MemoryRemains(SettledHistory):
    """The attempts at one table."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    @property
    def journal(self) -> MemoryJournal:
        """The table's journal."""
        return self._table.journal

    @property
    def storage(self) -> Storage:
        """Access to the table's files."""
        return self._table.storage

    def fate_of(self, attempt: MemoryAttempt) -> Fate:
        """Whether an attempt has committed, from the snapshots since its base."""
        base = self._table.snapshot(attempt.scope.base)
        is_readable = base is not None and base.id == attempt.scope.base_id
        for number in self._table.numbers():
            if number > attempt.scope.base:
                snapshot = self._table.snapshot(number)
                is_readable = is_readable and snapshot is not None
                if snapshot is not None and snapshot.mark and snapshot.mark.attempt == attempt.prefix:
                    return Fate.COMMITTED
        return Fate.HARMLESS if is_readable else Fate.UNKNOWN

    def has_lost_every_unit(self, attempt: MemoryAttempt) -> bool:
        """Whether an input of each group is gone."""
        newest = self._table.latest()
        return newest is not None and all(
            not set(names) <= set(newest.names(Group(group))) for group, names in attempt.scope.inputs.items()
        )

    def sweep(self, *attempts: MemoryAttempt) -> int:
        """Deletes unreferenced files of attempts; returns their number."""
        found = [self._table.snapshot(number) for number in self._table.numbers()]
        referenced = {file.name for snapshot in found if snapshot for file in snapshot.all_files}
        doomed = [
            path
            for attempt in attempts
            for group in attempt.scope.inputs
            for path in self._table.storage.files_below(self._table.folder(Group(group)))
            if _name(path).startswith(attempt.prefix) and _name(path) not in referenced
        ]
        for path in doomed:
            self._table.storage.delete(path)
        if doomed:
            failpoint("orphans-deleted")
        return len(doomed)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
