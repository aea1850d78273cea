"""Why the snapshots or partitions of a table cannot be expired by this release.

Called by each kind of expiry before it plans. What is refused here is refused by name:
half an expiry leaks files at best.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.formats.paimon.access.identity import is_main
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.table import PaimonTable

_TOLD_OF_TAGS = ("tag.callbacks", "metastore.tag-to-partition")
_METASTORE = "metastore.partitioned-table"


def expiry_refusals(table: PaimonTable) -> Iterator[str]:
    """Every reason, none if snapshots can be expired. Tables that cannot be compacted are refused, too."""
    yield from table.refusals
    if not is_main(table.native):
        yield f"branch {table.native.current_branch()}: only the main branch is expired"
    if table.snapshots.has_server:
        yield "a catalog whose server commits: it is unknown what its server keeps of expired snapshots"


def partition_refusals(table: PaimonTable) -> Iterator[str]:
    """The further reasons against the expiry of partitions."""
    if not table.schema.partition_keys:
        yield "option partition.expiration-time: the table has no partition columns"
    if OptionReader(table.stored_options).boolean(_METASTORE, default=False):
        yield f"option {_METASTORE}: the metastore would go on listing dropped partitions"


def tag_refusals(table: PaimonTable) -> Iterator[str]:
    """The further reasons against creating and deleting tags."""
    for option in _TOLD_OF_TAGS:
        if table.stored_options.get(option):
            yield f"option {option}: this release tells nobody of tags that it creates and deletes"
