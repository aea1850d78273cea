"""A warehouse with any number of small real tables, made by writing one and linking its files.

A commit to a copy is made by linking the files of a commit to the original, the snapshot last.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from support.small_tables import SmallTable

DATABASE = "bench"
SNAPSHOT = 2
"""The newest snapshot of each table, before anything is committed to it."""


def make(warehouse: Path, tables: int) -> list[str]:
    """Makes so many tables of eight files each, nothing in them due; returns their identifiers.

    The copies share the files of one table, which nobody ever changes.
    """
    names = [f"t{number:05d}" for number in range(tables)]
    pattern = SmallTable(warehouse, f"{DATABASE}.{names[0]}").create()
    for _ in range(SNAPSHOT):
        pattern.append()
    for name in names[1:]:
        shutil.copytree(pattern.folder, pattern.folder.with_name(name), copy_function=os.link)
    ahead = _ahead(warehouse)
    shutil.copytree(pattern.folder, ahead.folder)
    ahead.append()
    return [f"{DATABASE}.{name}" for name in names]


def commit(warehouse: Path, identifier: str) -> None:
    """Makes the next snapshot of a table that has had no commit since it was made."""
    number = SNAPSHOT + 1
    ahead, folder = _ahead(warehouse).folder, SmallTable(warehouse, identifier).folder
    last = Path("snapshot", f"snapshot-{number}")
    for path in ahead.rglob("*"):
        name = path.relative_to(ahead)
        if path.is_file() and name.parts[0] != "snapshot" and not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, folder / name)
    os.link(ahead / last, folder / last)
    hint = folder / "snapshot" / "LATEST.new"
    hint.write_text(str(number))
    hint.replace(hint.with_suffix(""))  # the file itself is shared with all other tables


def _ahead(warehouse: Path) -> SmallTable:
    """A copy of the first table, with a commit that the others do not have yet; it is in no catalog."""
    return SmallTable(warehouse.with_name(f"{warehouse.name}-ahead"), f"{DATABASE}.t00000")
