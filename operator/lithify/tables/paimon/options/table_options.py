"""Parsed table options for planning, the merge, the writer and the commit.

Called by `opening` after `support` has accepted the options. Names and defaults are those of Paimon's
CoreOptions; some defaults of tables without a primary key differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.planning.bin_packing.policy import PackingOptions
from lithify.planning.merge_tree.policy import LoggedUpgrades, MergeTreeOptions
from lithify.planning.universal.policy import EarlyFull, OffPeak, PickingRule
from lithify.rewriting.records import SequenceField
from lithify.sizes import parse_size
from lithify.tables.files.options import FileOptions
from lithify.tables.paimon.file_indexes.model import NO_INDEXES, FileIndexOptions
from lithify.tables.paimon.layout.file_names import is_plain_path, shown
from lithify.tables.paimon.options.changelog_options import (
    GENTLE_MILLIS,
    NO_CHANGELOG,
    ChangelogOptions,
    ChangelogProducer,
    is_gentle,
    level0_trigger,
    read_changelog_options,
)
from lithify.tables.paimon.options.clustering_options import ClusteringSettings, read_clustering
from lithify.tables.paimon.options.file_options import KEYLESS_TARGET_SIZE, TARGET_SIZE, read_file_options
from lithify.tables.paimon.options.index_options import read_index_options
from lithify.tables.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.tables.paimon.options.option_reader import (
    OptionReader,
    as_ratio,
    bounded,
    parse_millis,
)
from lithify.tables.paimon.options.record_expiry import RecordExpiry, read_record_expiry

VECTORS = "deletion-vectors.enabled"
DELTA_COMMITS = "full-compaction.delta-commits"
SMALL_FILE_AGE = "lithify.small-file-age"
"""Lithify's own: Paimon's coordinator counts its plans instead, and has no option."""
_EXTERNAL = "data-file.external-paths"

_POSTPONED = -2
_UPDATE_BEFORE, _DELETE = 1, 3

_TIME_RETAINED = 3_600_000
_DELETE_RATIO = 0.2
_LARGEST_SIZE = 1 << 62
_MOST_COMMITS = 10_000
"""Maximum number of commits to count: an observation may have to read as many snapshots."""

_LOGGED = {
    ChangelogProducer.FULL_COMPACTION: LoggedUpgrades.TO_TOP,
    ChangelogProducer.LOOKUP: LoggedUpgrades.OF_LEVEL0,
}

# The first option that is set applies.
_WRITE_ONLY = ("write-only", "write.compaction-skip")
_IGNORE_DELETE = (
    "ignore-delete",
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)


@dataclass(frozen=True, slots=True)
class LocationOptions:
    """Locations of data files.

    Attributes:
        default_name: the directory of null or blank partition values.
        legacy: whether directories spell partition values like Java's `toString`.
        directory: the folder of all data files in the table's folder, empty for that itself.
        external: directories for new files instead of the table's folder, as URIs.
        listed: all paths in the option, whatever the strategy: older files may be there.
        weights: relative frequency of each of those; empty for round robin.
        has_entropy: whether files there are in directories named after a hash of their names.
    """

    default_name: str
    legacy: bool
    directory: str
    external: tuple[str, ...]
    listed: tuple[str, ...]
    weights: tuple[int, ...]
    has_entropy: bool


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """Retries after a lost race for the next snapshot. Times in seconds.

    Attributes:
        max_retries: number of retries that are always made.
        min_wait: the shortest wait between two tries.
        max_wait: the longest wait.
        timeout: time after which no retries beyond `max_retries` are made.
    """

    max_retries: int
    min_wait: float
    max_wait: float
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """How manifests are written and merged. Sizes in bytes.

    Attributes:
        compression: Avro codec by Paimon's name, lower case.
        target_size: size at which manifests roll, and up to which adjacent ones are merged.
        merge_min_count: number of small manifests at the end of the list that are merged whatever their size.
        full_threshold: total size of small manifests and those with deletions at which all are merged.
        drop_deleted_statistics: whether entries of removed files have no column statistics.
    """

    compression: str = "zstd"
    target_size: int = 8 << 20
    merge_min_count: int = 30
    full_threshold: int = 16 << 20
    drop_deleted_statistics: bool = False


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
    commit: CommitOptions
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


@dataclass(frozen=True, slots=True)
class SnapshotRetention:
    """Minimum retention of snapshots in milliseconds; with more than `count` snapshots it does not apply."""

    millis: int
    count: int | None


def read_options(
    options: Mapping[str, str], rule: PickingRule = PickingRule.V1_4, *, has_primary_key: bool = True
) -> TableOptions:
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
        _policy(reader, rule, target),
        has_vectors=vectors is not None,
        writers_compact=has_compacting_writers(options),
    )
    policy = _with_lookups(policy, reader, options, changelog, files)
    return TableOptions(
        policy=replace(policy, expire_seconds=None if expiry is None else expiry.seconds),
        files=files,
        locations=_location_options(reader),
        commit=CommitOptions(
            max_retries=reader.integer("commit.max-retries", 10, low=0),
            min_wait=reader.duration("commit.min-retry-wait", 10) / 1000,
            max_wait=reader.duration("commit.max-retry-wait", 10_000) / 1000,
            timeout=reader.duration("commit.timeout", 600_000) / 1000,
        ),
        manifests=_manifest_options(reader),
        sequence_fields=_sequence_fields(reader),
        snapshot_ordering=reader.boolean("sequence.snapshot-ordering", default=False),
        ignore_deletes=ignores_deletes,
        vectors=vectors,
        expiry=expiry,
        delta_commits=_delta_commits(reader, changelog.producer),
        check_millis=reader.optional("continuous.discovery-interval", parse_millis),
        postponed=_postponed(reader, ignores_deletes=ignores_deletes),
        packing=None if has_primary_key else _packing(reader, target, has_vectors=vectors is not None),
        clustering=None if has_primary_key else read_clustering(reader, policy),
        changelog=changelog,
        changelog_files=read_file_options(reader, options, of_changelogs=True)
        if changelog.is_compacted
        else None,
        indexes=read_index_options(reader, options),
    )


def is_write_only(options: Mapping[str, str]) -> bool:
    """Whether writers of the table leave compaction to others.

    Raises:
        InvalidOption: the option is neither true nor false.
    """
    reader = OptionReader(options)
    key = next((key for key in _WRITE_ONLY if key in options), _WRITE_ONLY[0])
    return reader.boolean(key, default=False)


def has_compacting_writers(options: Mapping[str, str]) -> bool:
    """Whether the table has deletion vectors that writers may change, too, since they are not write-only.

    Raises:
        InvalidOption: an option is neither true nor false.
    """
    return OptionReader(options).boolean(VECTORS, default=False) and not is_write_only(options)


def retention(options: Mapping[str, str]) -> SnapshotRetention:
    """Reads how long a table's writers keep snapshots.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    reader = OptionReader(options)
    return SnapshotRetention(
        millis=reader.duration("snapshot.time-retained", _TIME_RETAINED),
        count=reader.optional("snapshot.num-retained.max", int),
    )


