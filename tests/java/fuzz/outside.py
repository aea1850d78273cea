"""Files outside the table's folder, which copies of the table share with it; made by `playing`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infrastructure.oracle.client import Oracle, Table


class Outside:
    """The folder that external paths of a history lead to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._of_copies: set[Path] = set()

    @property
    def files(self) -> set[Path]:
        """All files there, whoever needs them."""
        return {path for path in self._folder.rglob("*") if path.is_file()}

    @contextmanager
    def of_copy(self) -> Iterator[None]:
        """What is written meanwhile is a copy's."""
        before = self.files
        yield
        self._of_copies |= self.files - before

    def forget_copies(self) -> None:
        """Deletes what copies have written."""
        for path in self._of_copies:
            path.unlink(missing_ok=True)
        self._of_copies.clear()

    def strays(self, oracle: Oracle, table: Table, before: set[Path]) -> set[Path]:
        """New files to which no snapshot refers."""
        fresh = self.files - before
        if not fresh:
            return set()
        numbers = [snapshot["id"] for snapshot in oracle.snapshots(table)]
        live = [file for number in numbers for file in oracle.files(table, snapshot_id=number)]
        live += [entry.file for number in numbers for entry in oracle.files_of_changelog(table, number)]
        data = {Path(file.path.removeprefix("file:")): file.extra_files for file in live}
        return fresh - {*data, *(path.with_name(name) for path, extra in data.items() for name in extra)}
