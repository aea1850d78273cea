"""Why a table without a primary key cannot be compacted as its options say. Called by `reasons`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lithify.formats.paimon.options.changelog_options import PRODUCER
from lithify.formats.paimon.options.picking_options import VECTORS
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.paimon.support.deletion_vectors import index_file_refusals

_NOT_IN_APPEND_TABLES = {
    "chain-table.enabled": "false",
    PRODUCER: "none",
    "data-evolution.enabled": "false",
    "force-lookup": "false",
    "row-tracking.enabled": "false",
}
"""Options that must have these defaults in append tables, whatever they mean in primary-key tables."""


def append_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """Options that are supported or without effect in primary-key tables only, or not together."""
    buckets = schema.options.get("bucket", "-1").strip()
    if not re.fullmatch("-1|0*[1-9][0-9]*", buckets):
        yield f"option bucket = {buckets} in an append table: only -1 and 1 or more have a meaning there"
    for name, plain in _NOT_IN_APPEND_TABLES.items():
        value = schema.options.get(name, plain)
        if value.strip().lower() != plain:
            yield f"option {name} = {value} in an append table: this release supports it in no such table"
    if options.vectors is not None and options.packing is not None and options.packing.is_ordered:
        yield (
            f"option {VECTORS} = true with bucket = {buckets} in an append table: a DELETE of Paimon does "
            "not notice when a compaction replaces the files of its bucket, so its rows would come back"
        )
    yield from index_file_refusals(schema, options)
