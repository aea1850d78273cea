"""Index manifests: the index files of a snapshot, as records that are copied unchanged.

Called by `manifests`; `index_manifest_writer` writes them. A snapshot has one index manifest with all index
files of all buckets. Only those of deletion vectors are interpreted here; the others are carried on as they
are. The form is Paimon's (`IndexManifestEntry`), and so is the rule that a bucket has one index file of a
type (`BucketedCombiner`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pypaimon.manifest.index_manifest_file import INDEX_MANIFEST_ENTRY_SCHEMA

from lithify.files.avro.metadata_files import Record, unpack
from lithify.formats.paimon.deletion_vectors.index_files import DELETION_VECTORS, VectorIndex, VectorRange
from lithify.formats.paimon.manifests.entries import ADD, check_version
from lithify.formats.paimon.manifests.entry_selection import EntrySelection, Place
from lithify.io.file_names import check_file_name

VERSION = 1
_MOST_TYPES = 64
"""Maximum number of index types; Paimon has five."""
RANGES = "_DELETIONS_VECTORS_RANGES"


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
    for record in records_of(content):
        types.add(record["_INDEX_TYPE"])
        if len(types) > _MOST_TYPES:
            raise ValueError(f"it has more than {_MOST_TYPES} kinds of index files")
        place = _place(record)
        if selection is not None and record["_INDEX_TYPE"] == DELETION_VECTORS and selection.holds(*place):
            vectors.setdefault(place, []).append(_vector_index(record))
    return Indexes(frozenset(types), {place: tuple(found) for place, found in vectors.items()})


def index_names(content: bytes) -> set[str]:
    """The names of all index files in an index manifest."""
    return {record["_FILE_NAME"] for record in records_of(content)}


def records_of(content: bytes) -> Iterator[Record]:
    """The entries of an index manifest."""
    for record in unpack(content, INDEX_MANIFEST_ENTRY_SCHEMA).records():
        check_version(record["_VERSION"], VERSION)
        if record["_KIND"] != ADD:
            raise ValueError("it has an index file that is not added")
        check_file_name(record["_FILE_NAME"])
        yield record


def _place(record: Record) -> Place:
    return record["_PARTITION"], record["_BUCKET"]


def _vector_index(record: Record) -> VectorIndex:
    ranges = {
        each["f0"]: VectorRange(each["f1"], each["f2"], each.get("_CARDINALITY"))
        for each in record[RANGES] or ()
    }
    return VectorIndex(record["_FILE_NAME"], record["_FILE_SIZE"], ranges, record.get("_EXTERNAL_PATH"))
