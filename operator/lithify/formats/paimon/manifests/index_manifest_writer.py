"""Writes the index manifest that follows another one, of which entries that stay are copied unchanged.

Called by `manifest_files`. The form is Paimon's (`IndexManifestEntry`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from io import BytesIO

from fastavro import writer
from pypaimon.manifest import avro_codec
from pypaimon.manifest.index_manifest_file import INDEX_MANIFEST_ENTRY_SCHEMA

from lithify.files.avro.metadata_files import Record, field_names, unpack
from lithify.formats.paimon.deletion_vectors.index_files import DELETION_VECTORS, VectorIndex
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.manifests.entry_selection import Place
from lithify.formats.paimon.manifests.index_manifests import RANGES, VERSION, records_of

_KNOWN_FIELDS = field_names(INDEX_MANIFEST_ENTRY_SCHEMA)


def replaced(
    content: bytes | None,
    removed: Collection[str],
    added: Iterable[tuple[Place, VectorIndex]],
    codec: str,
    dropped: Collection[bytes] = (),
) -> bytes | None:
    """An index manifest in which some buckets have other deletion vectors, and some partitions nothing.

    Args:
        content: the previous index manifest, None if there is none.
        removed: names of the index files of deletion vectors that it no longer has.
        added: its new ones, each with its bucket.
        codec: Avro codec by Paimon's name.
        dropped: the partitions of which no index file stays, of any kind.

    Returns:
        None if no index file is left.

    Raises:
        ValueError, LookupError, EOFError: the previous one cannot be read, or not be written again because it
            is of a later format.
    """
    kept = [
        record
        for record in _all_fields(content)
        if not _is_removed(record, removed) and record["_PARTITION"] not in dropped
    ]
    records = [*kept, *(_record(place, index) for place, index in added)]
    if not records:
        return None
    sink = BytesIO()
    writer(sink, INDEX_MANIFEST_ENTRY_SCHEMA, records, codec=avro_codec(codec))
    return sink.getvalue()


def _all_fields(content: bytes | None) -> Iterable[Record]:
    if content is None:
        return ()
    if not field_names(unpack(content, INDEX_MANIFEST_ENTRY_SCHEMA).schema) <= _KNOWN_FIELDS:
        raise ValueError("it is of a later format, of which this release does not know all fields")
    return records_of(content)


def _is_removed(record: Record, removed: Collection[str]) -> bool:
    return record["_INDEX_TYPE"] == DELETION_VECTORS and record["_FILE_NAME"] in removed


def _record(place: Place, index: VectorIndex) -> Record:
    partition, bucket = place
    return {
        "_VERSION": VERSION,
        "_KIND": ADD,
        "_PARTITION": partition,
        "_BUCKET": bucket,
        "_INDEX_TYPE": DELETION_VECTORS,
        "_FILE_NAME": index.name,
        "_FILE_SIZE": index.size,
        "_ROW_COUNT": len(index.ranges),
        RANGES: [
            {"f0": name, "f1": each.offset, "f2": each.length, "_CARDINALITY": each.cardinality}
            for name, each in index.ranges.items()
        ],
        "_EXTERNAL_PATH": index.external_path,
        "_GLOBAL_INDEX": None,
    }
