"""Files of tables without a key, as planning sees them, and random ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from lithify.columns.order_key import OrderKey
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.bin_packing.policy import PackingOptions
from support.merge_trees import MIDNIGHT_MILLIS

KEYLESS = OrderKey(b"")


def file(
    name: str, size: int = 100, *, first: int = 0, rows: int = 10, created: int = MIDNIGHT_MILLIS
) -> DataFile:
    """A file without deleted rows."""
    return DataFile(
        name=name,
        size=size,
        rows=rows,
        level=0,
        min_key=KEYLESS,
        max_key=KEYLESS,
        min_sequence=first,
        max_sequence=first + rows - 1,
        created_millis=created,
        delete_rows=0,
    )


def marked(unmarked: DataFile, index: str = "index-1", deleted: int | None = 1) -> DataFile:
    """The file with so many deleted rows; None if nobody has counted them."""
    return replace(unmarked, has_vector=True, vector_file=index, deleted_rows=deleted)


def bucket_of(files: Iterable[DataFile]) -> Bucket:
    return Bucket(BucketId(b"", 0, "bucket-0"), tuple(files), -1)


def random_options(rng: Random, *, is_ordered: bool) -> PackingOptions:
    target = rng.choice([100, 1000])
    return PackingOptions(
        is_ordered=is_ordered,
        target_file_size=target,
        small_file_size=target // 10 * 7,
        open_file_cost=rng.choice([1, 10, 50]),
        min_files=rng.randint(2, 7),
    )


def random_files(rng: Random, options: PackingOptions) -> tuple[DataFile, ...]:
    """Files of different sizes, in the order of their rows; without gaps, as one writer numbers them."""
    most = rng.choice([2, options.target_file_size // 3, options.target_file_size * 2])
    sizes = rng.sample(range(1, most + 60), rng.randint(0, min(40, most)))
    files, first = [], 0
    for number, size in enumerate(sizes):
        files.append(file(f"f{number}", size, first=first, rows=(rows := rng.randint(1, 9))))
        first += rows
    return tuple(files)


def with_deletes(rng: Random, files: Sequence[DataFile]) -> tuple[DataFile, ...]:
    """The files, some of which have deleted rows; a few index files have the vectors."""
    share, indexes = rng.choice([0.0, 0.3, 0.9]), rng.randint(1, 6)

    def maybe(each: DataFile) -> DataFile:
        if rng.random() >= share:
            return each
        deleted = rng.choice([None, *range(1, each.rows + 1)])
        return marked(each, f"index-{rng.randrange(indexes)}", deleted)

    return tuple(map(maybe, files))


def cases(*, is_ordered: bool) -> st.SearchStrategy[tuple[PackingOptions, tuple[DataFile, ...]]]:
    """Options, and files of a bucket."""

    def drawn(seed: int) -> tuple[PackingOptions, tuple[DataFile, ...]]:
        rng = Random(seed)
        options = random_options(rng, is_ordered=is_ordered)
        files = random_files(rng, options)
        if is_ordered or rng.random() < 0.5:
            return options, files
        return replace(options, delete_ratio=rng.choice([0.0, 0.2, 1.0])), with_deletes(rng, files)

    return st.integers(0, 1 << 32).map(drawn)