def _packing(reader: OptionReader, target: int, *, has_vectors: bool) -> PackingOptions:
    """How small files are joined; the rows of a bucket have an order if there are several buckets."""
    default = PackingOptions()
    return PackingOptions(
        is_ordered=reader.integer("bucket", -1) > 0,
        target_file_size=target,
        small_file_size=_small_file_size(reader, target),
        open_file_cost=reader.size("source.split.open-file-cost", default.open_file_cost),
        min_files=reader.integer("compaction.min.file-num", default.min_files),
        max_files=max(2, reader.integer("compaction.file-num-limit", default.max_files)),
        force_rewrite=reader.boolean("compaction.force-rewrite-all-files", default=False),
        leftover_millis=reader.duration(SMALL_FILE_AGE, default.leftover_millis),
        delete_ratio=_delete_ratio(reader) if has_vectors else None,
    )


def _delete_ratio(reader: OptionReader) -> float:
    ratio = reader.optional("compaction.delete-ratio-threshold", as_ratio)
    return _DELETE_RATIO if ratio is None else ratio


def _vectors(reader: OptionReader) -> VectorOptions | None:
    if not reader.boolean(VECTORS, default=False):
        return None
    return VectorOptions(
        is_wide=reader.boolean("deletion-vectors.bitmap64", default=False),
        in_data_directory=reader.boolean("index-file-in-data-file-dir", default=False),
        index_file_size=reader.size("deletion-vector.index-file.target-size", 2 << 20),
    )


