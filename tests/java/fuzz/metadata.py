"""What a compaction leaves besides data files, and what Java finds by it; asked by `playing`."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row

_SNAPSHOT = ("schemaId", "commitKind", "totalRecordCount", "watermark", "statistics")
_MANIFEST = (
    "added",
    "deleted",
    "partitions",
    "schema_id",
    "min_bucket",
    "max_bucket",
    "min_level",
    "max_level",
)
_ASKED = 6
_EQUALITY = ("equal", "equal", "in", "not_equal")
_OPERATORS = (*_EQUALITY, "less_than", "less_or_equal", "greater_than", "greater_or_equal")


def standing(oracle: Oracle, table: Table, *, with_manifests: bool) -> dict[str, Any]:
    """What the newest snapshot says of the table: its figures, new manifests, keys in the index by bucket."""
    snapshots = oracle.snapshots(table)
    if not snapshots:
        return {}
    newest = max(snapshots, key=lambda snapshot: int(snapshot["id"]))
    # Java keeps an index file of deletion vectors in which none is left, or one of a file that is gone.
    live = {file.name for file in oracle.files(table)}
    indexes = oracle.index_files(table)
    files = [file for file in indexes if file.type == "HASH" or live & {*file.deletion_vectors}]
    index = [(str(file.partition), file.bucket, sorted(file.hashes)) for file in files]
    said = newest.get("properties") or {}
    delta = oracle.manifests(table)["delta"] if with_manifests else []
    return {
        **{name: newest.get(name) for name in _SNAPSHOT},
        "carried": {name: value for name, value in said.items() if not name.startswith("lithify.")},
        "index": sorted(index),
        "delta": [{name: manifest[name] for name in _MANIFEST} for manifest in delta],
    }


def asks(random: Random, types: dict[str, Any], rows: Sequence[Row]) -> list[Filter]:
    """Questions about columns that have an order; most of them have an answer.

    Java orders bytes by their sign in filters, and not in files: what it skips then depends on their layout.
    """
    drawn: list[Filter] = []
    for at, (name, kind) in enumerate(types.items()):
        values = [row[1 + at] for row in rows if row[1 + at] not in (None, "NaN")]
        if isinstance(kind, str) and not kind.startswith("VARIANT") and values:
            is_binary = kind.startswith(("BINARY", "VARBINARY", "BYTES"))
            operator = random.choice(_EQUALITY if is_binary else _OPERATORS)
            if operator == "in":
                drawn.append({"column": name, "op": "in", "literals": random.choices(values, k=2)})
            else:
                drawn.append({"column": name, "op": operator, "literal": random.choice(values)})
    return random.sample(drawn, min(_ASKED, len(drawn)))


def misled(oracle: Oracle, table: Table, filters: Sequence[Filter]) -> list[Filter]:
    """Those that find something else where files are skipped by their statistics."""
    if not filters:
        return []
    found = oracle.filtered_digests(table, filters)
    there = oracle.filtered_digests(table, filters, skipping=False)
    return [ask for ask, *both in zip(filters, found, there, strict=True) if both[0] != both[1]]
