"""What properties become: each of Amoro's is mapped or has a note, and unknown ones are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from lithify.formats.iceberg.importing.amoro_rules import AMORO_RULES, KEYED_NOTES
from lithify.formats.iceberg.importing.importer import import_settings
from lithify.formats.iceberg.importing.mapping import UNKNOWN
from lithify.formats.iceberg.planning.options import PlanningOptions, planning_options
from lithify.formats.mixed import snapshot_expiry, trigger_options
from support.cases import case
from support.properties import examples
from unit.formats.iceberg.importing.imported import imported, meaning, objects, plan_of, properties

AMORO = {
    "self-optimizing.enabled": "true",
    "self-optimizing.allow-partial-commit": "false",
    "self-optimizing.group": "default",
    "self-optimizing.quota": "0.5",
    "self-optimizing.execute.num-retries": "5",
    "self-optimizing.target-size": "134217728",
    "self-optimizing.max-file-count": "10000",
    "self-optimizing.max-task-size-bytes": "134217728",
    "self-optimizing.fragment-ratio": "8",
    "self-optimizing.min-target-size-ratio": "0.75",
    "self-optimizing.minor.trigger.file-count": "12",
    "self-optimizing.minor.trigger.interval": "3600000",
    "self-optimizing.major.trigger.duplicate-ratio": "0.1",
    "self-optimizing.full.trigger.interval": "86400000",
    "self-optimizing.full.rewrite-all-files": "true",
    "self-optimizing.filter": "dt > '2026-01-01'",
    "self-optimizing.min-plan-interval": "60000",
    "self-optimizing.evaluation.fallback-interval": "-1",
    "self-optimizing.evaluation.file-size.mse-tolerance": "0",
    "self-optimizing.refresh-table.adaptive.max-interval-ms": "0",
    "self-optimizing.refresh-table.adaptive.increase-step-ms": "30000",
    "self-optimizing.rewrite.use-parquet-row-group-merge.enabled": "false",
    "self-optimizing.rewrite.use-parquet-row-group-merge.min-avg-row-group-size-bytes": "8388608",
    "self-optimizing.major.trigger.interval": "86400000",
    "snapshot.base.keep.minutes": "720",
    "snapshot.change.keep.minutes": "60",
    "table-expire.enabled": "true",
    "change.data.ttl.minutes": "10080",
    "snapshot.keep.duration": "720min",
    "snapshot.keep.min-count": "3",
    "snapshot.keep.flink.checkpoint-retention": "7d",
    "clean-orphan-file.enabled": "true",
    "clean-orphan-file.min-existing-time-minutes": "2880",
    "clean-dangling-delete-files.enabled": "true",
    "data-expire.enabled": "true",
    "data-expire.level": "partition",
    "data-expire.field": "dt",
    "data-expire.datetime-string-pattern": "yyyy-MM-dd",
    "data-expire.datetime-number-format": "TIMESTAMP_MS",
    "data-expire.retention-time": "30d",
    "data-expire.base-on-rule": "LAST_COMMIT_TIME",
    "tag.auto-create.enabled": "true",
    "tag.auto-create.trigger.period": "daily",
    "tag.auto-create.trigger.offset.minutes": "0",
    "tag.auto-create.trigger.max-delay.minutes": "60",
    "tag.auto-create.max-age-ms": "-1",
    "tag.auto-create.tag-format": "'tag-'yyyyMMdd",
    "table-trash.enabled": "false",
    "table-trash.custom-root-location": "/trash",
    "table-trash.file-pattern": ".+",
    "table-summary.enabled": "false",
    "base.file-index.hash-bucket": "4",
    "change.file-index.hash-bucket": "4",
    "base.refresh-interval": "-1",
    "base.write.format": "parquet",
    "change.write.format": "parquet",
    "delta.write.format": "parquet",
    "base.table.max-transaction-id": "1",
    "max-txId": "{}",
    "base-op-time": "1",
    "log-store.enabled": "false",
    "log-store.type": "kafka",
    "log-store.address": "h:1",
    "log-store.topic": "t",
    "log-store.data-format": "json",
    "log-store.data-version": "v1",
    "properties.group.id": "g",
    "table.event-time-field": "_ingest_time",
    "table.event-time-field.datetime-string-format": "yyyy",
    "table.event-time-field.datetime-number-format": "TIMESTAMP_MS",
    "table.watermark-allowed-lateness-second": "0",
    "table.partition-properties": "{}",
    "table.create-timestamp": "1",
    "watermark.table": "1",
    "watermark.base": "1",
    "flink.max-continuous-empty-commits": "1",
    "table-format": "iceberg",
    "location": "s3://b/t",
    "owner": "me",
    "comment": "no",
    "write.upsert.enabled": "false",
    "write.distribution-mode": "hash",
    "write.distribution.hash-mode": "auto",
    "write.target-file-size-bytes": "134217728",
    "write.format.default": "parquet",
    "read.split.target-size": "134217728",
}
"""Every property in TableProperties of Amoro 0.9 but those of keyed tables' identity; three of Arctic 0.4."""