def _with_lookups(
    policy: MergeTreeOptions,
    reader: OptionReader,
    options: Mapping[str, str],
    changelog: ChangelogOptions,
    files: FileOptions,
) -> MergeTreeOptions:
    """How changelogs and lookups affect planning.

    Readers of first-row and of tables with deletion vectors skip level 0, and changelogs by lookup need it
    empty, so Paimon leaves no files there. An upgrade of a level-0 file needs no lookup if the newest record
    wins whatever is above.
    """
    logged = _LOGGED.get(changelog.producer, LoggedUpgrades.NONE)
    engine = merge_engine(options)
    if not (changelog.looks_up or policy.has_vectors or engine is MergeEngine.FIRST_ROW):
        return replace(policy, logged_upgrades=logged)
    is_newest = engine is MergeEngine.DEDUPLICATE and not reader.text("sequence.field", "")
    formats = {level: files.at(level).format for level in (0, *range(policy.num_levels), *files.levels)}
    return replace(
        policy,
        force_level0=True,
        level0_trigger=level0_trigger(reader, policy.run_trigger),
        level0_millis=GENTLE_MILLIS if is_gentle(reader) else None,
        looks_up=not is_newest,
        reformatted=frozenset(level for level, kind in formats.items() if kind != formats[0]),
        logged_upgrades=logged,
    )


def _policy(reader: OptionReader, rule: PickingRule, target: int) -> MergeTreeOptions:
    """How files are picked."""
    trigger = reader.integer("num-sorted-run.compaction-trigger", 5, low=1)
    return MergeTreeOptions(
        num_levels=reader.integer("num-levels", trigger + 1, low=2),
        run_trigger=trigger,
        size_amplification_percent=reader.integer("compaction.max-size-amplification-percent", 200),
        size_ratio=reader.integer("compaction.size-ratio", 1),
        early_full=EarlyFull(
            interval_millis=reader.optional("compaction.optimization-interval", parse_millis),
            total_size=reader.optional("compaction.total-size-threshold", parse_size),
            incremental_size=reader.optional("compaction.incremental-size-threshold", parse_size),
        ),
        off_peak=_off_peak(reader),
        force_level0=reader.boolean("compaction.force-up-level-0", default=False),
        force_rewrite=reader.boolean("compaction.force-rewrite-all-files", default=False),
        target_file_size=target,
        small_file_size=_small_file_size(reader, target),
        rule=rule,
    )


def _postponed(reader: OptionReader, *, ignores_deletes: bool) -> PostponedOptions | None:
    """Moving rows is writing them again, so what writers leave out is left out then, too."""
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


def _small_file_size(reader: OptionReader, target: int) -> int:
    """70 % of the target, computed as in Paimon 1.4, or by the ratio option of later versions."""
    ratio = reader.optional("compaction.small-file-ratio", as_ratio)
    return target // 10 * 7 if ratio is None else int(min(target * ratio, _LARGEST_SIZE))


def _off_peak(reader: OptionReader) -> OffPeak | None:
    start = reader.integer("compaction.offpeak.start.hour", -1)
    end = reader.integer("compaction.offpeak.end.hour", -1)
    if -1 in (start, end) or start == end:
        return None
    return OffPeak(start, end, reader.integer("compaction.offpeak-ratio", 0))


