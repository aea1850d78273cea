"""What Iceberg's adapter declares: the figures of its tables, the triggers of policies, its catalogs.

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


def _counted(name: str, series: str, what: str, column: str | None = None) -> Figure:
    """A number of deletes, which adds up over tables."""
    meaning = f"{what} that readers apply to data files"
    metric = Metric(series, meaning, (Total(series, meaning),))
    text = f"{what[0].upper()}{what[1:]} that readers apply to data files."
    return Figure(name, Kind.COUNT, text, metric=metric, column=column)


DELETES = Block(
    name="deleteFiles",
    tables="tables whose deleted rows are in files of their own",
    description="Delete files and deletion vectors; unset for tables that cannot have any.",
    figures=(
        _counted("positionDeleteFiles", "position_delete_files", "position delete files"),
        _counted("equalityDeleteFiles", "equality_delete_files", "equality delete files"),
        _counted("deletionVectors", "deletion_vectors", "deletion vectors"),
        Figure(
            "maxDeletesPerFile",
            Kind.COUNT,
            "Most delete files and vectors that apply to one data file.",
            metric=Metric(
                "max_deletes_per_file",
                "delete files and vectors of the data file with the most",
                (
                    Total(
                        "max_deletes_per_file",
                        "delete files and vectors of the data file with the most, over all tables",
                        Combine.LARGEST,
                    ),
                ),
            ),
            column="Deletes",
        ),
        Figure("maxDeletesPartition", Kind.GROUP, "The partition of that data file."),
    ),
    group_figures=(GroupFigure("deletes_to_apply", "delete to apply", "deletes to apply"),),
)
DATA_FILES = Block(
    name="partitionFiles",
    tables="tables whose partitions have data files of a target size",
    description="Small and overlapping data files of the partitions; unset for other tables.",
    figures=(
        Figure(
            "maxSmallFiles",
            Kind.COUNT,
            "Most small files in a partition.",
            metric=Metric(
                "max_small_files",
                "small files of the partition with the most",
                (
                    Total(
                        "max_small_files",
                        "small files of the partition with the most, over all tables",
                        Combine.LARGEST,
                    ),
                ),
            ),
        ),
        Figure("maxSmallFilesPartition", Kind.GROUP, "The partition with most small files."),
        Figure(
            "overlappingFiles",
            Kind.COUNT,
            "Files of a sorted table among many with the same values of the sort order's first column; unset "
            "for tables that are not sorted.",
            is_optional=True,
        ),
    ),
    group_figures=(GroupFigure("files_to_rewrite", "file to rewrite", "files to rewrite"),),
)


_TRIGGERS = TriggerGroup(
    "partitionFiles",
    "Tables of Iceberg.",
    (
        Trigger(
            "outputFileSize",
            "Size of the files that are written. Files below 3/4 or above 1.8 times of it are rewritten, "
            "several together (target-file-size-bytes). Default: the table's write.target-file-size-bytes.",
            "target-file-size-bytes",
        ),
        Trigger(
            "minInputFiles",
            "Number of small files from which they are joined, even if they make no whole file "
            "(min-input-files).",
            "min-input-files",
            1,
            100000,
        ),
        Trigger(
            "smallFilesSeconds",
            "Time after which small files are joined, from two side by side on (compact.major.interval.max). "
            "Default: the table's self-optimizing.minor.trigger.interval, else never.",
            "compact.major.interval.max",
            60,
            31536000,
            as_millis,
        ),
        Trigger(
            "deleteRatioPercent",
            "Deleted rows of a file, in per cent of its rows, from which it is rewritten, even alone; counts "
            "deletes for that file only (delete-ratio-threshold).",
            "delete-ratio-threshold",
            1,
            100,
            as_ratio,
        ),
        Trigger(
            "deletesPerFile",
            "Number of delete files and vectors from which a data file is rewritten, even alone "
            "(delete-file-threshold).",
            "delete-file-threshold",
            1,
            100000,
        ),
        Trigger(
            "vectorRows",
            "Rows of a deletion vector from which its data file is rewritten "
            "(lithify.vector-rows-threshold).",
            "lithify.vector-rows-threshold",
            1,
            2147483647,
        ),
        Trigger(
            "equalityDeleteFiles",
            "Number of equality delete files of a partition from which they become positions "
            "(lithify.equality-delete-file-threshold). Default: the table's "
            "self-optimizing.minor.trigger.file-count, else 12.",
            "lithify.equality-delete-file-threshold",
            1,
            100000,
        ),
        Trigger(
            "equalityDeletesSeconds",
            "Time after which equality delete files become positions, however few "
            "(lithify.equality-delete-interval-ms). Default: the table's "
            "self-optimizing.minor.trigger.interval, else an hour.",
            "lithify.equality-delete-interval-ms",
            60,
            31536000,
            as_millis,
        ),
        Trigger(
            "positionFilesPerFile",
            "Number of position delete files of one data file from which they become one "
            "(lithify.position-delete-file-threshold).",
            "lithify.position-delete-file-threshold",
            2,
            100000,
        ),
        Trigger(
            "sharedPositionFiles",
            "Number of position delete files about several data files of a partition from which they become "
            "one for each data file (lithify.shared-position-delete-file-threshold). Default: the table's "
            "self-optimizing.minor.trigger.file-count, else 12.",
            "lithify.shared-position-delete-file-threshold",
            1,
            100000,
        ),
        Trigger(
            "deadVectorBytes",
            "Bytes that no vector needs any more, in Puffin files with vectors of a partition of which less "
            "than half is live, from which these vectors are written again "
            "(lithify.dead-vector-bytes-threshold). Starts no run by itself. Default: 16Mi.",
            "lithify.dead-vector-bytes-threshold",
        ),
        Trigger(
            "danglingDeletes",
            "Number of delete files and vectors of a table that apply to no data file, from which a commit "
            "drops them that does nothing else (lithify.dangling-delete-threshold). Default: 100.",
            "lithify.dangling-delete-threshold",
            1,
            1000000,
        ),
        Trigger(
            "overlappingFiles",
            "Number of files of a sorted table with the same values of the sort order's first column from "
            "which they are rewritten (lithify.overlap-threshold).",
            "lithify.overlap-threshold",
            2,
            100000,
        ),
    ),
)

_NAMED = "a Jdbc catalog needs the option catalog-name: the name by which writers open it"

FORMAT = Format(
    metastores=(REST, JDBC, HIVE, GLUE, FILESYSTEM),
    blocks=(DATA_FILES, DELETES),
    triggers=(_TRIGGERS,),
    catalog_rules=(required_option(JDBC, "catalog-name", _NAMED),),
    credential_options=("credential",),
    yield_option="lithify.yield-to-writers",
)
