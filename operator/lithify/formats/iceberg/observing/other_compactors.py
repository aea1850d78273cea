"""Finds who else compacts an Iceberg table, by its properties, its location and its snapshots. Pure.

Called by `summary`, also that of keyed tables. Sends no requests, so it knows only what the metadata says:
AWS Glue, Snowflake, Databricks, Dremio and Cloudera keep the settings of their optimizers outside of the
table. They are found by their snapshots once they have compacted it. Anyone who may write to the table can
have written these texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from lithify.clock import moment_of
from lithify.engine.observe.summing import COMPACTOR_WINDOW
from lithify.formats.iceberg.properties import digits_in, is_true
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import REPLACE, RUN, Snapshot
from lithify.formats.protocol.observation import OtherCompactor
from lithify.plain_text import plain_line

_MOST = 4
"""Number of others that are named: snapshots can have any number of names."""

_LENGTH = 64
"""Characters of a text of somebody else that are shown."""

_AMORO = "Amoro"
_FLINK = "Flink"
_S3_TABLES = "Amazon S3 Tables"
_UNKNOWN = "another engine"

_SERVICES_BY_PROPERTY = {
    # Amoro, TableProperties.java. Where it is missing, only Amoro knows whether its service takes the table.
    "self-optimizing.enabled": _AMORO,
    # Iceberg, docs/flink-maintenance.md and FlinkWriteOptions.java: Flink's SQL takes a table's properties as
    # options of its sink. The last one is the former name of the first.
    "flink-maintenance.rewrite.enabled": _FLINK,
    "flink-maintenance.convert-equality-deletes.enabled": _FLINK,
    "compaction-enabled": _FLINK,
}

_S3_TABLES_BUCKET = "--table-s3"
"""Reserved end of the names of buckets behind S3 Tables, which compacts its tables unless told otherwise:
docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html and s3-tables-maintenance.html."""

_CONVERTED = "equality-convert-staging-snapshot"
"""Set by Flink's ConvertEqualityDeletes (EqualityConvertCommitter.java), whose snapshots are row deltas."""

_PRODUCER = "snapshot.producer"
"""Set by Amoro (op/SnapshotSummary.java). Of a keyed table it compacts by overwriting, not by replacing."""

_OPTIMIZE = "OPTIMIZE"
_NO_COMPACTIONS = ("DATA_EXPIRATION", "CLEAN_DANGLING_DELETE")
"""Other producers that Amoro names (CommitMetaProducer)."""

_ENGINE = "engine-name"
"""Set by Iceberg (EnvironmentContext.java) for Spark and Flink, and by Lithify."""

_ENGINES_BY_FIELD = {
    "trino_query_id": "Trino",  # Trino, IcebergUtil.commit
    "spark.app.id": "Spark",
    "flink.job-id": _FLINK,
}
_DETAILS = ("app-name", "app-id", *_ENGINES_BY_FIELD, _PRODUCER, _CONVERTED)
"""Fields of a summary that help to find the job, the most telling first."""

_MOST_DETAILS = 2

_REMOVED = ("deleted-data-files", "removed-delete-files")

_REMEDIES = {
    _AMORO: "set self-optimizing.enabled=false on the table",
    _FLINK: "take the maintenance tasks out of the Flink job, or set flink-maintenance.*.enabled=false",
    _S3_TABLES: "disable icebergCompaction in the table's maintenance configuration (the metadata does not "
    "say whether it is)",
}


def other_compactors(
    metadata: TableMetadata, branch: str, properties: Mapping[str, str], now: datetime
) -> tuple[OtherCompactor, ...]:
    """The others that compact a table, those first that its settings name.

    Args:
        metadata: the table's metadata.
        branch: the branch whose snapshots count.
        properties: the table's properties as the run sees them.
        now: the time of the observation; aware.
    """
    found: dict[str, OtherCompactor] = {}
    for each in (*_by_settings(metadata.location, properties), *_by_snapshots(metadata, branch, now)):
        known = found.get(each.name)
        found[each.name] = each if known is None else _joined(known, each)
    return tuple(found.values())[:_MOST]


def _by_settings(location: str, properties: Mapping[str, str]) -> Iterator[OtherCompactor]:
    for name, service in _SERVICES_BY_PROPERTY.items():
        if is_true(properties, name):
            yield OtherCompactor(service, f"the property {name} = true", _remedy(service))
    bucket = location.partition("://")[2].partition("/")[0]
    if bucket.endswith(_S3_TABLES_BUCKET):
        yield OtherCompactor(
            _S3_TABLES, f"the table's bucket {plain_line(bucket, _LENGTH)}", _remedy(_S3_TABLES)
        )


def _by_snapshots(metadata: TableMetadata, branch: str, now: datetime) -> Iterator[OtherCompactor]:
    """The newest compaction of each other engine within the window."""
    named: set[str] = set()
    for snapshot in metadata.ancestry(branch):
        moment = moment_of(snapshot.millis)
        if moment <= now - COMPACTOR_WINDOW:
            return
        engine = _compacting_engine(snapshot.summary)
        if engine is not None and engine not in named:
            named.add(engine)
            yield OtherCompactor(engine, _evidence(snapshot), _remedy(engine), moment)


def _compacting_engine(summary: Mapping[str, str]) -> str | None:
    """Who compacted by a snapshot; None if it is Lithify's or no compaction.

    Rewritten manifests are a `replace`, too, but of no files.
    """
    if RUN in summary or summary.get(_ENGINE) == "lithify" or summary.get(_PRODUCER) in _NO_COMPACTIONS:
        return None
    if _CONVERTED in summary:
        return _FLINK
    if summary.get(_PRODUCER) == _OPTIMIZE:
        return _AMORO
    if summary.get("operation") == REPLACE and any(digits_in(summary, name) for name in _REMOVED):
        return _engine(summary)
    return None


def _engine(summary: Mapping[str, str]) -> str:
    if name := summary.get(_ENGINE, "").strip():
        return plain_line(name[:1].upper() + name[1:], _LENGTH)
    return next((engine for field, engine in _ENGINES_BY_FIELD.items() if field in summary), _UNKNOWN)


def _evidence(snapshot: Snapshot) -> str:
    summary = snapshot.summary
    told = [f"{name} = {plain_line(summary[name], _LENGTH)}" for name in _DETAILS if name in summary]
    operation = plain_line(summary.get("operation", "unknown"), _LENGTH)
    return f"snapshot {snapshot.id} ({', '.join([operation, *told[:_MOST_DETAILS]])})"


def _joined(known: OtherCompactor, other: OtherCompactor) -> OtherCompactor:
    """What two finders know of the same."""
    return replace(
        known, evidence=f"{known.evidence}, {other.evidence}", last_seen=known.last_seen or other.last_seen
    )


def _remedy(name: str) -> str:
    return _REMEDIES.get(name, "stop the job that compacts it there")
