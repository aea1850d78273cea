"""Which features meet in random histories, and how often: `python -m fuzz.combinations 200` prints it.

Histories are only drawn for that, and not played.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from random import Random

from java.fuzz.append_tables import KINDS, AppendTable
from java.fuzz.drawing import draw
from java.fuzz.engines import AGGREGATION, DEDUPLICATE, FIRST_ROW, PARTIAL_UPDATE
from java.fuzz.indexes import THRESHOLD, asked_for
from java.fuzz.options import VECTORS

ENGINES = (DEDUPLICATE, PARTIAL_UPDATE, AGGREGATION, FIRST_ROW)
PRODUCERS = ("none", "input", "full-compaction", "lookup")
INDEXES = ("no indexes", "indexes")
_FORMATS = ("parquet", "orc", "avro")
Combination = tuple[str, ...]


def of_keyed(options: Mapping[str, str]) -> Combination:
    """Merge engine, producer, vectors and indexes of a primary-key table."""
    return (
        options.get("merge-engine", DEDUPLICATE),
        options.get("changelog-producer", "none"),
        "vectors" if options.get(VECTORS) == "true" else "no vectors",
        INDEXES[_is_indexed(options)],
    )


def allowed_of_keyed() -> list[Combination]:
    """Every combination that Java allows, as its `SchemaValidation` says.

    First-row has the producer lookup or none, and no vectors. Vectors go with any producer but
    full-compaction.
    """
    every = product(ENGINES, PRODUCERS, ("no vectors", "vectors"), INDEXES)
    return [
        (engine, producer, vectors, indexes)
        for engine, producer, vectors, indexes in every
        if not (engine == FIRST_ROW and (vectors == "vectors" or producer not in ("none", "lookup")))
        if not (vectors == "vectors" and producer == "full-compaction")
    ]


def keyed(seeds: Iterable[int]) -> Counter[Combination]:
    """How many histories of primary-key tables have each combination."""
    return Counter(of_keyed(draw(seed).options) for seed in seeds)


def of_append(table: AppendTable) -> Combination:
    """Kind, partitions, format and indexes of a table without a key."""
    return (
        table.kind,
        "partitioned" if table.partition else "not partitioned",
        table.options["file.format"],
        INDEXES[_is_indexed(table.options)],
    )


def allowed_of_append() -> list[Combination]:
    """Every combination that Java allows."""
    return [*product(KINDS, ("partitioned", "not partitioned"), _FORMATS, INDEXES)]


def append(seeds: Iterable[int]) -> Counter[Combination]:
    """How many histories of append tables have each combination."""
    return Counter(of_append(AppendTable(seed, Random(seed))) for seed in seeds)


def index_places(seeds: Iterable[int]) -> Counter[str]:
    """How many histories of primary-key tables have each threshold of embedded indexes, and each kind."""
    found: Counter[str] = Counter()
    for options in (draw(seed).options for seed in seeds):
        if _is_indexed(options):
            found[options.get(THRESHOLD, "500 b")] += 1
            found.update({kind for _, kind in asked_for(options)})
            found["MAP values"] += any("[" in name for name, _ in asked_for(options))
    return found


def _is_indexed(options: Mapping[str, str]) -> bool:
    return bool(asked_for(options))


def main(count: int) -> None:
    """Prints a line for each combination."""
    for counted, allowed in (
        (keyed(range(count)), allowed_of_keyed()),
        (append(range(count)), allowed_of_append()),
    ):
        for combination in allowed:
            print(f"{counted[combination]:6} {' + '.join(combination)}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
