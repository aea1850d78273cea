"""Why deletion vectors cannot be written as a table's options say. Called by `reasons`. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lithify.formats.paimon.options.changelog_options import PRODUCER, ChangelogProducer
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.options.picking_options import VECTORS
from lithify.formats.paimon.options.record_expiry import TIME_FIELD
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.schema.schema import Schema

_INDEX_PATH = "global-index.external-path"


def vector_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """What deletion vectors cannot be combined with."""
    if options.vectors is None:
        return
    together = f"option {VECTORS} = true with"
    if merge_engine(schema.options) is MergeEngine.FIRST_ROW:
        yield f"{together} merge-engine = first-row: Paimon refuses it, because first-row replaces no rows"
    if options.changelog.producer is ChangelogProducer.FULL_COMPACTION:
        yield f"{together} {PRODUCER} = {options.changelog.producer}: Paimon refuses it"
    if options.expiry is not None:
        yield f"{together} {TIME_FIELD}: Paimon does not look up expired rows, so they stay besides new ones"
    if options.snapshot_ordering:
        yield f"{together} sequence.snapshot-ordering = true: this release does not look up rows by snapshots"
    yield from index_file_refusals(schema, options)


def index_file_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """Where index files of deletion vectors cannot be."""
    if options.vectors is None:
        return
    together = f"option {VECTORS} = true with"
    if options.vectors.in_data_directory and options.locations.external:
        yield f"{together} index-file-in-data-file-dir = true and data-file.external-paths: they go there"
    if schema.options.get(_INDEX_PATH, "").strip():
        yield f"{together} {_INDEX_PATH}: index files of deletion vectors lie there, too"
