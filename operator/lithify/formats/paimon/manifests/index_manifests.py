"""Index manifests: the index files of a snapshot, as records that are copied unchanged.

Called by `manifests`. A snapshot has one index manifest with all index files of all buckets. Only those of
deletion vectors are interpreted here; the others are carried on as they are. The form is Paimon's
(`IndexManifestEntry`), and so is the rule that a bucket has one index file of a type (`BucketedCombiner`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO

from fastavro import writer
from pypaimon.manifest import avro_codec
from pypaimon.manifest.index_manifest_file import INDEX_MANIFEST_ENTRY_SCHEMA

from lithify.files.avro.metadata_files import Record, field_names, unpack
from lithify.formats.paimon.deletion_vectors.index_files import DELETION_VECTORS, VectorIndex, VectorRange
from lithify.formats.paimon.manifests.entries import ADD, check_version
from lithify.formats.paimon.manifests.entry_selection import EntrySelection, Place
from lithify.io.file_names import check_file_name

_VERSION = 1
_MOST_TYPES = 64
"""Maximum number of index types; Paimon has five."""
_RANGES = "_DELETIONS_VECTORS_RANGES"
_KNOWN_FIELDS = field_names(INDEX_MANIFEST_ENTRY_SCHEMA)


@dataclass(frozen=True, slots=True)
class Indexes:
    """The index files of a snapshot.

    Attributes:
        types: the types of all index files.
        vectors: the index files of deletion vectors of the selected buckets.
    """

    types: frozenset[str]
    vectors: Mapping[Place, tuple[VectorIndex, ...]]


NO_INDEXES = Indexes(frozenset(), {})


def decode_indexes(content: bytes, selection: EntrySelection | None = None) -> Indexes:
    """Reads an index manifest.

    Args:
        content: its bytes.
        selection: the buckets whose deletion vectors are wanted; None for no bucket.

    Raises:
        ValueError, LookupError, EOFError: it is no index manifest, or a damaged one.
    """
    types: set[str] = set()
    vectors: dict[Place, list[VectorIndex]] = {}
    for record in _records(content):
        types.add(record["_INDEX_TYPE"])
        if len(types) > _MOST_TYPES:
            raise ValueError(f"it has more than {_MOST_TYPES} kinds of index files")
        place = _place(record)
        if selection is not None and record["_INDEX_TYPE"] == DELETION_VECTORS and selection.holds(*place):
            vectors.setdefault(place, []).append(_vector_index(record))
    return Indexes(frozenset(types), {place: tuple(found) for place, found in vectors.items()})


def index_names(content: bytes) -> set[str]:
    """The names of all index files in an index manifest."""
    return {record["_FILE_NAME"] for record in _records(content)}


def replaced(
    content: bytes | None,
    removed: Collection[str],
    added: Iterable[tuple[Place, VectorIndex]],
    codec: str,
) -> bytes | None:
    """An index manifest in which some buckets have other deletion vectors.

    Args:
        content: the previous index manifest, None if there is none.
        removed: names of the index files of deletion vectors that it no longer has.
        added: its new ones, each with its bucket.
        codec: Avro codec by Paimon's name.

    Returns:
        None if no index file is left.

    Raises:
        ValueError, LookupError, EOFError: the previous one cannot be read, or not be written again because it
            is of a later format.
    """
    kept = [record for record in _all_fields(content) if not _is_removed(record, removed)]
    records = [*kept, *(_record(place, index) for place, index in added)]
    if not records:
        return None
    sink = BytesIO()
    writer(sink, INDEX_MANIFEST_ENTRY_SCHEMA, records, codec=avro_codec(codec))
    return sink.getvalue()


def _records(content: bytes) -> Iterator[Record]:
    for record in unpack(content, INDEX_MANIFEST_ENTRY_SCHEMA).records():
        check_version(record["_VERSION"], _VERSION)
        if record["_KIND"] != ADD:
            raise ValueError("it has an index file that is not added")
        check_file_name(record["_FILE_NAME"])
        yield record


def _all_fields(content: bytes | None) -> Iterable[Record]:
    if content is None:
        return ()
    if not field_names(unpack(content, INDEX_MANIFEST_ENTRY_SCHEMA).schema) <= _KNOWN_FIELDS:
        raise ValueError("it is of a later format, of which this release does not know all fields")
    return _records(content)


def _place(record: Record) -> Place:
    return record["_PARTITION"], record["_BUCKET"]


def _is_removed(record: Record, removed: Collection[str]) -> bool:
    return record["_INDEX_TYPE"] == DELETION_VECTORS and record["_FILE_NAME"] in removed


def _vector_index(record: Record) -> VectorIndex:
    ranges = {
        each["f0"]: VectorRange(each["f1"], each["f2"], each.get("_CARDINALITY"))
        for each in record[_RANGES] or ()
    }
    return VectorIndex(record["_FILE_NAME"], record["_FILE_SIZE"], ranges, record.get("_EXTERNAL_PATH"))


def _record(place: Place, index: VectorIndex) -> Record:
    partition, bucket = place
    return {
        "_VERSION": _VERSION,
        "_KIND": ADD,
        "_PARTITION": partition,
        "_BUCKET": bucket,
        "_INDEX_TYPE": DELETION_VECTORS,
        "_FILE_NAME": index.name,
        "_FILE_SIZE": index.size,
        "_ROW_COUNT": len(index.ranges),
        _RANGES: [
            {"f0": name, "f1": each.offset, "f2": each.length, "_CARDINALITY": each.cardinality}
            for name, each in index.ranges.items()
        ],
        "_EXTERNAL_PATH": index.external_path,
        "_GLOBAL_INDEX": None,
    }
