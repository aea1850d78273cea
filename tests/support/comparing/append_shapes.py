"""Shapes of tables without a primary key: those of `shapes` that mean something without one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

from infrastructure.oracle.client import Oracle, Table
from support.comparing.rows import draw_keys, draw_row, values_of
from support.comparing.shapes import CHANGES, FORMATS, KEYS, PARTITIONS, TYPES, Shape

_KEPT = ("file.", "parquet.", "orc.", "avro.", "metadata.", "partition.", "data-file.path", "variant.")
"""Options that do not concern keys."""


def without_levels(options: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in options.items() if name.startswith(_KEPT) and ".per.level" not in name
    }


def is_about_keys(shape: Shape) -> bool:
    return any(not name.startswith(_KEPT) for name in shape.options)


APPEND_SHAPES = [
    shape for shape in (*KEYS, *TYPES, *PARTITIONS, *CHANGES, *FORMATS) if not is_about_keys(shape)
]


def make(oracle: Oracle, shape: Shape, warehouse: Path, **options: str) -> Table:
    """A table of that shape without a key, each commit of which adds a file to every bucket."""
    random = Random(shape.name)
    table = Table(warehouse, "db.t")
    partition = {name: kind for name, (kind, _) in shape.partition.items()}
    oracle.create_table(
        table,
        {**partition, **shape.key, **shape.values},
        partition_keys=[*partition],
        options={**without_levels(shape.options), **options},
    )
    keys = draw_keys(random, shape, shape.key_values)
    for commit in range(shape.commits):
        changes = shape.changes.get(commit)
        if changes is not None:
            oracle.alter_table(table, *(changes if isinstance(changes, list) else [changes]))
        values = values_of(oracle, table, shape)
        oracle.write(table, [draw_row(random, shape, keys, values, 0.0) for _ in range(shape.rows)])
    return table