@pytest.mark.parametrize(
    ("name", "value", "policy"),
    [
        case("target-size", "268435456", {"outputFileSize": "256Mi"}, id="target size"),
        case("minor.trigger.file-count", "20", {"minInputFiles": 20}, id="small files"),
        case("minor.trigger.interval", "600000", {"smallFilesSeconds": 600}, id="time of small files"),
        case("minor.trigger.interval", "-1", {}, id="no time of small files"),
        case("major.trigger.duplicate-ratio", "0.1", {"deleteRatioPercent": 10}, id="deleted rows"),
    ],
)
def test_trigger(name: str, value: str, policy: Mapping[str, Any]) -> None:
    found = imported(f"self-optimizing.{name}={value}")
    assert found.policy == ({"triggers": {"partitionFiles": policy}} if policy else {})
    objects(found)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        case("self-optimizing.enabled=false", {"suspend": True}, id="off"),
        case("self-optimizing.enabled=true", {}, id="on"),
        case(
            "self-optimizing.full.trigger.interval=86400000",
            {"full": {"intervalSeconds": 86400}},
            id="full",
        ),
        case("self-optimizing.full.trigger.interval=-1", {}, id="no full"),
        case("self-optimizing.min-plan-interval=60000", {"minIntervalSeconds": 60}, id="rests"),
        case(
            "table-expire.enabled=true",
            {"maintenance": {"expireSnapshots": {"mode": "Always"}}},
            id="expiry",
        ),
        case(
            "table-expire.enabled=false",
            {"maintenance": {"expireSnapshots": {"mode": "Never"}}},
            id="no expiry",
        ),
        case(
            "clean-orphan-file.enabled=true\nclean-orphan-file.min-existing-time-minutes=2880",
            {"maintenance": {"removeOrphans": {"minAgeSeconds": 172_800}}},
            id="orphans",
        ),
        case("clean-orphan-file.min-existing-time-minutes=2880", {}, id="age of orphans that stay"),
        case(
            "clean-dangling-delete-files.enabled=true",
            {"maintenance": {"mergeManifests": {}}},
            id="dangling deletes",
        ),
    ],
)
def test_field_of_the_policy(text: str, policy: Mapping[str, Any]) -> None:
    found = imported(text)
    assert found.policy == policy
    objects(found)


def test_what_is_of_one_table_is_of_its_laketable() -> None:
    text = {"enabled": "false", "target-size": "1000", "max-file-count": "9"}
    found = imported(properties({f"self-optimizing.{name}": text[name] for name in text}), "db.t")
    options = {"target-file-size-bytes": "1000", "max-files-to-rewrite": "9"}
    assert found.tables[0].spec == {"suspend": True, "tableOptions": options}
    assert found.policy == {}
    objects(found)


def test_option_without_a_table_is_told() -> None:
    found = imported("self-optimizing.max-file-count=9")
    assert 'spec.tableOptions["max-files-to-rewrite"]' in meaning(found, "self-optimizing.max-file-count")


@pytest.mark.parametrize(
    ("text", "millis"),
    [("720min", "43200000"), ("12h", "43200000"), ("7d", "604800000"), ("30 s", "30000"), ("500", "500")],
)
def test_retention_is_a_property_of_iceberg(text: str, millis: str) -> None:
    (note,) = imported(f"snapshot.keep.duration={text}", "db.t").notes
    assert note.statement.endswith(f"('history.expire.max-snapshot-age-ms' = '{millis}')")


