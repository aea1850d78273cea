"""Invents tables without a primary key that have very many small files, and no data.

Called by tests and benchmarks that plan such tables. All files are in level 0 and small; a share of them has
a deletion vector, of which only the index manifest tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from infrastructure.oracle.client import Oracle, Table
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex, VectorRange
from lithify.formats.paimon.manifests.index_manifest_writer import replaced
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from support.invented.entries import COLUMNS, Entries
from support.invented.shape import KEYS, Batch
from support.invented.table import name_of, publish

VECTORS = {"deletion-vectors.enabled": "true"}
CLUSTERED = {"clustering.incremental": "true", "clustering.columns": "shop_id,customer_id"}
_FIRST_DAY = date(2026, 1, 1)
_CHUNK = 20_000
"""Files that are invented at a time."""
_MARKED_BY_INDEX = 10_000
"""Data files with a vector in one index file, which has about the size at which Paimon rolls them."""


@dataclass(frozen=True, slots=True)
class AppendShape:
    """An invented table without a primary key, in numbers.

    Attributes:
        files: live files, each of some MiB.
        partitions: days, which have the same number of files.
        marked: share of the files that have a deletion vector.
        seed: the same seed gives the same files.
    """

    files: int = 1_000_000
    partitions: int = 1
    marked: float = 0.0
    seed: int = 0

    @property
    def days(self) -> list[str]:
        """The partitions."""
        return [str(_FIRST_DAY + timedelta(days=number)) for number in range(self.partitions)]

    def old_batches(self) -> Iterator[Batch]:
        """All files but one of each partition."""
        for day in self.days:
            left = self.files // self.partitions - 1
            while left > 0:
                yield _batch(day, 0, min(left, _CHUNK))
                left -= _CHUNK

    def new_batches(self) -> Iterator[Batch]:
        """One file of each partition."""
        for day in self.days:
            yield _batch(day, 1, 1)


def make_append_table(
    oracle: Oracle,
    warehouse: Path,
    shape: AppendShape,
    options: Mapping[str, str] | None = None,
    manifests: ManifestOptions | None = None,
) -> Table:
    """A table of orders without a key, with the files of a shape and no others."""
    table = Table(warehouse, "shop.appended")
    every = {**(VECTORS if shape.marked else {}), **(options or {})}
    oracle.create_table(table, COLUMNS, partition_keys=["dt"], options=every)
    names: dict[bytes, list[str]] = {}
    random = np.random.default_rng([shape.seed, 5])

    def note(partition: bytes, name: str) -> None:
        if random.random() < shape.marked:
            names.setdefault(partition, []).append(name)

    def write_indexes() -> str:
        indexes = [
            ((partition, 0), _index(number, part))
            for partition, marked in names.items()
            for number, part in enumerate(_parts(marked))
        ]
        name = f"index-manifest-{name_of(shape, 'index')}-0"
        content = replaced(None, (), indexes, "zstd")
        assert content is not None
        (table.folder / "manifest" / name).write_bytes(content)
        return name

    publish(
        table,
        shape,
        Entries([], -1, shape.seed),
        manifests,
        added=note if shape.marked else None,
        index=write_indexes if shape.marked else None,
    )
    return table


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[at : at + _MARKED_BY_INDEX] for at in range(0, len(names), _MARKED_BY_INDEX))


def _index(number: int, names: Sequence[str]) -> VectorIndex:
    ranges = {name: VectorRange(1 + 40 * place, 30, 100) for place, name in enumerate(names)}
    return VectorIndex(f"index-{names[0].removeprefix('data-')[:36]}-{number}", 40 * len(names), ranges)


def _batch(day: str, commit: int, files: int) -> Batch:
    zeros = np.zeros(files, np.int64)
    return Batch(day, 0, commit, zeros, zeros, np.full(files, KEYS - 1))
