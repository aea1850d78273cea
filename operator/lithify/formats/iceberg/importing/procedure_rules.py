"""Spark's procedures of Iceberg: their parameters, and what each argument and option becomes. Data only.

Names and their order are those of Iceberg 1.11 (`RewriteDataFilesProcedure` and its siblings;
`SizeBasedFileRewritePlanner`, `BinPackRewriteFilePlanner`, `RewriteDataFiles`, and the runners of Spark).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lithify.formats.iceberg.importing.conversions import (
    age_millis,
    age_seconds,
    always,
    amount,
    count,
    percent,
    positive,
    rows_order,
    size,
    unchanged,
    when,
)
from lithify.formats.iceberg.importing.rules import OptionRule, Rules
from lithify.formats.iceberg.planning.options import (
    DELETE_FILES,
    DELETE_RATIO,
    JOB_ORDER,
    MAX_FILES,
    MAX_GROUP_FILES,
    MAX_GROUP_SIZE,
    MAX_SIZE,
    MIN_INPUT_FILES,
    MIN_SIZE,
    REWRITE_ALL,
    TARGET_SIZE,
)
from lithify.formats.iceberg.table.retention_rules import LEAST, SNAPSHOT_AGE
from lithify.formats.iceberg.table.row_orders import SORT_ORDER

TABLE, OPTIONS, BRANCH = "table", "options", "branch"
"""Arguments that are not settings: which table, the map of options, and the table's branch."""
REWRITE = "rewrite_data_files"
TRIGGERS = "triggers.partitionFiles"
MERGE_MANIFESTS = "maintenance.mergeManifests"
REMOVE_ORPHANS = "maintenance.removeOrphans"
EXPIRY_MODE = "maintenance.expireSnapshots.mode"
MOST_COUNT = 100_000
"""Upper bound of counts in triggers."""
DAY, YEAR = 86_400, 31_536_000

