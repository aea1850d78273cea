"""A round of ours beside one of Java's real compaction manager: what must be the same of both."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile, KeyValue, Stats
from support.runs import run_inline
from support.tables import copy_of, stray_files

TARGET = 128 << 20
SMALL = 0.7
_FILTERS = 100
"""Times the target size: files that are larger have bloom filters for a million values in each column."""

UNKNOWN = -1
"""The null count of a Parquet column of long values, as Java states it where it infers shredded variants."""
FLOATS = {text: float(text) for text in ("-Infinity", "Infinity", "-0.0")}
"""Numbers that JSON has as texts."""


@dataclass(frozen=True, slots=True)
class Round:
    """A table before and after a round.

    Attributes:
        target: the size that files should have.
        key: the types of the key columns, where keys are not ordered as their JSON is.
    """

    table: Table
    before: list[DataFile]
    after: list[DataFile]
    target: int = TARGET
    key: Sequence[str] = ()

    @property
    def removed(self) -> set[str]:
        """Files that were rewritten."""
        return names(self.before) - names(self.after)

    @property
    def upgraded(self) -> set[tuple[str, int]]:
        """Files that changed level, and to which."""
        levels = {file.name: file.level for file in self.before}
        return {(f.name, f.level) for f in self.after if levels.get(f.name, f.level) != f.level}

    @property
    def added(self) -> list[DataFile]:
        """New files, by bucket and key."""
        return [file for file in in_order(self) if file.name not in names(self.before)]


def compacted_by_both(
    oracle: Oracle, original: Table, folder: Path, *, full: bool, **how: Any
) -> tuple[Round, Round]:
    """Java compacts a copy, we compact another one; the rounds agree, see `assert_rounds_agree`.

    Args:
        oracle: real Java Paimon.
        original: the table, which stays as it is.
        folder: where the copies go.
        full: whether all is compacted.
        how: more of the request.

    Returns:
        The round of ours and that of Java.
    """
    before = oracle.files(original)
    java, ours = (copy_of(original, folder / f"{side}, full={full}") for side in ("java", "ours"))
    oracle.manager_round(java, full=full, commit=True)
    run_inline(ours, full=full, **how)
    of_ours, of_java = (Round(table, before, oracle.files(table)) for table in (ours, java))
    assert_rounds_agree(oracle, of_ours, of_java)
    return of_ours, of_java


def check_rounds(oracle: Oracle, original: Table, folder: Path) -> Table:
    """Minor and full rounds on copies of a table agree with Java's, keep its rows and leave no stray file.

    Returns:
        Our copy after the full round.
    """
    rows = oracle.read(original)
    for full in (False, True):
        ours = compacted_by_both(oracle, original, folder, full=full)[0].table
        assert oracle.read(ours) == rows
        assert stray_files(oracle, ours) == set()
    return ours


def names(files: list[DataFile]) -> set[str]:
    return {file.name for file in files}


def in_order(round_: Round) -> list[DataFile]:
    """The files after a round, by bucket and key."""

    def place_and_key(file: DataFile) -> tuple[object, ...]:
        key = [ordered(*each) for each in zip_longest(file.min_key, round_.key, fillvalue="")]
        return str(file.partition), file.bucket, file.level, key

    return sorted(round_.after, key=place_and_key)


def ordered(part: object, kind: str) -> object:
    """A part of a key as something that is ordered like it."""
    if not isinstance(part, str):
        return part
    if kind.startswith("DECIMAL"):
        return Decimal(part)
    return b64decode(part) if kind.startswith(("B", "VARB")) else FLOATS.get(part, part)


def assert_rounds_agree(oracle: Oracle, ours: Round, java: Round) -> None:
    """The same files are rewritten, moved and made, with the same rows in them and the same metadata.

    Java looks at the size of a file after every 1,000 rows only, so ours end elsewhere where files are
    to be as small as that. No two small files of ours are neighbours, unless Java has as many or its own are
    large by bloom filters only: the rest of a rewrite may be beside another one's only file.
    """
    is_plain = ours.target >= TARGET
    assert ours.removed == java.removed
    assert ours.upgraded == java.upgraded
    assert contents(oracle, ours) == contents(oracle, java)
    for of_ours, of_java in zip(groups(ours), groups(java), strict=True):
        assert outline(of_ours) == outline(of_java)
        assert not is_plain or abs(len(of_ours) - len(of_java)) <= 1
        are_small = (is_small(a, ours.target) and is_small(b, ours.target) for a, b in pairwise(of_ours))
        has_filters = any(file.size > _FILTERS * ours.target for file in of_java)
        assert len(of_ours) <= len(of_java) or has_filters or not any(are_small)
    if is_plain or len(ours.added) == len(java.added):
        for mine, theirs in zip(ours.added, java.added, strict=True):
            assert metadata(mine) == metadata(theirs, like=mine)
    assert stored_columns(ours) == stored_columns(java)


def contents(oracle: Oracle, round_: Round) -> list[KeyValue]:
    """Every key-value of the new files with sequence and kind, in the order of the files."""
    return [row for rows in oracle.kv_rows_of(round_.table, round_.added) for row in rows]


def stored_columns(round_: Round) -> set[str]:
    """How new Parquet files store their columns: names, types, nesting and field ids.

    Java marks the entries of a map with an old annotation that readers need not know, and PyArrow does not.
    """
    paths = (file.path.removeprefix("file:") for file in round_.added if file.name.endswith(".parquet"))
    schemas = (str(pq.read_metadata(path).schema) for path in paths)
    return {schema.partition("schema {")[2].replace("key_value (Map) {", "key_value {") for schema in schemas}


def groups(round_: Round) -> Iterator[list[DataFile]]:
    """New files that are neighbours: of one bucket and level, with no older file between them."""
    fresh = names(round_.added)
    group: list[DataFile] = []
    for file in in_order(round_):
        belongs = group and place(file) == place(group[-1])
        if group and not (belongs and file.name in fresh):
            yield group
            group = []
        if file.name in fresh:
            group.append(file)
    if group:
        yield group


def place(file: DataFile) -> tuple[str, int, int]:
    return str(file.partition), file.bucket, file.level


def outline(group: list[DataFile]) -> tuple[object, ...]:
    """What a group of rewritten files must have in common with Java's."""
    return (
        place(group[0]),
        group[0].min_key,
        group[-1].max_key,
        sum(file.rows for file in group),
        sum(file.delete_rows or 0 for file in group),
        min(file.min_sequence for file in group),
        max(file.max_sequence for file in group),
    )


