"""All table options that a compaction reads, for planning, the merge, the writer and the commit.

Called by `opening`; the modules beside this one read the groups of
options. Names and defaults are those of Paimon's CoreOptions; some defaults of tables without a primary key
differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lithify.columns.orders import SequenceField
from lithify.engine.commit.patience import Patience
from lithify.engine.pack.options import PackingOptions
from lithify.files.options import FileOptions
from lithify.formats.paimon.file_indexes.model import NO_INDEXES, FileIndexOptions
from lithify.formats.paimon.options.changelog_options import (
    NO_CHANGELOG,
    ChangelogOptions,
    ChangelogProducer,
    read_changelog_options,
)
from lithify.formats.paimon.options.clustering_options import ClusteringSettings, read_clustering
from lithify.formats.paimon.options.file_options import KEYLESS_TARGET_SIZE, TARGET_SIZE, read_file_options
from lithify.formats.paimon.options.index_options import read_index_options
from lithify.formats.paimon.options.location_options import LocationOptions, read_locations
from lithify.formats.paimon.options.option_reader import OptionReader, parse_millis
from lithify.formats.paimon.options.picking_options import (
    VECTORS,
    has_compacting_writers,
    read_packing,
    read_picking,
    with_lookups,
)
from lithify.formats.paimon.options.record_expiry import RecordExpiry, read_record_expiry
from lithify.formats.paimon.options.snapshot_options import (
    ManifestOptions,
    read_commit_options,
    read_manifest_options,
)
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions

DELTA_COMMITS = "full-compaction.delta-commits"

_POSTPONED = -2
_UPDATE_BEFORE, _DELETE = 1, 3

_MOST_COMMITS = 10_000
"""Maximum number of commits to count: an observation may have to read as many snapshots."""

# The first option that is set applies.
_IGNORE_DELETE = (
    "ignore-delete",
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)


@dataclass(frozen=True, slots=True)
class PostponedOptions:
    """How postponed rows are moved to their buckets.

    Attributes:
        first_buckets: number of buckets of a partition that has none yet.
        ignored_kinds: row kinds that writers leave out.
    """

    first_buckets: int
    ignored_kinds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """How deletion vectors are written.

    Attributes:
        is_wide: whether new ones have the 64-bit form.
        in_data_directory: whether index files are in the directories of their buckets.
        index_file_size: bytes at which index files roll in tables without buckets.
    """

    is_wide: bool
    in_data_directory: bool
    index_file_size: int = 2 << 20


@dataclass(frozen=True, slots=True)
class TableOptions:
    """All options that a compaction reads.

    Attributes:
        policy: which files are compacted.
        files: how files are written.
        locations: where they are.
        commit: how commits are retried.
        manifests: how manifests are written and merged.
        sequence_fields: columns that order the rows of a key before their sequence number does.
        snapshot_ordering: whether the row of a key from the latest snapshot wins.
        ignore_deletes: whether deletes are ignored.
        vectors: how deletion vectors are written; None if the table has none.
        expiry: which rows a compaction drops because of their age; None if none.
        delta_commits: number of commits after which a full compaction is due; None if not counted.
        check_millis: how often streaming readers look for new snapshots; None if the table does not say.
        postponed: how postponed rows are moved to their buckets; None if writers choose the buckets.
        packing: which files of a table without a primary key are joined; None for primary-key tables.
        clustering: how rows of a table without a primary key are sorted; None if they are not.
        changelog: how changelogs are produced.
        changelog_files: how changelog files are written; None if compactions write none.
        indexes: the file indexes of data files and changelog files.
    """

    policy: MergeTreeOptions
    files: FileOptions
    locations: LocationOptions
    commit: Patience
    manifests: ManifestOptions
    sequence_fields: tuple[SequenceField, ...]
    snapshot_ordering: bool
    ignore_deletes: bool
    vectors: VectorOptions | None = None
    expiry: RecordExpiry | None = None
    delta_commits: int | None = None
    check_millis: int | None = None
    postponed: PostponedOptions | None = None
    packing: PackingOptions | None = None
    clustering: ClusteringSettings | None = None
    changelog: ChangelogOptions = NO_CHANGELOG
    changelog_files: FileOptions | None = None
    indexes: FileIndexOptions = NO_INDEXES


def read_options(options: Mapping[str, str], *, has_primary_key: bool = True) -> TableOptions:
    """Reads the options of a table.

    Raises:
        InvalidOption: a value cannot be parsed, or has no meaning in Paimon.
    """
    reader = OptionReader(options)
    expiry = read_record_expiry(reader) if has_primary_key else None
    target = reader.size("target-file-size", TARGET_SIZE if has_primary_key else KEYLESS_TARGET_SIZE, low=1)
    ignores_deletes = reader.boolean(
        next((key for key in _IGNORE_DELETE if key in options), _IGNORE_DELETE[0]), default=False
    )
    files = replace(read_file_options(reader, options), target_size=target)
    vectors, changelog = _vectors(reader), read_changelog_options(reader, options)
    policy = replace(
        read_picking(reader, target),
        has_vectors=vectors is not None,
        writers_compact=has_compacting_writers(options),
    )
    policy = with_lookups(policy, reader, options, changelog, files)
    return TableOptions(
        policy=replace(policy, expire_seconds=None if expiry is None else expiry.seconds),
        files=files,
        locations=read_locations(reader),
        commit=read_commit_options(reader),
        manifests=read_manifest_options(reader),
        sequence_fields=_sequence_fields(reader),
        snapshot_ordering=reader.boolean("sequence.snapshot-ordering", default=False),
        ignore_deletes=ignores_deletes,
        vectors=vectors,
        expiry=expiry,
        delta_commits=_delta_commits(reader, changelog.producer),
        check_millis=reader.optional("continuous.discovery-interval", parse_millis),
        postponed=_postponed(reader, ignores_deletes=ignores_deletes),
        packing=None if has_primary_key else read_packing(reader, target, has_vectors=vectors is not None),
        clustering=None if has_primary_key else read_clustering(reader, policy),
        changelog=changelog,
        changelog_files=read_file_options(reader, options, of_changelogs=True)
        if changelog.is_compacted
        else None,
        indexes=read_index_options(reader, options),
    )


def _vectors(reader: OptionReader) -> VectorOptions | None:
    if not reader.boolean(VECTORS, default=False):
        return None
    return VectorOptions(
        is_wide=reader.boolean("deletion-vectors.bitmap64", default=False),
        in_data_directory=reader.boolean("index-file-in-data-file-dir", default=False),
        index_file_size=reader.size("deletion-vector.index-file.target-size", 2 << 20),
    )


def _postponed(reader: OptionReader, *, ignores_deletes: bool) -> PostponedOptions | None:
    """Options for moving postponed rows, which are filtered like newly written ones."""
    if reader.integer("bucket", 1) != _POSTPONED:
        return None
    ignores_before = ignores_deletes or reader.boolean("ignore-update-before", default=False)
    kinds = (*((_UPDATE_BEFORE,) if ignores_before else ()), *((_DELETE,) if ignores_deletes else ()))
    return PostponedOptions(reader.integer("postpone.default-bucket-num", 1, low=1), kinds)


def _delta_commits(reader: OptionReader, producer: ChangelogProducer) -> int | None:
    """Numbers below 1 disable the count, unless only full compactions write the changelog.

    Then Java's jobs compact fully after every commit if the table states no other number.
    """
    commits = reader.optional(DELTA_COMMITS, int) or 0
    if producer is ChangelogProducer.FULL_COMPACTION:
        commits = max(commits, 1)
    return None if commits < 1 else min(commits, _MOST_COMMITS)


def _sequence_fields(reader: OptionReader) -> tuple[SequenceField, ...]:
    ascending = reader.text("sequence.field.sort-order", "ascending").lower() != "descending"
    names = [name.strip() for name in reader.text("sequence.field", "").split(",")]
    return tuple(SequenceField(name, ascending) for name in names if name)