def _manifest_options(reader: OptionReader) -> ManifestOptions:
    default = ManifestOptions()
    return ManifestOptions(
        compression=reader.text("manifest.compression", default.compression).lower(),
        target_size=reader.size("manifest.target-file-size", default.target_size),
        merge_min_count=reader.integer("manifest.merge-min-count", default.merge_min_count),
        full_threshold=reader.size("manifest.full-compaction-threshold-size", default.full_threshold, low=1),
        drop_deleted_statistics=reader.boolean("manifest.delete-file-drop-stats", default=False),
    )


def _location_options(reader: OptionReader) -> LocationOptions:
    strategy = reader.text("data-file.external-paths.strategy", "none").lower()
    external = () if strategy == "none" else _external_paths(reader, strategy)
    return LocationOptions(
        default_name=reader.text("partition.default-name", "__DEFAULT_PARTITION__", stripped=False),
        legacy=reader.boolean("partition.legacy-name", default=True),
        directory=reader.optional("data-file.path-directory", _directory) or "",
        external=external,
        listed=tuple(dict.fromkeys((*external, *_listed_paths(reader)))),
        weights=_weights(reader, external) if strategy == "weight-robin" and len(external) > 1 else (),
        has_entropy=strategy == "entropy-inject",
    )


def _directory(text: str) -> str:
    if urlsplit(text).scheme or text.startswith("/") or not is_plain_path(text):
        raise ValueError("it is no folder in the table's own")
    return _java_path(text)


def _external_paths(reader: OptionReader, strategy: str) -> tuple[str, ...]:
    texts = reader.text(_EXTERNAL, "")
    if not texts:
        return ()
    paths = [text.strip() for text in texts.split(",")]
    for path in paths:
        if not urlsplit(path).scheme:
            raise InvalidOption(
                _EXTERNAL, f"'{path}' does not say which file system it is on, like file:{path}"
            )
        if not is_plain_path(path):
            raise InvalidOption(_EXTERNAL, f"{shown(path)} has parts or characters that no directory has")
    if strategy == "specific-fs":
        meant = reader.text(f"{_EXTERNAL}.specific-fs", "").lower()
        paths = [path for path in paths if urlsplit(path).scheme.lower() == meant]
        if not paths:
            raise InvalidOption(f"{_EXTERNAL}.specific-fs", f"no external path is on '{meant}'")
    return tuple(map(_java_path, paths))


def _listed_paths(reader: OptionReader) -> Iterator[str]:
    """The external paths with an explicit scheme; no strategy needs others."""
    for text in reader.text(_EXTERNAL, "").split(","):
        with suppress(ValueError):
            if urlsplit(text.strip()).scheme and is_plain_path(text.strip()):
                yield _java_path(text.strip())


def _java_path(text: str) -> str:
    """A path as Paimon's Path class writes it: no empty parts, no trailing slash, no empty host."""
    parts = urlsplit(text)
    path = re.sub("/+", "/", parts.path)
    return f"{parts.scheme and parts.scheme + ':'}{parts.netloc and '//' + parts.netloc}{path.rstrip('/')}"


def _weights(reader: OptionReader, paths: Sequence[str]) -> tuple[int, ...]:
    key = f"{_EXTERNAL}.weights"
    weights = reader.optional(key, lambda text: tuple(bounded(int(n), 1, None) for n in text.split(",")))
    if weights is not None and len(weights) != len(paths):
        raise InvalidOption(key, f"{len(weights)} weights for {len(paths)} paths")
    return weights or ()


def _sequence_fields(reader: OptionReader) -> tuple[SequenceField, ...]:
    ascending = reader.text("sequence.field.sort-order", "ascending").lower() != "descending"
    names = [name.strip() for name in reader.text("sequence.field", "").split(",")]
    return tuple(SequenceField(name, ascending) for name in names if name)
