"""Random histories with crashed writers, ours and Java's, whose leftovers are searched for by both.

Java cleans a copy. What it deletes and we do not must have a reason of ours: the journal of an attempt, or a
name that no writer gives. What we delete, Java deletes, too.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from infrastructure.oracle.client import OracleError
from java.fuzz.snapshot_histories import SnapshotHistory
from support.expired_snapshots import files_of, now_millis, numbers
from support.orphan_files import journal_prefixes, make_old, needed_names, remove
from support.runs import start
from support.tables import copy_of

_STRANGE = ("notes.txt", "manifest-of-mine", "_SUCCESS", "data-1.parquet")


class OrphanHistory(SnapshotHistory):
    """A history with leftovers, in which orphans are removed now and then."""

    removed = 0
    kept = 0

    def _turns(self) -> list[tuple[Callable[[], None], float]]:
        return [
            *super()._turns(),
            (self._crash_of_java, 5),
            (self._crash_of_ours, 1),
            (self._strange_files, 1),
            (self._lose_snapshot, 1),
        ]

    def _crash_of_java(self) -> None:
        """A writer that has written its files and never commits."""
        rows, how = self._rows(), {}
        if self._is_dynamic:
            how["buckets"] = [row[2] % 2 for row in rows]
        self._oracle.prepare(self._table, rows, **how)

    def _crash_of_ours(self) -> None:
        point = self._random.choice(["file-written", "tasks-done", "snapshot-written"])
        start(self._table, faults={point: "kill"}).wait()

    def _strange_files(self) -> None:
        """Files that no writer has written, where files of tables are."""
        folders = [path for path in self._table.folder.rglob("bucket-*") if path.is_dir()]
        folder = self._random.choice([*folders, self._table.folder / "manifest"])
        (folder / self._random.choice(_STRANGE)).write_text("kept")

    def _lose_snapshot(self) -> None:
        """A commit is lost whose files stay, as by a writer that renames over another one's snapshot."""
        if len(numbers(self._table)) > 3 and not self._branches:
            newest = numbers(self._table)[-1]
            (self._table.folder / "snapshot" / f"snapshot-{newest}").unlink()
            for hint in ("LATEST", "EARLIEST"):
                (self._table.folder / "snapshot" / hint).unlink(missing_ok=True)

    def _expire(self) -> None:
        """Expires snapshots with Java, and then removes orphans of all ages with both."""
        with suppress(OracleError):
            self._oracle.expire_snapshots(
                self._table,
                retain_max=self._random.choice([1, 3, 100]),
                changelog_retain_max=self._random.choice([None, None, 100]),
            )
        self._clean()

    def _clean(self) -> None:
        table = self._table
        make_old(table.folder)
        rows = self._answers()
        twin = copy_of(table, self._folder / f"java-{time.monotonic_ns()}")
        before, needed = files_of(table), needed_names(table.folder)

        by_java = self._oracle.remove_orphan_files(twin, older_than=now_millis() + 1000)
        removed = remove(table)

        ours, theirs = before - files_of(table), before - files_of(twin)
        assert removed == len(ours)
        assert len(theirs) == len(by_java.files)
        assert not {Path(each).name for each in ours} & needed
        assert ours <= theirs
        left = {each for each in theirs - ours if not self._has_reason(each)}
        assert left == set()
        assert self._answers() == rows
        self.removed += len(ours)
        self.kept += len(theirs - ours)
        shutil.rmtree(twin.warehouse)

    def _has_reason(self, path: str) -> bool:
        """Whether we leave a file alone on purpose."""
        name = Path(path).name
        is_strange = name in _STRANGE or name.startswith(".lithify-")
        return is_strange or any(prefix in name for prefix in journal_prefixes(self._table.folder))
