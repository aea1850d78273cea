"""Files of clustered tables, as planning sees them, and random ones."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions, HistoryOptions
from lithify.formats.paimon.planning.universal.policy import UniversalOptions
from support.merge_trees import HOUR_MILLIS, MIDNIGHT_MILLIS
from support.small_files import file

COLUMNS = ("a", "b")
_SIZES = ((1, 100), (1, 10_000), (100, 110))


def leveled(name: str, level: int, size: int = 100, *, schema_id: int = 0, created: int = 0) -> DataFile:
    """A file of some level, created `created` milliseconds before midnight."""
    plain = file(name, size, created=MIDNIGHT_MILLIS - created)
    return replace(plain, level=level, schema_id=schema_id)


def random_options(rng: Random) -> ClusteringOptions:
    trigger = rng.randint(1, 6)
    return ClusteringOptions(
        columns=COLUMNS,
        universal=UniversalOptions(
            num_levels=rng.choice([2, 3, trigger + 1, 7]) if trigger > 1 else 3,
            run_trigger=trigger,
            size_amplification_percent=rng.choice([0, 50, 200]),
            size_ratio=rng.choice([0, 1, 50, 200]),
            small_file_size=rng.choice([10, 100, 1000]),
        ),
        history=rng.choice([None, HistoryOptions(HOUR_MILLIS * rng.choice([0, 3]), rng.randint(0, 3))]),
    )


def random_files(
    rng: Random, options: ClusteringOptions, schema_ids: tuple[int, ...] = (0,)
) -> list[DataFile]:
    """At least one file; files of one level have one schema, as one compaction writes them."""
    sizes = rng.choice(_SIZES)
    counts = {0: rng.choice([0, 1, 2, 5, 9])}
    above = range(1, options.universal.num_levels)
    for level in rng.sample(above, rng.randint(0 if counts[0] else 1, len(above))):
        counts[level] = rng.randint(1, 3)
    files = []
    for level, count in counts.items():
        schema_id = rng.choice(schema_ids)
        for number in range(count):
            size, age = rng.randint(*sizes) * (1 + level), rng.choice([0, 1, 4]) * HOUR_MILLIS
            files.append(leveled(f"L{level}-{number}", level, size, schema_id=schema_id, created=age))
    return files
