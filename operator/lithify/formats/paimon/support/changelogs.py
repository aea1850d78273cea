"""Why the changelog of a table cannot be produced as its options say. Called by `reasons`. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lithify.files.types import ColumnType
from lithify.formats.paimon.options.changelog_options import (
    DEDUPLICATE,
    IGNORED,
    PRODUCER,
    ChangelogOptions,
    ChangelogProducer,
    compared_columns,
)
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.schema.schema import Schema

_NOT_COMPARED = frozenset({"MAP", "MULTISET", "VARIANT"})
"""Types whose values this release cannot compare."""


def changelog_refusals(schema: Schema, changelog: ChangelogOptions) -> Iterator[str]:
    """Why the changelog of a table cannot be produced as its options say."""
    engine, producer = merge_engine(schema.options), changelog.producer
    if engine is MergeEngine.FIRST_ROW and producer not in (ChangelogProducer.NONE, ChangelogProducer.LOOKUP):
        yield f"option {PRODUCER} = {producer} with merge-engine = {engine}: Paimon refuses it"
    if producer is ChangelogProducer.FULL_COMPACTION and changelog.force_lookup:
        yield f"option {PRODUCER} = {producer} with force-lookup = true: Paimon refuses it since version 2.0"
    if changelog.is_compacted and changelog.deduplicates:
        for name in compared_columns(schema, changelog):
            kinds = sorted({*_roots(schema.column(name).type)} & _NOT_COMPARED)
            if kinds:
                yield (
                    f"column {name} as {kinds[0]} with option {DEDUPLICATE} = true: this release cannot tell "
                    f"whether its values are equal; name the column in {IGNORED}"
                )


def _roots(column: ColumnType) -> Iterator[str]:
    """The roots of a type and of its parts."""
    yield column.root
    for part in column.fields:
        yield from _roots(part.type)
