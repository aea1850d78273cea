"""Refuses to delete most of a table: then probably its location is wrong, or its snapshots are lost. Pure.

Called before orphans are deleted. A dry run is not refused: it shows what would be deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.errors import TooManyOrphans


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of files and their bytes."""

    files: int = 0
    size: int = 0


def check_share(table: str, orphans: Amount, listed: Amount, most_share: float) -> None:
    """Checks that orphans are no more than a share of a table's files, by number and by bytes.

    Raises:
        TooManyOrphans: they are.
    """
    of_files = orphans.files / max(1, listed.files)
    of_bytes = orphans.size / max(1, listed.size)
    if max(of_files, of_bytes) > most_share:
        raise TooManyOrphans(table, orphans.files, listed.files, round(100 * of_bytes))
