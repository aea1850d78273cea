"""What Paimon's adapter declares: the figures of its tables, the triggers of policies, its catalogs.

Loaded by `formats.declared` without this package, whose import loads PyArrow. Imports nothing but the words.
"""

from __future__ import annotations

from lithify.formats.declarations import (
    FILESYSTEM,
    JDBC,
    REST,
    Block,
    Breakdown,
    CatalogRule,
    Combine,
    Figure,
    Format,
    GroupFigure,
    Kind,
    Metric,
    OffPeakOptions,
    Total,
    Trigger,
    TriggerGroup,
    as_ratio,
    required_option,
)

_SMALL_FILE_AGE_SECONDS = 3600
"""Default age of the newest of a few small files from which they are joined."""
_MOST_BYTES = (1 << 63) - 1
"""Paimon's sizes must fit into a long."""


def _bytes(size: int) -> str:
    """A size in plain bytes: Paimon's units differ from those of quantities."""
    return f"{min(size, _MOST_BYTES)} b"


def _seconds(seconds: int) -> str:
    return f"{seconds} s"


_BUCKETS = Figure("buckets", Kind.COUNT, "Buckets with files.")
_DUE_BUCKETS = Figure("dueBuckets", Kind.COUNT, "Buckets in which a trigger fired.")

MERGE_TREE = Block(
    name="mergeTree",
    tables="tables whose files are arranged in levels",
    description="Levels and sorted runs; unset for tables whose files have no levels.",
    figures=(
        _BUCKETS,
        _DUE_BUCKETS,
        Figure(
            "level0Files",
            Kind.COUNT,
            "Files in level 0, which no compaction has merged yet.",
            metric=Metric(
                "level0_files",
                "files in level 0, which no compaction has merged yet",
                (Total("level0_files", "files in level 0, which no compaction has merged yet"),),
            ),
            column="Level0",
        ),
        Figure(
            "maxLevel0Files",
            Kind.COUNT,
            "Most level-0 files in a bucket.",
            metric=Metric(
                "max_level0_files",
                "level-0 files of the bucket with the most",
                (
                    Total(
                        "max_level0_files",
                        "level-0 files of the bucket with the most, over all tables",
                        Combine.LARGEST,
                        elsewhere=("level0.file.count", "maxLevel0FileCount", "avgLevel0FileCount"),
                    ),
                ),
            ),
        ),
        Figure("maxLevel0Bucket", Kind.GROUP, "The bucket with most level-0 files."),
        Figure(
            "sortedRuns",
            Kind.COUNT,
            "Most sorted runs in a bucket.",
            metric=Metric(
                "sorted_runs",
                "sorted runs of the bucket with the most",
                (
                    Total(
                        "max_sorted_runs",
                        "sorted runs of the bucket with the most, over all tables",
                        Combine.LARGEST,
                    ),
                ),
            ),
            column="Runs",
        ),
        Figure("sortedRunsBucket", Kind.GROUP, "The bucket with most sorted runs."),
        Figure(
            "sizeAmplificationPercent",
            Kind.PERCENT,
            "Bytes below the top level in per cent of those in it, over all buckets that have files above "
            "level 0; unset if none has.",
            is_optional=True,
            metric=Metric(
                "size_amplification_ratio",
                "ratio of bytes below the top level to those in it; no value without files above level 0",
                (
                    Total(
                        "max_size_amplification_ratio",
                        "ratio of bytes below the top level to those in it; the maximum over all tables, and "
                        "over large ones (1 GiB and more)",
                        Combine.LARGEST,
                        is_by_size=True,
                    ),
                ),
            ),
        ),
    ),
    group_figures=(GroupFigure("sorted_runs", "sorted run"),),
    breakdown=Breakdown("levels", "level", unmerged=0),
)
APPEND = Block(
    name="append",
    tables="tables without a primary key",
    description="Small files of tables without a primary key; unset for others, and for clustered ones.",
    figures=(
        Figure("buckets", Kind.COUNT, "Buckets with files, or partitions where tables have no buckets."),
        _DUE_BUCKETS,
        Figure("maxSmallFiles", Kind.COUNT, "Most small files in a bucket."),
        Figure("maxSmallFilesBucket", Kind.GROUP, "The bucket with most small files."),
        Figure(
            "deletedRows",
            Kind.COUNT,
            "Rows that deletion vectors delete and files still have; unset if not counted.",
            is_optional=True,
        ),
    ),
)

