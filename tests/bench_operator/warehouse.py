"""A warehouse with any number of small real tables, made by writing one and linking its files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from support.small_tables import SmallTable

DATABASE = "bench"


def make(warehouse: Path, tables: int) -> list[str]:
    """Makes so many tables of eight files each, nothing in them due; returns their identifiers.

    The copies share the files of one table, which nobody ever changes.
    """
    names = [f"t{number:05d}" for number in range(tables)]
    pattern = SmallTable(warehouse, f"{DATABASE}.{names[0]}").create()
    for _ in range(2):
        pattern.append()
    for name in names[1:]:
        shutil.copytree(pattern.folder, pattern.folder.with_name(name), copy_function=os.link)
    return [f"{DATABASE}.{name}" for name in names]