def is_small(file: DataFile, target: int) -> bool:
    return file.size < target * SMALL


def metadata(file: DataFile, like: DataFile | None = None) -> DataFile:
    """All metadata but for what has to differ: name, place, size and time, bounds of floats, and indexes.

    Of indexes it says where they are; `file_indexes` compares what is in them.

    Where there are NaNs Lithify states no bounds, for the reason that `FloatStats` tells. Java takes NaN for
    the largest value in Parquet and Avro. In ORC it passes over it, mostly: there bounds of numbers are left
    out where the file that this one should be `like` has none.
    """
    has_none = [low is None for low in like.value_stats.min] if like and like.name.endswith(".orc") else ()
    values = bounds(file.value_stats, has_none)
    if like is not None and file.name.endswith(".parquet"):
        values = replace(values, null_counts=counts(file.value_stats, like.value_stats))
    return replace(
        file,
        name="",
        path="",
        size=0,
        creation_time=0,
        external_path=None if file.external_path is None else "",
        extra_files=[name.removeprefix(file.name) for name in file.extra_files],
        embedded_index=None if file.embedded_index is None else "",
        key_stats=bounds(file.key_stats),
        value_stats=values,
    )


def counts(stats: Stats, like: Stats) -> list[int | None]:
    """Null counts; where Java has none because values are long, those of the file that must be alike."""
    pairs = zip_longest(stats.null_counts, like.null_counts)
    return [other if count == UNKNOWN else count for count, other in pairs]


def bounds(stats: Stats, has_none: Sequence[bool] = ()) -> Stats:
    """Statistics without those of NaNs; a zero that bounds numbers is the one beyond the other zero."""
    pairs = [
        (None, None) if "NaN" in (low, high) or (none and is_float(low)) else (low, high)
        for low, high, none in zip_longest(stats.min, stats.max, has_none, fillvalue=False)
    ]
    lows = ["-0.0" if isinstance(low, float) and low == 0 else low for low, _ in pairs]
    return replace(stats, min=lows, max=[0.0 if high == "-0.0" else high for _, high in pairs])


def is_float(value: object) -> bool:
    return isinstance(value, float) or value in FLOATS
