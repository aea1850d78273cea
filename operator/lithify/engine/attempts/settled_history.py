"""The answers to clean-up that follow where a published snapshot is never replaced; a base of `Remains`.

Adapters inherit it whose publishing is atomic: a catalog swaps a pointer, or creates a number once. Where a
store only promises less, an adapter answers these questions itself.
"""

from __future__ import annotations

from typing import Any

from lithify.engine.attempts.ages import LINGERING
from lithify.engine.attempts.attempt import Attempt, CommittedJournal


class SettledHistory:
    """A table whose snapshots stay what they are, and whose files are found by their names."""

    temporary_folders = ()
    settled_after = LINGERING

    def take_back_strays(self, taken_back: set[str]) -> None:
        """Does nothing: every published snapshot is part of the history."""

    def is_built_on(self, committed: CommittedJournal) -> bool:
        """Always: nobody replaces a snapshot, so journals are closed once their attempt has committed."""
        del committed
        return True

    def is_in_place(self, committed: CommittedJournal) -> bool:
        """Always, for the same reason."""
        del committed
        return True

    def is_removed(self, committed: CommittedJournal) -> bool:
        """Never, for the same reason."""
        del committed
        return False

    def check_files(self, attempt: Attempt[Any]) -> None:
        """Does nothing: files are found by their names, below the table's folders."""

    def check_places(self, attempt: Attempt[Any]) -> None:
        """Does nothing, likewise."""
