"""Why the rows of a table with postponed buckets cannot be moved to their buckets.

Called by `reasons`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypaimon.schema.table_schema import TableSchema

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.bucket_key import bucket_key
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.schema.schema import Schema

_PLAIN = {
    "changelog-producer": "none",
    "deletion-vectors.enabled": "false",
    "force-lookup": "false",
    "write.sequence-number-init-mode": "scan",
}
"""Options that must have their defaults."""


def postponed_refusals(loaded: TableSchema, schema: Schema, options: TableOptions) -> Iterator[str]:
    """The reasons, none for a table whose writers choose the buckets.

    Args:
        loaded: the newest schema as pypaimon parses it.
        schema: the same.
        options: the options that a compaction reads.
    """
    if options.postponed is None:
        return
    if not set(schema.partition_keys) <= set(loaded.primary_keys):
        yield "option bucket = -2: a partition column is not in the primary key, so buckets cannot be fixed"
    try:
        bucket_key(schema)
    except InvalidOption as error:
        yield f"option {error}"
    for name, plain in _PLAIN.items():
        value = schema.options.get(name, plain).strip().lower()
        if value != plain:
            yield (
                f"option {name} = {value} with bucket = -2 (accepted: {plain}): this release does not move "
                "rows to their buckets then"
            )
    if options.snapshot_ordering:
        yield "option sequence.snapshot-ordering = true with bucket = -2: moved rows would count as newer"
    for column in loaded.fields:
        if column.default_value is not None:
            yield (
                f"column {column.name} with a default value and bucket = -2: rows that were postponed before "
                "the column was added would have to get the default when they are moved"
            )
