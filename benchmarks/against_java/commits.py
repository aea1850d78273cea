"""Commits a small compaction to a table of many files while Java appends to the same partition all the time.

The table is invented but for one partition (`support.invented`), where Java has written a few files to each
bucket. Who commits has to find out what the append before has changed, and be done before the next one comes.
Java's own compaction of the same partition, in a copy of the table and under the same appends, is beside.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from threading import Event

from against_java.page import JAVA, ON_ONE_CORE, markdown
from infrastructure.oracle.client import Oracle, Table
from lithify.clock import SystemClock
from lithify.engine.run.driver import compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CommitConflict
from lithify.formats.protocol.address import Selection
from support.invented.shape import REAL_DAY, Shape
from support.invented.table import create, invent, orders
from support.runs import request

_BUCKETS_A_DAY = 4
_FILES_A_BUCKET = 100
_OPTIONS = {"manifest.merge-min-count": "1000"}
"""Manifests are not merged, which would make single commits of either side slow."""
_WRITES = 6


@dataclass(frozen=True, slots=True)
class _Run:
    """A compaction among appends.

    Attributes:
        seconds: from its first look at the table to its end.
        commit_seconds: of its commits; None if none was made.
        tries: how often commits were built, as far as that is told.
        appends: commits that Java made meanwhile.
    """

    seconds: float
    commit_seconds: float | None
    tries: str
    appends: int

    @property
    def cells(self) -> tuple[str, ...]:
        """As they stand in the table."""
        commit = "given up" if self.commit_seconds is None else f"{self.commit_seconds:.1f} s"
        return f"{self.seconds:.1f} s", commit, self.tries, str(self.appends)


@dataclass
class _Appends:
    """A JVM that appends a few rows to the partition again and again.

    Attributes:
        oracle: the JVM.
        table: which table.
        every: seconds from the start of one append to that of the next.
        done: appends that are committed.
        begun: set when the first one is.
    """

    oracle: Oracle
    table: Table
    every: float
    done: int = 0
    begun: Event = field(default_factory=Event)
    _stop: Event = field(default_factory=Event)

    def go_on(self) -> None:
        """Appends until it is to stop."""
        wait = 0.0
        while not self._stop.wait(wait):
            begin = time.monotonic()
            self.oracle.write(self.table, orders(REAL_DAY, range(self.done, self.done + 20), "late"))
            self.done += 1
            self.begun.set()
            wait = max(0.0, self.every - (time.monotonic() - begin))

    def stop(self) -> None:
        """Lets the append that is under way be the last."""
        self._stop.set()


def compare(sizes: Sequence[int], every: float) -> str:
    """The figures of tables of these sizes, in Markdown.

    Args:
        sizes: live files.
        every: seconds from one append to the next.
    """
    lines: list[tuple[str, ...]] = [
        ("live files", "who compacts", "the whole run", "its commit", "tries", "appends meanwhile")
    ]
    for files in sizes:
        with tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder:
            table = _make(Path(folder) / "ours", files)
            shutil.copytree(str(table.warehouse), Path(folder) / "java")
            theirs = _java(Table(Path(folder) / "java", table.name), every)
            print(f"Java: {theirs}", file=sys.stderr)
            ours = _ours(table, every)
            print(f"Lithify: {ours}", file=sys.stderr)
        lines.append((f"{files:,}", JAVA, *theirs.cells))
        lines.append((f"{files:,}", "Lithify", *ours.cells))
    return f"Java appends every {every:g} s.\n\n{markdown(lines)}"


def _make(warehouse: Path, files: int) -> Table:
    print(f"inventing {files:,} files", file=sys.stderr)
    days = files // (_BUCKETS_A_DAY * _FILES_A_BUCKET)
    shape = Shape(files, _BUCKETS_A_DAY * days, days)
    with Oracle.start() as oracle:
        table = create(oracle, warehouse, shape, options=_OPTIONS)
        invent(table, shape)
        for number in range(_WRITES):
            oracle.write(table, orders(REAL_DAY, range(50 * number, 50 * number + 200), f"c{number}"))
    return table


@contextmanager
def _appending(table: Table, every: float) -> Iterator[_Appends]:
    with Oracle.start() as oracle, ThreadPoolExecutor(1) as thread:
        appends = _Appends(oracle, table, every)
        appending = thread.submit(appends.go_on)
        appending.add_done_callback(lambda _: appends.begun.set())
        appends.begun.wait()
        try:
            yield appends
        finally:
            appends.stop()
        appending.result()


def _ours(table: Table, every: float) -> _Run:
    asked = request(table, selection=Selection(({"dt": REAL_DAY},)))
    with _appending(table, every) as appends:
        begin, before = time.monotonic(), appends.done
        try:
            report = compact(asked, InlineRunner(), SystemClock(UTC))
        except CommitConflict:
            return _Run(time.monotonic() - begin, None, "", appends.done - before)
        return _Run(
            time.monotonic() - begin,
            report.seconds["commit"],
            str(report.commit_tries),
            appends.done - before,
        )


def _java(table: Table, every: float) -> _Run:
    with Oracle.start(heap="6g", jvm_args=ON_ONE_CORE) as oracle, _appending(table, every) as appends:
        begin, before = time.monotonic(), appends.done
        token = oracle.compact(table, partitions=[{"dt": REAL_DAY}], commit=False).token
        assert token is not None
        planned = time.monotonic()
        oracle.commit_prepared(token)
        return _Run(time.monotonic() - begin, time.monotonic() - planned, "", appends.done - before)