PARTITIONS = (
    "no counterpart of a predicate. Where it is about partitions: spec.partitions takes values of partition "
    "columns, and spec.partitionIdleSeconds leaves out of full compactions what was written lately. "
    "Partitions "
    "that are well compacted cost nothing: Lithify plans from metadata, and leaves them alone"
)
TASKS = "no counterpart: tasks are of even bytes; spec.spark.taskSize and spec.spark.executor size a run"
DELETES = (
    "no counterpart: no delete files are merged with each other. Deletes are applied to data files "
    "instead, from "
    "deletesPerFile or deleteRatioPercent of spec.triggers.partitionFiles on"
)
LISTED_FIRST = (
    "runs only list what they would delete: look at a first list, then set "
    "spec.maintenance.removeOrphans.delete "
    "to true"
)
_STEPS = "long runs commit in steps; spec.spark.commitEvery says how often"
_SPARK_ONLY = "no counterpart, and none is needed: it tunes Spark's job"
_CURVES = "no counterpart: of each column 8 bytes count on the curve, as by default in Iceberg"
_BIN_PACKED = "the default; rows of a table that has a sort order are sorted by it"
_ELSEWHERE = "no counterpart: the folders of the table are compared with its own snapshots, by paths as "
"they are stored"


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure.

    Attributes:
        name: its name.
        parameters: its parameters, in the order of arguments without names.
        rules: what its arguments and options become; that of its own name is about the call itself.
        option_names: the names among the rules that are options, not arguments.
    """

    name: str
    parameters: tuple[str, ...]
    rules: Rules
    option_names: frozenset[str] = frozenset()


def _itself(name: str, field: str, note: str, value: object = None) -> OptionRule:
    """The rule of a call as such."""
    return OptionRule(name, note, field, convert=always({} if value is None else str(value)))


_FILE_OPTIONS = (
    OptionRule(TARGET_SIZE, "", f"{TRIGGERS}.outputFileSize", TARGET_SIZE, is_of_table=True, convert=size),
    OptionRule(MIN_SIZE, option=MIN_SIZE, convert=amount),
    OptionRule(MAX_SIZE, option=MAX_SIZE, convert=amount),
    OptionRule(
        MIN_INPUT_FILES, "", f"{TRIGGERS}.minInputFiles", MIN_INPUT_FILES, convert=count(1, MOST_COUNT)
    ),
    OptionRule(
        REWRITE_ALL,
        "no trigger: it would rewrite everything at each commit. Set spec.full.schedule (or "
        "intervalSeconds) of "
        "the policy, or create a Compaction with the strategy Full",
        convert=when(true=True),
    ),
    OptionRule(MAX_GROUP_SIZE, option=MAX_GROUP_SIZE, convert=positive),
    OptionRule(MAX_GROUP_FILES, option=MAX_GROUP_FILES, convert=positive),
    OptionRule(
        "max-concurrent-file-group-rewrites",
        "no counterpart: all groups of a run are rewritten at once, on as many executors as "
        "spec.spark.executor.maxInstances allows",
    ),
    OptionRule(
        "partial-progress.enabled", f"no counterpart: {_STEPS}", convert=when(false=True), as_is=_STEPS
    ),
    OptionRule("partial-progress.max-commits", f"no counterpart: {_STEPS}"),
    OptionRule(JOB_ORDER, option=JOB_ORDER, convert=lambda text: None if text == "none" else text),
)
_REWRITE_OPTIONS = (
    *_FILE_OPTIONS,
    OptionRule(DELETE_FILES, "", f"{TRIGGERS}.deletesPerFile", DELETE_FILES, convert=count(1, MOST_COUNT)),
    OptionRule(DELETE_RATIO, "", f"{TRIGGERS}.deleteRatioPercent", DELETE_RATIO, convert=percent),
    OptionRule(MAX_FILES, option=MAX_FILES, convert=positive),
    OptionRule(
        "partial-progress.max-failed-commits",
        "no counterpart: a group that other writers changed is dropped from the run and planned again; "
        "spec.retries.conflict says how often a run is repeated that could commit nothing",
    ),
    OptionRule(
        "use-starting-sequence-number",
        "no counterpart: new files always have the sequence number of the planned snapshot, so that late "
        "equality deletes apply to them",
        convert=when(false=True),
    ),
    OptionRule(
        "remove-dangling-deletes",
        "merging manifests drops delete files that no data file needs any more",
        MERGE_MANIFESTS,
        convert=when(true={}),
    ),
    OptionRule("output-spec-id", "no counterpart: new files are of the table's current partition spec"),
    OptionRule("compression-factor", TASKS),
    OptionRule("shuffle-partitions-per-file", TASKS),
    OptionRule("var-length-contribution", _CURVES),
    OptionRule("max-output-size", _CURVES),
)

_PROCEDURES = (
    Procedure(
        REWRITE,
        (TABLE, "strategy", "sort_order", OPTIONS, "where", BRANCH),
        Rules(
            (
                OptionRule(
                    REWRITE,
                    "no schedule is needed: the operator observes the table, and compacts once triggers fire",
                ),
                OptionRule(
                    "strategy",
                    "rows are sorted by sort_order, or else by the table's own sort order",
                    convert=lambda text: None if text.strip().lower() == "binpack" else text,
                    as_is=_BIN_PACKED,
                ),
                OptionRule(
                    "sort_order",
                    "a property of the table says it, too",
                    option=SORT_ORDER,
                    convert=rows_order,
                ),
                OptionRule("where", PARTITIONS),
                *_REWRITE_OPTIONS,
            )
        ),
        frozenset(rule.name for rule in _REWRITE_OPTIONS),
    ),
    Procedure(
        "rewrite_position_delete_files",
        (TABLE, OPTIONS, "where"),
        Rules(
            (
                _itself(
                    "rewrite_position_delete_files",
                    MERGE_MANIFESTS,
                    "merging manifests drops delete files that no data file needs any more. No delete "
                    "files are "
                    "merged with each other: deletes are applied to data files, from deletesPerFile or "
                    "deleteRatioPercent of spec.triggers.partitionFiles on",
                ),
                OptionRule("where", PARTITIONS),
                *(
                    replace(rule, note=DELETES, field="", option="", convert=unchanged)
                    for rule in _FILE_OPTIONS
                ),
            )
        ),
        frozenset(rule.name for rule in _FILE_OPTIONS),
    ),
    Procedure(
        "rewrite_manifests",
        (TABLE, "use_caching", "spec_id", "sort_by"),
        Rules(
            (
                _itself("rewrite_manifests", MERGE_MANIFESTS, "by default daily, if it is worth a snapshot"),
                OptionRule("use_caching", _SPARK_ONLY),
                OptionRule(
                    "spec_id", "no counterpart: manifests of each partition spec are merged, among themselves"
                ),
                OptionRule("sort_by", "no counterpart: entries are sorted by their whole partition"),
            )
        ),
    ),
    Procedure(
        "expire_snapshots",
        (
            TABLE,
            "older_than",
            "retain_last",
            "max_concurrent_deletes",
            "stream_results",
            "snapshot_ids",
            "clean_expired_metadata",
        ),
        Rules(
            (
                _itself(
                    "expire_snapshots",
                    EXPIRY_MODE,
                    "hourly, by the table's own properties of retention",
                    "Always",
                ),
                OptionRule(
                    "older_than",
                    f"Lithify obeys {SNAPSHOT_AGE} of the table, as other engines do",
                    property=SNAPSHOT_AGE,
                    convert=age_millis,
                ),
                OptionRule(
                    "retain_last",
                    f"Lithify obeys {LEAST} of the table, as other engines do",
                    property=LEAST,
                    convert=positive,
                ),
                OptionRule("max_concurrent_deletes", _SPARK_ONLY),
                OptionRule("stream_results", _SPARK_ONLY),
                OptionRule(
                    "snapshot_ids", "no counterpart: which snapshots go is decided by their age and number"
                ),
                OptionRule(
                    "clean_expired_metadata",
                    "no counterpart: schemas and partition specs that nothing uses any more stay in the "
                    "metadata",
                    convert=when(true=True),
                ),
            )
        ),
    ),
    Procedure(
        "remove_orphan_files",
        (
            TABLE,
            "older_than",
            "location",
            "dry_run",
            "max_concurrent_deletes",
            "file_list_view",
            "equal_schemes",
            "equal_authorities",
            "prefix_mismatch_mode",
            "prefix_listing",
            "stream_results",
        ),
        Rules(
            (
                _itself("remove_orphan_files", REMOVE_ORPHANS, f"weekly by default; {LISTED_FIRST}"),
                OptionRule(
                    "older_than",
                    "at least a day, as in Spark",
                    f"{REMOVE_ORPHANS}.minAgeSeconds",
                    convert=age_seconds(DAY, YEAR),
                ),
                OptionRule("location", "no counterpart: all folders of the table are looked at"),
                OptionRule(
                    "dry_run",
                    LISTED_FIRST,
                    convert=when(false=True),
                    as_is="nothing to set: runs only list, unless spec.maintenance.removeOrphans.delete is "
                    "true",
                ),
                OptionRule("max_concurrent_deletes", _SPARK_ONLY),
                OptionRule("file_list_view", "no counterpart: the store itself is listed"),
                OptionRule("equal_schemes", _ELSEWHERE),
                OptionRule("equal_authorities", _ELSEWHERE),
                OptionRule("prefix_mismatch_mode", _ELSEWHERE),
                OptionRule("prefix_listing", _SPARK_ONLY),
                OptionRule("stream_results", _SPARK_ONLY),
            )
        ),
    ),
)
PROCEDURES: Mapping[str, Procedure] = {each.name: each for each in _PROCEDURES}
"""The procedures that have a counterpart, by name."""
