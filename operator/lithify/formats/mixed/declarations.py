"""What the adapter of keyed tables declares: figures, the triggers of policies, its catalogs.

Loaded by `formats.declared` without this package, whose import loads PyArrow. Imports nothing but the words.
"""

from __future__ import annotations

from lithify.formats.declarations import (
    FILESYSTEM,
    GLUE,
    HIVE,
    JDBC,
    REST,
    Block,
    Combine,
    Figure,
    Format,
    GroupFigure,
    Kind,
    Metric,
    Total,
    Trigger,
    TriggerGroup,
    as_millis,
    as_ratio,
    required_option,
)

_FILES = Metric(
    "change_files",
    "change files that base stores have not yet",
    (Total("change_files", "change files that base stores have not yet"),),
)
_BYTES = Metric(
    "change_delete_bytes",
    "bytes of deleted rows that base stores have not yet",
    (Total("change_delete_bytes", "bytes of deleted rows that base stores have not yet"),),
)
_LAG = Metric(
    "most_change_files",
    "unmerged change files of the partition with the most",
    (
        Total(
            "most_change_files",
            "unmerged change files of the partition with the most, over all tables",
            Combine.LARGEST,
        ),
    ),
)
CHANGES = Block(
    name="changeStore",
    tables="keyed tables with a change store",
    description="Changes that readers apply to the base store at each read; unset for other tables.",
    figures=(
        Figure(
            "changeFiles", Kind.COUNT, "Change files that are not merged.", metric=_FILES, column="Changes"
        ),
        Figure("insertBytes", Kind.BYTES, "Bytes of inserted rows that are not merged."),
        Figure("deleteBytes", Kind.BYTES, "Bytes of deleted rows that are not merged.", metric=_BYTES),
        Figure("positionDeleteFiles", Kind.COUNT, "Position delete files of the base store."),
        Figure("maxChangeFiles", Kind.COUNT, "Most unmerged change files in a partition.", metric=_LAG),
        Figure("maxChangeFilesPartition", Kind.GROUP, "The partition with most unmerged change files."),
        Figure("maxLag", Kind.COUNT, "Most commits of changes by which a partition's line is behind."),
        Figure("maxLagPartition", Kind.GROUP, "That partition."),
        Figure(
            "furthestBehind",
            Kind.GROUPS,
            "Up to ten partitions with changes to merge, those whose lines are furthest behind.",
            parts=(
                Figure("name", Kind.GROUP, "The partition."),
                Figure("line", Kind.COUNT, "Changes up to this sequence number are in base; 0 for none."),
                Figure("lag", Kind.COUNT, "Commits of changes by which its line is behind."),
                Figure("changeFiles", Kind.COUNT, "Its change files that are not merged."),
                Figure("deleteBytes", Kind.BYTES, "Its bytes of deleted rows that are not merged."),
            ),
        ),
    ),
    group_figures=(
        GroupFigure("changes_to_merge", "change to merge", "changes to merge"),
        GroupFigure("line_lag", "commit behind", "commits behind"),
    ),
)
_TRIGGERS = TriggerGroup(
    "changeStore",
    "Keyed tables of Arctic and Amoro. Numbers are per node; a partition has as many nodes as new base files "
    "are divided into (base.file-index.hash-bucket).",
    (
        Trigger(
            "deleteBytesPerNode",
            "Bytes of deleted rows to merge from which a partition is merged "
            "(compact.major.delete.file.size.bytes). Default: half the target size.",
            "compact.major.delete.file.size.bytes",
        ),
        Trigger(
            "deleteRatioPercent",
            "Bytes of deleted rows to merge, in per cent of base files and inserts to merge, from which a "
            "partition is merged (compact.major.delete.file.ratio). Default: 10.",
            "compact.major.delete.file.ratio",
            1,
            1000,
            as_ratio,
        ),
        Trigger(
            "leastDeleteBytesPerNode",
            "Bytes of deleted rows below which deleteRatioPercent does not count "
            "(compact.major.delete.file.size.bytes.lowest). Default: the size of small files.",
            "compact.major.delete.file.size.bytes.lowest",
        ),
        Trigger(
            "filesPerNode",
            "Number of change files and small base files from which a partition is merged "
            "(compact.major.file.cnt). Default: 12 for all nodes together.",
            "compact.major.file.cnt",
            1,
            100000,
        ),
        Trigger(
            "smallBaseFileSize",
            "Base files below this size are small (compact.major.small.file.size.bytes). Default: an eighth "
            "of the target size (self-optimizing.target-size).",
            "compact.major.small.file.size.bytes",
        ),
        Trigger(
            "mergeIntervalSeconds",
            "Time after which a partition with anything to merge is merged (compact.major.interval.max). "
            "Default: an hour for changes, a day for small base files and deletes.",
            "compact.major.interval.max",
            60,
            31536000,
            as_millis,
        ),
    ),
)
_NAMED = "a Jdbc catalog of keyed tables needs the option catalog-name: the name by which writers open it"

FORMAT = Format(
    metastores=(REST, JDBC, HIVE, GLUE, FILESYSTEM),
    blocks=(CHANGES,),
    triggers=(_TRIGGERS,),
    catalog_rules=(required_option(JDBC, "catalog-name", _NAMED),),
    credential_options=("credential",),
)
