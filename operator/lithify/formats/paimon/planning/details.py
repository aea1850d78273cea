"""The details that Paimon's units, plans and reports have; see `formats.protocol.details`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lithify.formats.protocol.details import DetailKind

_UPGRADED_FILES = "upgraded_files"


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


def _count_of_names(names: Sequence[str]) -> str:
    return _files(len(names))


def _upgraded(count: int) -> str:
    return f"{_files(count)} upgraded"


def _levels(files: Mapping[int, int]) -> str:
    return " ".join(f"L{level}:{count}" for level, count in files.items()) or "empty"


OUTPUT_LEVEL = DetailKind("output_level", label="to level")
"""Of a unit: the level of its output; None where files have no levels."""
DROPS_DELETES = DetailKind("drops_deletes")
"""Of a unit: whether rows that retract their key are dropped."""
UPGRADES = DetailKind("upgrades", label="upgrade", shown=_count_of_names, total=_UPGRADED_FILES, amount=len)
"""Of a unit: names of the files that only change level."""
UNREAD_FILES = "unread_files"
"""Of a plan: number of upgraded files that were to be read first and were not; a run may rewrite them."""

REACHED_LEVEL = DetailKind("output_level")
"""Of a report: the level of the output; None where files have no levels."""
UPGRADED = DetailKind("upgraded", total="upgraded", said=_upgraded)
"""Of a report: number of files that only changed level."""
LEVELS_BEFORE = DetailKind("levels_before", label="levels before", shown=_levels)
"""Of a report: number of live files per level before; None where files have no levels."""
LEVELS_AFTER = DetailKind("levels_after", label="levels after", shown=_levels)
"""Of a report: number of live files per level after; None where files have no levels."""
REPORTED = (REACHED_LEVEL, UPGRADED, LEVELS_BEFORE, LEVELS_AFTER)
"""The details of a report."""
