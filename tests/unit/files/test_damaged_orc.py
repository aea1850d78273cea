"""Thousands of damaged ORC files: each is refused by its name, or has rows that every read returns.

The format has no checksums, so a changed byte of a column's data may be another value of the same column. It
changes no number of rows, nulls or bytes, no sum of integers, and no other column; and it is what the file
says, not what happened to be in memory: every file is read twice, in processes that fill fresh memory
differently.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lithify.errors import CorruptTable
from lithify.files import isolated_reading
from lithify.files.isolated_reading import IsolatedReading
from lithify.files.model import InputFile, Wanted
from lithify.files.orc.reader import OrcReader
from support.damage import damaged_bytes
from support.data_files import local_storage
from support.orc_files import CODECS, OrcSample, java_sample, owners, sample

FILES, CASES = 50, 10
"""Damaged files of each case, and cases of each kind: 3,000 files."""
SHAPES = ((40, 1, 0.0), (150, 2, 0.0), (150, 1, 0.9), (700, 2, 0.9))
"""Rows, stripes, and the share of distinct texts up to which there is a dictionary."""
FOLLOWING_FOOTERS = {"moment", "price"}
"""Columns that depend on a number in a footer: the writer's time zone, and the scale of a decimal."""


@cache
def samples(kind: str) -> tuple[OrcSample, ...]:
    if kind == "java":
        return (java_sample(),)
    return tuple(sample(kind, rows, stripes=stripes, dictionaries=share) for rows, stripes, share in SHAPES)


@pytest.fixture(scope="module")
def processes() -> tuple[IsolatedReading, IsolatedReading]:
    """Two processes that decode, which fill memory with different bytes before they use it."""
    found = []
    for pattern in ("7", "200"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(isolated_reading._LEAN, "MALLOC_PERTURB_", pattern)
            patch.setitem(isolated_reading._LEAN, "ARROW_DEFAULT_MEMORY_POOL", "system")
            isolated_reading._server.cache_clear()
            found.append(IsolatedReading())
            found[-1]._running()
    isolated_reading._server.cache_clear()
    return found[0], found[1]


@pytest.mark.thorough
@pytest.mark.sampled(1, each="kind")
@pytest.mark.parametrize("case", range(CASES))
@pytest.mark.parametrize("kind", [*CODECS, "java"])
def test_damaged_file_is_refused_or_has_the_rows_that_it_says(
    tmp_path: Path, processes: tuple[IsolatedReading, IsolatedReading], kind: str, case: int
) -> None:
    path = tmp_path / "data.orc"
    outcomes = {"refused": 0, "read": 0}
    for number in range(case * FILES, (case + 1) * FILES):
        rng = Random(number)
        original = rng.choice(samples(kind))
        content = damaged_bytes(rng, original.content)
        path.write_bytes(content)
        first, second = (read(path, original, process) for process in processes)
        if isinstance(first, CorruptTable) or isinstance(second, CorruptTable):
            assert isinstance(first, CorruptTable), number
            assert isinstance(second, CorruptTable), number
            assert (first.path, second.path) == (str(path), str(path))
            outcomes["refused"] += 1
            continue
        assert identical(first, second) == set(first.column_names), number
        check_against_original(original, content, first, undamaged(original, tmp_path), number)
        outcomes["read"] += 1
    assert outcomes["refused"] > outcomes["read"]


def read(path: Path, original: OrcSample, process: IsolatedReading) -> pa.Table | CorruptTable:
    reader = OrcReader(local_storage(path.parent))
    reader._isolated = process
    file = InputFile(str(path), path.stat().st_size, original.rows, 0, 0)
    try:
        batches = list(reader.batches(file, Wanted(original.columns, None, piece_bytes=1 << 16)))
    except CorruptTable as error:
        return error
    table = pa.Table.from_batches(batches)
    table.validate(full=False)
    return table


@cache
def undamaged(original: OrcSample, folder: Path) -> pa.Table:
    path = folder / "undamaged.orc"
    path.write_bytes(original.content)
    table = read(path, original, IsolatedReading())
    assert isinstance(table, pa.Table)
    return table


def check_against_original(
    original: OrcSample, content: bytes, table: pa.Table, expected: pa.Table, number: int
) -> None:
    different = set(table.column_names) - identical(table, expected)
    assert table.num_rows == expected.num_rows
    for name in different:
        assert table[name].null_count == expected[name].null_count, (number, name)
        assert total(table[name]) == total(expected[name]), (number, name)
    if len(content) == len(original.content):
        assert different <= touched(original.content, content), number


def touched(before: bytes, after: bytes) -> set[str]:
    """The columns that may differ because bytes were overwritten."""
    owner = owners(before)
    changed = (position for position in range(len(before)) if before[position] != after[position])
    return {
        name for position in changed for name in ([owner(position)] if owner(position) else FOLLOWING_FOOTERS)
    }


def identical(one: pa.Table, other: pa.Table) -> set[str]:
    """The names of equal columns; numbers that are none are equal if their bits are."""
    return {name for name in one.column_names if bits(one[name]).equals(bits(other[name]))}


def bits(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pc.fill_null(whole, 0.0).view(pa.int64()) if pa.types.is_floating(whole.type) else whole


def total(column: pa.ChunkedArray) -> int | None:
    """What the statistics of a file tell of all values of a column."""
    if pa.types.is_integer(column.type):
        return int(pc.sum(column.cast(pa.int64()), min_count=0).as_py())
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return int(pc.sum(pc.binary_length(column), min_count=0).as_py())
    return None
