"""Searches a table of many files for orphans with Java Paimon's `LocalOrphanFilesClean` and with Lithify.

The table's metadata is invented (`support.invented`), and each file that it names is there, empty; so are
leftovers that nothing names, one for twenty files. Each round starts a process of its own for either. Both
only search, and find the same files; then each deletes them once.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from against_java.page import JAVA, ON_ONE_CORE, markdown
from infrastructure.oracle.client import Oracle, Table
from lithify.columns.column_groups import listed
from support.expired_snapshots import opened
from support.invented.shape import Shape
from support.invented.table import make_invented
from support.orphan_files import make_old
from support.process import Usage, measured, peak_bytes
from support.runs import LITHIFY

_FILES_OF_A_LEFTOVER = 20


def compare(shape: Shape, repeats: int, *, deletes: bool = True) -> str:
    """The figures, in Markdown.

    Args:
        shape: the files that the table needs.
        repeats: rounds of searches.
        deletes: whether each side deletes the leftovers, too.
    """
    with tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder:
        print(f"inventing {shape.files:,} files", file=sys.stderr)
        with Oracle.start() as oracle:
            table = make_invented(oracle, Path(folder) / "warehouse", shape)
        _put_files(table)
        leftovers = _put_leftovers(table)
        java, ours = [], []
        for number in range(repeats):
            java.append(_java(table, leftovers, deletes=False))
            ours.append(_ours(table, deletes=False))
            print(f"round {number + 1}: {java[-1]}, {ours[-1]}", file=sys.stderr)
        deleted = _deleted(table, shape, leftovers) if deletes else []
    return _figures(shape, leftovers, java, ours, deleted)


def _deleted(table: Table, shape: Shape, leftovers: int) -> list[Usage]:
    """What a search takes that deletes: first Java's, then ours, of new leftovers."""
    found = [_java(table, leftovers, deletes=True)]
    _put_leftovers(table)
    found.append(_ours(table, deletes=True))
    left = sum(len(names) for _, _, names in os.walk(table.folder) if "data-" in "".join(names[:1]))
    assert left == shape.files, f"{left} files are left"
    return found


def _put_files(table: Table) -> None:
    """Creates the files that the table's metadata names."""
    for folder, name in _named(table):
        Path(folder).mkdir(parents=True, exist_ok=True)
        os.close(os.open(f"{folder}/{name}", os.O_CREAT))


def _named(table: Table) -> Iterator[tuple[str, str]]:
    """The folder and name of each file."""
    found = opened(table)
    newest = found.snapshots.latest()
    assert newest is not None
    for entries in found.manifests.frames(found.manifests.list_files(newest)):
        columns = (listed(entries[name]) for name in ("partition", "bucket", "name"))
        for partition, bucket, name in zip(*columns, strict=True):
            yield found.folder(found.bucket_id(partition, bucket)), name


def _put_leftovers(table: Table) -> int:
    """Creates files that nothing names, and makes all files old; returns how many."""
    folders = sorted(table.folder.rglob("bucket-*"))
    files = sum(len(names) for _, _, names in os.walk(table.folder))
    count = files // _FILES_OF_A_LEFTOVER
    for number in range(count):
        (folders[number % len(folders)] / f"data-{uuid4()}-0.parquet").touch()
    make_old(table.folder)
    return count


def _java(table: Table, leftovers: int, *, deletes: bool) -> Usage:
    """A JVM that starts and searches."""
    begin = time.monotonic()
    with Oracle.start(heap="6g", jvm_args=ON_ONE_CORE) as oracle:
        found = oracle.remove_orphan_files(table, time.time_ns() // 1_000_000, dry_run=not deletes)
        assert len(found.files) == leftovers, f"Java found {len(found.files)} files"
        return Usage(time.monotonic() - begin, _cpu_seconds(oracle.pid), peak_bytes(oracle.pid))


def _ours(table: Table, *, deletes: bool) -> Usage:
    words = ["--warehouse", str(table.warehouse), "--table", str(table.name), "--older-than", "1d"]
    return measured([LITHIFY, "remove-orphans", *words, *(["--delete"] if deletes else [])])


def _cpu_seconds(pid: int) -> float:
    user, kernel = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(kernel)) / os.sysconf("SC_CLK_TCK")


def _figures(
    shape: Shape, leftovers: int, java: Sequence[Usage], ours: Sequence[Usage], deleted: Sequence[Usage]
) -> str:
    def least(what: Callable[[Usage], float]) -> tuple[float, float]:
        return min(map(what, java)), min(map(what, ours))

    head = f"{shape.files:,} files in {shape.buckets:,} buckets, and {leftovers:,} leftovers"
    peaks = [peak / (1 << 30) for peak in least(lambda usage: usage.peak_bytes)]
    return markdown(
        [
            (head, JAVA, "Lithify", "ratio"),
            _line(
                f"processor time of a search, best of {len(ours)}", *least(lambda usage: usage.cpu_seconds)
            ),
            _line("by the clock, with the start", *least(lambda usage: usage.seconds)),
            *(
                [_line("by the clock, a search that deletes", *(each.seconds for each in deleted))]
                if deleted
                else []
            ),
            _line("peak memory of the process", *peaks, unit="GiB"),
        ]
    )


def _line(title: str, java: float, ours: float, unit: str = "s") -> tuple[str, str, str, str]:
    return title, f"{java:.2f} {unit}", f"{ours:.2f} {unit}", f"{ours / java:.2f}"
