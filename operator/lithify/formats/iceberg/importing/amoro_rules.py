"""Amoro's table properties, and what each becomes. Data only.

Names, units and defaults are those of Amoro 0.9 (`TableProperties`), with some of Arctic 0.4.
Properties that Iceberg itself defines are at the end: they stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.formats.iceberg.importing.conversions import (
    count,
    duration_millis,
    minutes_as_millis,
    percent,
    positive,
    seconds_of_millis,
    seconds_of_minutes,
    size,
    when,
)
from lithify.formats.iceberg.importing.procedure_rules import (
    DAY,
    EXPIRY_MODE,
    LISTED_FIRST,
    MERGE_MANIFESTS,
    MOST_COUNT,
    PARTITIONS,
    REMOVE_ORPHANS,
    TASKS,
    TRIGGERS,
    YEAR,
)
from lithify.formats.iceberg.importing.rules import OptionRule, Rules
from lithify.formats.iceberg.planning.options import (
    AMORO_FILE_COUNT,
    AMORO_INTERVAL,
    AMORO_TARGET_SIZE,
    DELETE_RATIO,
    INTERVAL,
    MAX_FILES,
    MIN_INPUT_FILES,
    TARGET_SIZE,
)
from lithify.formats.iceberg.table.retention_rules import LEAST, SNAPSHOT_AGE

_SELF = "self-optimizing"
FULL_INTERVAL, LEAST_INTERVAL = "full.intervalSeconds", "minIntervalSeconds"
MONTH = 30 * DAY
_ENABLED = f"{_SELF}.enabled"
_ORPHANS = "clean-orphan-file.enabled"
_OFF_AS_UNSET = "off, as without it"
_RESIDENT = "no counterpart: nothing runs between compactions. "
_KEYED = "nothing to set: it is about keyed tables, and Lithify reads it from the table (format MixedIceberg)"
_WRITERS = "nothing to set: it is about writers and readers, which it goes on to concern"
_ROW_GROUPS = "no counterpart: Lithify copies row groups by itself, where no row in them changes"
_ROWS_EXPIRE = "no counterpart: Lithify drops no rows or partitions of Iceberg tables by their age; keep a "
"job that deletes them"
_TAGS = "no counterpart: Lithify makes no tags of Iceberg tables; keep a job that does"
_TRASH = "no counterpart: deleted files are gone; a bucket with versions is a trash for all programs"
_ITS_OWN = "nothing to set: Lithify reads it from the table, as docs/support-iceberg.md says"
_STORED = "nothing to set: it describes the table, and does not ask for maintenance"

AMORO_DEFAULTS: Mapping[str, str] = {
    AMORO_TARGET_SIZE: "not among the properties. Amoro's default is 128 MiB, and Lithify's the table's "
    "write.target-file-size-bytes, else 512 MiB",
    AMORO_FILE_COUNT: "not among the properties. Amoro joins small files from 12 on by default, and Lithify "
    "from 5",
    AMORO_INTERVAL: "not among the properties. Amoro joins small files after an hour by default, and Lithify "
    "only from minInputFiles on",
    "snapshot.keep.duration": "not among the properties. Amoro keeps snapshots for 12 hours by default; the "
    f"default of {SNAPSHOT_AGE} is 5 days",
}
"""Settings whose absence means something else in Lithify, and what."""
_READ = "nothing to set: Lithify reads it from a keyed table (format MixedIceberg), with Amoro's default"
_KEEPS = "Lithify refuses to expire snapshots of a keyed table that has it: use properties of Iceberg instead"
KEYED_NOTES: Mapping[str, str] = {
    AMORO_TARGET_SIZE: _READ,
    AMORO_FILE_COUNT: _READ,
    AMORO_INTERVAL: _READ,
    f"{_SELF}.fragment-ratio": _READ,
    f"{_SELF}.major.trigger.duplicate-ratio": _READ,
    f"{_SELF}.full.trigger.interval": _READ,
    "snapshot.keep.duration": f"{_KEEPS} ({SNAPSHOT_AGE})",
    "snapshot.keep.min-count": f"{_KEEPS} ({LEAST})",
    "snapshot.base.keep.minutes": f"{_KEEPS} ({SNAPSHOT_AGE})",
    "snapshot.change.keep.minutes": _KEEPS,
    f"{_SELF}.major.trigger.interval": _READ,
}
"""What is said of settings of keyed tables, and of those that Hive reads, instead of what a rule says."""

AMORO_RULES = Rules(
    (
        OptionRule(
            _ENABLED,
            "no compactions are started",
            "suspend",
            is_of_table=True,
            convert=when(false=True),
            as_is="nothing to set in Lithify; set it to false on the table, so that Amoro's service leaves "
            "it alone",
        ),
        OptionRule(
            f"{_SELF}.group",
            f"{_RESIDENT}Tables of a group can follow one policy; spec.spark sizes its runs, spec.limits "
            "their number",
        ),
        OptionRule(
            f"{_SELF}.quota",
            f"{_RESIDENT}spec.limits (activeRuns, bytesPerHour) and spec.priority of the policy divide "
            "resources",
        ),
        OptionRule(
            f"{_SELF}.execute.num-retries",
            "no counterpart: Spark repeats tasks (spark.task.maxFailures in spec.spark.conf), and "
            "spec.retries says how "
            "often a run is repeated, by kind of failure",
        ),
        OptionRule(
            AMORO_TARGET_SIZE,
            "without it, Lithify reads Amoro's property from the table",
            f"{TRIGGERS}.outputFileSize",
            TARGET_SIZE,
            is_of_table=True,
            convert=size,
        ),
        OptionRule(f"{_SELF}.max-task-size-bytes", TASKS),
        OptionRule(f"{_SELF}.max-file-count", option=MAX_FILES, convert=positive),
        OptionRule(
            f"{_SELF}.fragment-ratio",
            "no counterpart: all files below 3/4 of the target size are small (min-file-size-bytes in "
            "tableOptions "
            "changes that), and joining them costs once",
        ),
        OptionRule(
            f"{_SELF}.min-target-size-ratio",
            "no counterpart as a ratio; min-file-size-bytes in spec.tableOptions of a LakeTable says it in "
            "bytes. "
            "Default: 3/4 of the target size, as in Amoro",
        ),
        OptionRule(
            AMORO_FILE_COUNT,
            "it counts small files; for delete files of a partition, Lithify reads Amoro's property from the "
            "table (equalityDeleteFiles, sharedPositionFiles); deletesPerFile counts those of a data file",
            f"{TRIGGERS}.minInputFiles",
            MIN_INPUT_FILES,
            convert=count(1, MOST_COUNT),
        ),
        OptionRule(
            AMORO_INTERVAL,
            "for equality delete files, Lithify reads Amoro's property from the table "
            "(equalityDeletesSeconds)",
            f"{TRIGGERS}.smallFilesSeconds",
            INTERVAL,
            convert=seconds_of_millis(60, YEAR),
            as_is=_OFF_AS_UNSET,
        ),
        OptionRule(
            f"{_SELF}.major.trigger.duplicate-ratio",
            "it counts deletes that are for one file only (positions, vectors)",
            f"{TRIGGERS}.deleteRatioPercent",
            DELETE_RATIO,
            convert=percent,
        ),
        OptionRule(
            f"{_SELF}.full.trigger.interval",
            "",
            FULL_INTERVAL,
            convert=seconds_of_millis(60, YEAR),
            as_is=_OFF_AS_UNSET,
        ),
        OptionRule(
            f"{_SELF}.full.rewrite-all-files",
            "no counterpart: full compactions leave only files alone that would be written as they are",
        ),
        OptionRule(f"{_SELF}.filter", PARTITIONS),
        OptionRule(
            f"{_SELF}.min-plan-interval",
            "time from one compaction of a table to the next",
            LEAST_INTERVAL,
            convert=seconds_of_millis(1, MONTH),
            as_is=_OFF_AS_UNSET,
        ),
        OptionRule(
            f"{_SELF}.evaluation.*",
            "no counterpart: triggers are judged at each new snapshot, from metadata; "
            "spec.checkIntervalSeconds says how "
            "often the operator looks for one",
        ),
        OptionRule(
            f"{_SELF}.refresh-table.adaptive.*",
            "no counterpart: the operator looks for new snapshots each spec.checkIntervalSeconds, and "
            "writers can "
            "announce them",
        ),
        OptionRule(f"{_SELF}.rewrite.use-parquet-row-group-merge.*", _ROW_GROUPS),
        OptionRule(
            f"{_SELF}.allow-partial-commit",
            "no counterpart: what is done is committed in steps, and stays if the rest fails",
            convert=when(false=True),
        ),
        OptionRule(
            "table-expire.enabled",
            "hourly, by the table's properties of Iceberg",
            EXPIRY_MODE,
            convert=when(true="Always", false="Never"),
        ),
        OptionRule(
            "snapshot.keep.duration",
            f"Lithify obeys {SNAPSHOT_AGE} of the table, as other engines do",
            property=SNAPSHOT_AGE,
            convert=duration_millis,
        ),
        OptionRule(
            "snapshot.keep.min-count",
            f"Lithify obeys {LEAST} of the table, as other engines do",
            property=LEAST,
            convert=positive,
        ),
        OptionRule(
            "snapshot.keep.flink.checkpoint-retention",
            "no counterpart: snapshots of Flink's checkpoints go by their age, too. Keep snapshots for "
            "longer than your "
            "longest outage, or tag them",
        ),
        OptionRule(
            "snapshot.base.keep.minutes",
            f"Lithify obeys {SNAPSHOT_AGE} of the table, as other engines do",
            property=SNAPSHOT_AGE,
            convert=minutes_as_millis,
        ),
        OptionRule("snapshot.change.keep.minutes", _KEYED),
        OptionRule(
            f"{_SELF}.major.trigger.interval",
            "no counterpart: Amoro has not read it since version 0.4; smallFilesSeconds is the time after "
            "which small files are joined",
        ),
        OptionRule("change.data.ttl.minutes", _KEYED),
        OptionRule(
            _ORPHANS,
            f"weekly by default; {LISTED_FIRST}",
            REMOVE_ORPHANS,
            convert=when(true={}),
            as_is=_OFF_AS_UNSET,
        ),
        OptionRule(
            "clean-orphan-file.min-existing-time-minutes",
            "at least a day",
            f"{REMOVE_ORPHANS}.minAgeSeconds",
            convert=seconds_of_minutes(DAY, YEAR),
            needs=(_ORPHANS, "true"),
        ),
        OptionRule(
            "clean-dangling-delete-files.enabled",
            "merging manifests drops delete files that no data file needs any more",
            MERGE_MANIFESTS,
            convert=when(true={}),
            as_is=_OFF_AS_UNSET,
        ),
        OptionRule("data-expire.*", _ROWS_EXPIRE),
        OptionRule("tag.auto-create.*", _TAGS),
        OptionRule("table-trash.*", _TRASH),
        OptionRule(
            "table-summary.enabled",
            "nothing to set: status.observation of each LakeTable and the operator's metrics have these "
            "figures",
        ),
        OptionRule("base.file-index.hash-bucket", _KEYED),
        OptionRule("change.file-index.hash-bucket", _KEYED),
        OptionRule("base.refresh-interval", _KEYED),
        OptionRule("base.*", _KEYED),
        OptionRule("change.write.format", _WRITERS),
        OptionRule("delta.write.format", _WRITERS),
        OptionRule("mixed-format.*", _KEYED),
        OptionRule("table-format", _STORED),
        OptionRule("max-txId", _KEYED),
        OptionRule("base-op-time", _KEYED),
        OptionRule("log-store.*", _WRITERS),
        OptionRule("properties.*", _WRITERS),
        OptionRule("table.*", _WRITERS),
        OptionRule("watermark.*", _STORED),
        OptionRule("flink.*", _WRITERS),
        OptionRule("write.*", _ITS_OWN),
        OptionRule("commit.*", _ITS_OWN),
        OptionRule("history.expire.*", _ITS_OWN),
        OptionRule("gc.enabled", _ITS_OWN),
        OptionRule("lithify.*", _ITS_OWN),
        OptionRule("read.*", _WRITERS),
        OptionRule("format-version", _STORED),
        OptionRule("format", _STORED),
        OptionRule("current-snapshot-id", _STORED),
        OptionRule("sort-order", _STORED),
        OptionRule("identifier-fields", _STORED),
        OptionRule("schema.name-mapping.default", _STORED),
        OptionRule("provider", _STORED),
        OptionRule("location", _STORED),
        OptionRule("owner", _STORED),
        OptionRule("comment", _STORED),
    )
)
