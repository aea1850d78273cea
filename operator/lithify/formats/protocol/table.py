"""An open table as a run uses it, in any format; `registry` finds the adapter that implements it.

Each Protocol is one part of a run: `identity`, `recovery`, `canary`, `planning`, `committing`.
"""

from __future__ import annotations

from typing import Protocol

from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.canary import CanaryTable
from lithify.formats.protocol.committing import CommittedTable
from lithify.formats.protocol.identity import IdentifiedTable
from lithify.formats.protocol.planning import PlannedTable
from lithify.formats.protocol.recovery import RecoveredTable


class OpenTable(IdentifiedTable, RecoveredTable, PlannedTable, CommittedTable, Protocol):
    """An open table."""

    def canary(self, address: TableAddress) -> CanaryTable | None:
        """The same table, of which copies can be made; None if tables of its format have no copies."""
        ...
