"""The strategies of compaction, and the reason why a group has no work in any format. Imports nothing."""

from __future__ import annotations

from enum import StrEnum

NO_TRIGGER = "no trigger fired"
"""Why a group has no work under `Strategy.MINOR`."""


class Strategy(StrEnum):
    """`MINOR` compacts what the table's triggers ask for, `FULL` everything."""

    MINOR = "minor"
    FULL = "full"