_PRIMARY_KEY_TRIGGERS = TriggerGroup(
    "primaryKey",
    "Tables with a primary key. Clustered append tables have levels, too: sortedRuns, "
    "sizeAmplificationPercent and sizeRatioPercent apply to them.",
    (
        Trigger(
            "sortedRuns",
            "A bucket with more sorted runs than this is compacted (num-sorted-run.compaction-trigger).",
            "num-sorted-run.compaction-trigger",
            1,
            1000,
        ),
        Trigger(
            "sizeAmplificationPercent",
            "Size of newer data, in per cent of the oldest run, beyond which a bucket is compacted fully "
            "(compaction.max-size-amplification-percent).",
            "compaction.max-size-amplification-percent",
            1,
            100000,
        ),
        Trigger(
            "sizeRatioPercent",
            "Per cent by which the next run may be larger than those before it and still be included "
            "(compaction.size-ratio).",
            "compaction.size-ratio",
            0,
            10000,
        ),
        Trigger(
            "optimizationIntervalSeconds",
            "A bucket is compacted fully when its top level is older than this "
            "(compaction.optimization-interval).",
            "compaction.optimization-interval",
            1,
            31536000,
            _seconds,
        ),
        Trigger(
            "totalSizeBelow",
            "A bucket smaller than this is compacted fully (compaction.total-size-threshold).",
            "compaction.total-size-threshold",
            written=_bytes,
        ),
        Trigger(
            "incrementalSizeAbove",
            "A bucket with more bytes than this outside its top level is compacted fully "
            "(compaction.incremental-size-threshold).",
            "compaction.incremental-size-threshold",
            written=_bytes,
        ),
    ),
)
_APPEND_TRIGGERS = TriggerGroup(
    "append",
    "Tables without a primary key.",
    (
        Trigger(
            "smallFiles",
            "Number of small files of a partition from which they are joined; in a table with buckets, of "
            "files side by side in a bucket (compaction.min.file-num).",
            "compaction.min.file-num",
            2,
            100000,
        ),
        Trigger(
            "deleteRatioPercent",
            "Deleted rows of a file, in per cent of its rows, above which it is rewritten, even alone "
            "(compaction.delete-ratio-threshold).",
            "compaction.delete-ratio-threshold",
            0,
            100,
            as_ratio,
        ),
        Trigger(
            "smallFileAgeSeconds",
            "Fewer small files of a partition without buckets are joined when the newest is this old "
            f"(lithify.small-file-age). Default: the table's option, else {_SMALL_FILE_AGE_SECONDS}.",
            "lithify.small-file-age",
            1,
            31536000,
            _seconds,
        ),
    ),
)

_CATALOG_RULES = (
    required_option(REST, "token.provider", "a Rest catalog needs the option token.provider, which is bear"),
    CatalogRule(
        "self.metastore != 'Rest' || (has(self.secretRef) && 'token' in self.secretRef.options) "
        "|| (has(self.options) && 'token.provider' in self.options "
        "&& self.options['token.provider'] != 'bear')",
        "the token.provider bear needs the option token, from a Secret: see spec.secretRef.options",
        ".secretRef",
    ),
)

FORMAT = Format(
    metastores=(FILESYSTEM, REST, JDBC),
    blocks=(MERGE_TREE, APPEND),
    triggers=(_PRIMARY_KEY_TRIGGERS, _APPEND_TRIGGERS),
    off_peak=OffPeakOptions(
        start_hour="compaction.offpeak.start.hour",
        end_hour="compaction.offpeak.end.hour",
        size_ratio_percent="compaction.offpeak-ratio",
    ),
    catalog_rules=_CATALOG_RULES,
)
