"""Why files cannot be written or read where a table's options put them.

Called by `reasons`, and by `opening`, which gives access to no other places.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.formats.paimon.options.location_options import LocationOptions
from lithify.formats.paimon.schema.schema import Schema
from lithify.io.storage import Storage


def location_refusals(root: str, schema: Schema, options: LocationOptions, storage: Storage) -> Iterator[str]:
    """Why new files could not be written where readers look for them."""
    for path in options.external:
        problem = place_refusal(path, root, storage)
        if problem is not None:
            yield f"option data-file.external-paths = {path}: {problem}"
    if not options.legacy:
        for name, column in zip(schema.partition_keys, schema.partition_types, strict=True):
            if column.root == "TIMESTAMP_LTZ":
                yield (
                    f"column {name} as partition with option partition.legacy-name = false: its directories "
                    "are named in the time zone of whoever writes, which nothing tells"
                )


def place_refusal(path: str, root: str, storage: Storage) -> str | None:
    """Why files at an external path can be neither read nor written; None if they can."""
    if not storage.reaches(path):
        return "this release only reaches the kind of file system that the table itself is on"
    if storage.is_of_another_table(path, root):
        return (
            "other tables may lie there; people who may change this one must not have their files read or "
            "deleted, so choose a directory outside the folders of databases"
        )
    return None
