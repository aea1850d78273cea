"""Postponed buckets of random histories: options, and our move of rows beside Java's.

Called by `drawing`, `java` and `playing`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile
from support.comparing.file_indexes import columns_and_kinds
from support.comparing.postponed import contents, described
from support.comparing.rounds import TARGET
from support.postponed import MOVED_ONLY
from support.runs import NOTHING_TO_DO, run_inline
from support.tables import copy_of

BUCKETS = "postpone.default-bucket-num"
_CODECS = ("zstd", "snappy")
"""Those that every format has."""
_NOT_ALLOWED = (
    "dynamic-bucket.target-row-num",
    "write.sequence-number-init-mode",
    "file.compression.per.level",
)


def draw_postponed(random: Random, options: Mapping[str, str]) -> dict[str, str]:
    """The options of a table, changed so that compactions choose the buckets of its rows.

    Java's writers write rows without a bucket to Avro files, in the codec of the table's files.
    """
    kept = {name: value for name, value in options.items() if not name.startswith(_NOT_ALLOWED)}
    if kept.get("file.compression") not in _CODECS:
        kept.pop("file.compression", None)
    return {**kept, "bucket": "-2", BUCKETS: random.choice(["1", "2", "3"])}


def real_buckets(options: Mapping[str, str]) -> dict[str, str]:
    """Options with which Java compacts the buckets of a table with postponed rows, none for other tables."""
    return {"bucket": options[BUCKETS]} if options.get("bucket") == "-2" else {}


def is_waiting(file: DataFile) -> bool:
    """Whether the rows of a file have no bucket yet."""
    return file.bucket < 0


def assert_moved_as_by_java(
    oracle: Oracle,
    table: Table,
    folder: Path,
    target: int,
    in_copy: Callable[[], AbstractContextManager[None]],
) -> None:
    """We move all postponed rows, and Java does so in a copy: the same records are in the same buckets.

    Where a partition has no such rows, we may compact it in the same round. Java looks at the size of a file
    after every 1,000 rows only, so ours end elsewhere where files are to be as small as that.

    Args:
        oracle: real Java Paimon.
        table: the table.
        folder: where the copy goes.
        target: the size that files should have.
        in_copy: surrounds what Java writes for the copy.
    """
    partitions = {str(file.partition) for file in oracle.files(table) if is_waiting(file)}
    if not partitions:
        return
    java = copy_of(table, folder / "moved by java")
    with in_copy():
        oracle.move_postponed(java, options=MOVED_ONLY)
    run_inline(table, full=False, options=NOTHING_TO_DO, max_rounds=1)
    ours, theirs = (_records(oracle, each, partitions) for each in (table, java))
    assert ours == theirs
    if target >= TARGET:
        for_each = (oracle.files(each) for each in (table, java))
        mine, its = ([file for file in files if str(file.partition) in partitions] for files in for_each)
        assert described(mine) == described(its)
        assert {*map(frozenset, map(columns_and_kinds, mine))} == {
            *map(frozenset, map(columns_and_kinds, its))
        }
    shutil.rmtree(str(java.warehouse))


def _records(oracle: Oracle, table: Table, partitions: set[str]) -> dict[object, list[object]]:
    """The records of some partitions by partition, bucket and level, however files divide them."""
    return {
        place: [record for file in files for record in file]
        for place, files in contents(oracle, table).items()
        if place[0] in partitions
    }
