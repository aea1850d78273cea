"""Checks that files of a table without a primary key have no levels: only clustering gives them some.

Called by `planning`, `inspecting` and the observer, whatever the table's options say: they may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from lithify.errors import UnsupportedTable
from lithify.formats.paimon.model import DataFile

_MOST_NAMED = 10


def check_levels(name: str, files: Iterable[DataFile]) -> None:
    """Checks that files are in level 0; only clustering moves files of such tables to other levels.

    Raises:
        UnsupportedTable: a file is in another level.
    """
    problems = [
        f"data file {file.name}: it is in level {file.level}, so its rows were clustered"
        for file in files
        if file.level != 0
    ]
    if problems:
        raise UnsupportedTable(name, tuple(problems[:_MOST_NAMED]))
