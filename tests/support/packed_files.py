"""Files as packing sees them, without a table format, and random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from random import Random

from hypothesis import strategies as st

from lithify.engine.pack.figures import Rank
from lithify.engine.pack.options import PackingOptions
from support.merge_trees import MIDNIGHT_MILLIS


@dataclass(frozen=True, slots=True)
class File:
    """A file; `first` is the number of its first row in the order of all rows."""

    name: str
    size: int = 100
    first: int = 0
    rows: int = 10
    created_millis: int = MIDNIGHT_MILLIS
    vector_file: str | None = None
    deleted_rows: int | None = 0


BY_FIRST: Rank[File] = attrgetter("first")


def marked(unmarked: File, vectors: str = "vectors-1", deleted: int | None = 1) -> File:
    """The file with this number of deleted rows; None if nobody has counted them."""
    return replace(unmarked, vector_file=vectors, deleted_rows=deleted)


def random_options(rng: Random, *, is_ordered: bool) -> PackingOptions:
    target = rng.choice([100, 1000])
    return PackingOptions(
        is_ordered=is_ordered,
        target_file_size=target,
        small_file_size=target // 10 * 7,
        open_file_cost=rng.choice([1, 10, 50]),
        min_files=rng.randint(2, 7),
    )


def random_files(rng: Random, options: PackingOptions) -> tuple[File, ...]:
    """Files of different sizes, in the order of their rows; without gaps, as one writer numbers them."""
    most = rng.choice([2, options.target_file_size // 3, options.target_file_size * 2])
    sizes = rng.sample(range(1, most + 60), rng.randint(0, min(40, most)))
    files, first = [], 0
    for number, size in enumerate(sizes):
        files.append(File(f"f{number}", size, first, rows := rng.randint(1, 9)))
        first += rows
    return tuple(files)


def with_deletes(rng: Random, files: Sequence[File]) -> tuple[File, ...]:
    """The files, some of which have deleted rows; a few files have the vectors."""
    share, vectors = rng.choice([0.0, 0.3, 0.9]), rng.randint(1, 6)

    def maybe(each: File) -> File:
        if rng.random() >= share:
            return each
        deleted = rng.choice([None, *range(1, each.rows + 1)])
        return marked(each, f"vectors-{rng.randrange(vectors)}", deleted)

    return tuple(map(maybe, files))


def cases(*, is_ordered: bool) -> st.SearchStrategy[tuple[PackingOptions, tuple[File, ...]]]:
    """Options, and files of a group."""

    def drawn(seed: int) -> tuple[PackingOptions, tuple[File, ...]]:
        rng = Random(seed)
        options = random_options(rng, is_ordered=is_ordered)
        files = random_files(rng, options)
        if is_ordered or rng.random() < 0.5:
            return options, files
        return replace(options, delete_ratio=rng.choice([0.0, 0.2, 1.0])), with_deletes(rng, files)

    return st.integers(0, 1 << 32).map(drawn)