def test_interval_that_would_delay_full_compactions_is_left_out() -> None:
    text = "self-optimizing.full.trigger.interval=60000\nself-optimizing.min-plan-interval=120000"
    found = imported(text)
    assert found.policy == {"full": {"intervalSeconds": 60}}
    assert meaning(found, "spec.minIntervalSeconds").startswith("left out")
    objects(found)


def test_defaults_that_differ_are_told_of_tables_of_amoro_only() -> None:
    assert {note.source for note in imported("self-optimizing.group=a").notes} == {
        "properties",
        "defaults of Amoro",
    }
    assert {note.source for note in imported("write.ordered=a").notes} == {"properties"}


def test_every_property_of_amoro_is_known() -> None:
    found = imported(properties(AMORO), "db.t")
    assert [note.name for note in found.notes if not note.meaning or note.meaning == UNKNOWN] == []
    assert {note.name for note in found.notes} >= AMORO.keys()
    objects(found)


def test_no_rule_is_for_what_nobody_has() -> None:
    of_iceberg = {
        *(
            "commit.*",
            "history.expire.*",
            "gc.enabled",
            "lithify.*",
            "format-version",
            "format",
            "provider",
        ),
        *("current-snapshot-id", "sort-order", "identifier-fields", "schema.name-mapping.default"),
        "mixed-format.*",
    }
    used = {rule.name for name in AMORO if (rule := AMORO_RULES.of(name)) is not None}
    assert {rule.name for rule in AMORO_RULES.rules} - used == of_iceberg


@pytest.mark.parametrize("mark", ["mixed-format.primary-key-fields=id", "table-format=MIXED_ICEBERG"])
def test_keyed_table_is_left_to_its_own_properties(mark: str) -> None:
    found = imported(f"{mark}\nself-optimizing.minor.trigger.file-count=20", "db.t")
    assert (found.policy, found.tables[0].spec) == ({}, {})
    assert "keyed table" in meaning(found, "self-optimizing.minor.trigger.file-count")
    assert UNKNOWN not in {note.meaning for note in found.notes}


def test_keyed_tables_read_or_refuse_what_is_said_so() -> None:
    constants = {value for value in vars(trigger_options).values() if isinstance(value, str)}
    of_triggers = {name for name in constants if name.startswith("self-optimizing.")}
    assert KEYED_NOTES.keys() == of_triggers | set(snapshot_expiry._KEEPING)


def test_properties_of_a_catalog_of_amoro_are_those_of_its_tables() -> None:
    names = ("clean-orphan-file.enabled", "clean-orphan-file.min-existing-time-minutes")
    found = imported(f"table.{names[0]}=true\ntable.{names[1]}=2880\ntable.event-time-field=a")
    assert found.policy == {"maintenance": {"removeOrphans": {"minAgeSeconds": 172_800}}}
    assert UNKNOWN not in {note.meaning for note in found.notes}


def test_call_in_a_value_makes_no_sql_of_properties() -> None:
    assert imported("comment=first; call me (now)\nx=1").origin == "2 properties"


def test_text_of_another_kind_is_none_of_ours() -> None:
    assert import_settings("# nothing\n") is None


def test_objects_plan_as_lithify_does_by_the_properties_themselves() -> None:
    names = ("target-size", "minor.trigger.file-count", "minor.trigger.interval")
    found = {f"self-optimizing.{name}": str(60_000 * place) for place, name in enumerate(names, start=1)}
    policy, table = objects(imported(properties(found), "db.t"))
    by_properties, default = planning_options({}, found), PlanningOptions()
    names_of_table = ("equality_files", "equality_millis", "shared_files")
    of_table = {name: getattr(default, name) for name in names_of_table}
    assert plan_of(policy, table) == replace(by_properties, **of_table), "these are read from the table"


SPECIMENS = some.sampled_from(
    ["x", "", "-1", "0", "1", "0.5", "true", "99999999999999999999", "7d", "é\u202e"]
)


@settings(max_examples=examples(60), deadline=None)
@given(
    values=some.dictionaries(some.sampled_from(sorted(AMORO)), some.none() | SPECIMENS),
    table=some.sampled_from([None, "db.t"]),
)
def test_any_properties_become_valid_objects(values: Mapping[str, str | None], table: str | None) -> None:
    chosen = {name: AMORO[name] if value is None else value for name, value in values.items()}
    if chosen:
        found = imported(properties(chosen), table)
        objects(found)
        assert {note.name for note in found.notes} >= chosen.keys()
