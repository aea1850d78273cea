"""Our bin packing against Paimon's planners of append tables, called directly over random files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from infrastructure.oracle.model import Table
from lithify.engine.pack.bins import pack
from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.runs import full_run, picks
from support.merge_trees import names
from support.packed_files import BY_FIRST, File, random_files, random_options, with_deletes

if TYPE_CHECKING:
    from infrastructure.oracle.client import Oracle

pytestmark = pytest.mark.oracle

COUNT = 1000
FORGOTTEN = 7
"""Plans after which Java's coordinator has compacted what waits, or never will."""


def test_the_coordinator_packs_the_same_bins_and_joins_the_same_leftovers(
    oracle: Oracle, tmp_path: Path
) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, {"v": "INT"})
    rng = Random(1)
    asked = [drawn(rng, is_ordered=False) for _ in range(COUNT)]
    replies = oracle.append_coordinator(
        table, ({**java(files), "options": of_table(options), "plans": FORGOTTEN} for options, files in asked)
    )
    for (options, files), (first, *later) in zip(asked, replies, strict=True):
        packed = pack(files, options)
        assert [names(each) for each in packed.bins] == first
        aged = [sorted(tasks[0]) for tasks in later if tasks]
        assert aged == ([sorted(names(packed.leftovers))] if len(packed.leftovers) > 1 else [])


def test_the_coordinator_packs_files_with_deleted_rows_the_same(oracle: Oracle, tmp_path: Path) -> None:
    """Java puts the files of an index file into a bin in any order; groups of one size come in any order."""
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, {"v": "INT"}, options={"deletion-vectors.enabled": "true"})
    rng = Random(4)
    asked = [case for case in (with_vectors(rng) for _ in range(2 * COUNT)) if has_one_order(*case)]
    replies = oracle.append_coordinator(
        table, ({**java(files), "options": of_table(options), "plans": FORGOTTEN} for options, files in asked)
    )
    seen = 0
    for (options, files), (first, *later) in zip(asked, replies, strict=True):
        packed = pack(files, options)
        seen += len(packed.vector_bins) > 1
        assert [sorted(names(each)) for each in packed.bins] == [sorted(each) for each in first]
        assert [names(each) for each in packed.small_bins] == first[len(packed.vector_bins) :]
        aged = [sorted(tasks[0]) for tasks in later if tasks]
        assert aged == ([sorted(names(packed.leftovers))] if len(packed.leftovers) > 1 else [])
    assert seen > COUNT // 50
    assert len(asked) > COUNT


def test_minor_picks_agree(oracle: Oracle) -> None:
    rng = Random(2)
    asked = [drawn(rng, is_ordered=True) for _ in range(COUNT)]
    replies = oracle.append_picks({**java(files), "options": numbers(options)} for options, files in asked)
    for (options, files), theirs in zip(asked, replies, strict=True):
        assert [names(files[start:end]) for start, end in picks(files, options)] == theirs


def test_full_runs_agree(oracle: Oracle) -> None:
    rng = Random(3)
    asked = [drawn(rng, is_ordered=True) for _ in range(COUNT)]
    replies = oracle.append_full({**java(files), "options": numbers(options)} for options, files in asked)
    assert [names(full_run(files, options, BY_FIRST)) for options, files in asked] == replies


def drawn(rng: Random, *, is_ordered: bool) -> tuple[PackingOptions, tuple[File, ...]]:
    options = random_options(rng, is_ordered=is_ordered)
    return options, random_files(rng, options)


def with_vectors(rng: Random) -> tuple[PackingOptions, tuple[File, ...]]:
    options, files = drawn(rng, is_ordered=False)
    ratio = rng.choice([0.0, 0.2, 0.5, 1.0])
    return replace(options, delete_ratio=ratio), with_deletes(rng, files)


def has_one_order(options: PackingOptions, files: tuple[File, ...]) -> bool:
    """Whether the groups of files that share an index file differ in size."""
    sizes: Counter[str] = Counter()
    for one in pack(files, options).vector_bins:
        for each in one:
            sizes[each.vector_file or ""] += each.size
    return len(set(sizes.values())) == len(sizes)


def java(files: tuple[File, ...]) -> dict[str, Any]:
    return {"files": [java_file(each) for each in files]}


def java_file(each: File) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": each.name,
        "size": each.size,
        "rows": each.rows,
        "minSequence": each.first,
        "maxSequence": each.first + each.rows - 1,
    }
    if each.vector_file is not None:
        found |= {"vectorFile": each.vector_file, "deletedRows": each.deleted_rows}
    return found


def of_table(options: PackingOptions) -> dict[str, str]:
    return {
        "target-file-size": f"{options.target_file_size} b",
        "source.split.open-file-cost": f"{options.open_file_cost} b",
        "compaction.min.file-num": str(options.min_files),
        **(
            {}
            if options.delete_ratio is None
            else {"compaction.delete-ratio-threshold": str(options.delete_ratio)}
        ),
    }


def numbers(options: PackingOptions) -> dict[str, int]:
    return {
        "min_file_num": options.min_files,
        "target_file_size": options.target_file_size,
        "compaction_file_size": options.small_file_size,
    }
