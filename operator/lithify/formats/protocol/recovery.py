"""Recovery of a table in any format: clean-up after dead attempts, and what a run committed before."""

from __future__ import annotations

from typing import Protocol

from lithify.clock import Clock
from lithify.formats.protocol.results import PastRun, Recovered


class RecoveredTable(Protocol):
    """Finds and cleans up what earlier attempts have left in a table."""

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts where that is certain to be safe."""
        ...

    def find_run(self, run: str) -> PastRun | None:
        """The commits of a run; None if no snapshot records one."""
        ...
