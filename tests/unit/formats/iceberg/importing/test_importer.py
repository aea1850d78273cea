"""What settings become: each known one is mapped or has a note, and unknown ones are named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as some

from lithify.cli.render_import import imported_yaml
from lithify.errors import InvalidOption
from lithify.formats.iceberg.importing.amoro_rules import AMORO_RULES, KEYED_NOTES
from lithify.formats.iceberg.importing.importer import import_settings
from lithify.formats.iceberg.importing.mapping import UNKNOWN
from lithify.formats.iceberg.importing.procedure_rules import PROCEDURES
from lithify.formats.iceberg.planning.options import planning_options
from lithify.formats.mixed import trigger_options
from lithify.formats.protocol.importing import ImportedSettings
from lithify.resources.crd import definition_of
from lithify.resources.modelling import read
from lithify.resources.names import LAKE_TABLE, POLICY
from lithify.resources.validating import validated
from support.cases import case
from support.properties import examples

KINDS = {"CompactionPolicy": POLICY, "LakeTable": LAKE_TABLE}
REWRITE_OPTIONS = {
    "target-file-size-bytes": "268435456",
    "min-file-size-bytes": "1000",
    "max-file-size-bytes": "1073741824",
    "min-input-files": "7",
    "rewrite-all": "true",
    "max-file-group-size-bytes": "10737418240",
    "max-file-group-input-files": "9223372036854775807",
    "delete-file-threshold": "2147483647",
    "delete-ratio-threshold": "0.2",
    "max-files-to-rewrite": "1000",
    "max-concurrent-file-group-rewrites": "10",
    "partial-progress.enabled": "true",
    "partial-progress.max-commits": "10",
    "partial-progress.max-failed-commits": "3",
    "use-starting-sequence-number": "true",
    "remove-dangling-deletes": "true",
    "rewrite-job-order": "bytes-asc",
    "output-spec-id": "1",
    "compression-factor": "1.5",
    "shuffle-partitions-per-file": "2",
    "var-length-contribution": "16",
    "max-output-size": "64",
}
"""Every option of rewrite_data_files in Iceberg 1.11: of the action, of its planners, of Spark's runners."""
POSITION_DELETE_OPTIONS = (
    "target-file-size-bytes",
    "min-file-size-bytes",
    "max-file-size-bytes",
    "min-input-files",
    "rewrite-all",
    "max-file-group-size-bytes",
    "max-file-group-input-files",
    "max-concurrent-file-group-rewrites",
    "partial-progress.enabled",
    "partial-progress.max-commits",
    "rewrite-job-order",
)
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "rewrite_data_files": {
        "strategy": "'sort'",
        "sort_order": "'zorder(a,b)'",
        "options": "map('min-input-files', '2')",
        "where": "'dt > 1'",
        "branch": "'audit'",
    },
    "rewrite_position_delete_files": {"options": "map('rewrite-all', 'true')", "where": "'a = 1'"},
    "rewrite_manifests": {"use_caching": "false", "spec_id": "1", "sort_by": "array('a')"},
    "expire_snapshots": {
        "older_than": "now() - INTERVAL 5 DAYS",
        "retain_last": "10",
        "max_concurrent_deletes": "4",
        "stream_results": "true",
        "snapshot_ids": "array(1, 2)",
        "clean_expired_metadata": "true",
    },
    "remove_orphan_files": {
        "older_than": "TIMESTAMP '2026-01-01 00:00:00'",
        "location": "'s3://b/t/data'",
        "dry_run": "true",
        "max_concurrent_deletes": "4",
        "file_list_view": "'files'",
        "equal_schemes": "map('s3a', 's3')",
        "equal_authorities": "map('a', 'b')",
        "prefix_mismatch_mode": "'IGNORE'",
        "prefix_listing": "true",
        "stream_results": "true",
    },
}
"""Every parameter of the procedures in Iceberg 1.11 but the table."""
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
"""Every table property in TableProperties of Amoro 0.9 but those of keyed tables' identity."""


def imported(text: str, table: str | None = None) -> ImportedSettings:
    found = import_settings(text, table)
    assert found is not None
    return found


def objects(settings: ImportedSettings) -> list[dict[str, Any]]:
    """The objects of the YAML, each as an API server would take it, and as the operator reads it."""
    found = list(yaml.safe_load_all(imported_yaml(settings, "one")))
    for each in found:
        kind = KINDS[each["kind"]]
        whole = validated(kind, each)
        whole["metadata"]["namespace"] = "default"
        read(definition_of(kind).model, whole)
    return found


def meaning(settings: ImportedSettings, name: str) -> str:
    (found,) = (note.meaning for note in settings.notes if note.name == name)
    return found


def rewrite(options: Mapping[str, str], table: str = "db.t") -> str:
    entries = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    return f"CALL lake.system.rewrite_data_files(table => '{table}', options => map({entries}));\n"


def properties(found: Mapping[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in found.items())


class TestCalls:
    @pytest.mark.parametrize(
        ("option", "value", "policy", "options"),
        [
            case(
                "target-file-size-bytes", "536870912", {}, {"target-file-size-bytes": "536870912"}, id="size"
            ),
            case(
                "min-input-files",
                "8",
                {"triggers": {"partitionFiles": {"minInputFiles": 8}}},
                {},
                id="number of files",
            ),
            case(
                "delete-ratio-threshold",
                "0.3",
                {"triggers": {"partitionFiles": {"deleteRatioPercent": 30}}},
                {},
                id="whole per cent",
            ),
            case(
                "delete-ratio-threshold",
                "0.055",
                {},
                {"delete-ratio-threshold": "0.055"},
                id="part of a per cent",
            ),
            case(
                "delete-file-threshold",
                "5",
                {"triggers": {"partitionFiles": {"deletesPerFile": 5}}},
                {},
                id="number of deletes",
            ),
            case("delete-file-threshold", "2147483647", {}, {}, id="no limit"),
            case(
                "min-input-files", "200000", {}, {"min-input-files": "200000"}, id="above the field's bound"
            ),
            case("min-file-size-bytes", "1000", {}, {"min-file-size-bytes": "1000"}, id="least size"),
            case(
                "rewrite-job-order",
                "files-desc",
                {},
                {"rewrite-job-order": "files-desc"},
                id="order of groups",
            ),
            case("rewrite-job-order", "none", {}, {}, id="no order of groups"),
            case("max-files-to-rewrite", "10", {}, {"max-files-to-rewrite": "10"}, id="most files"),
            case("rewrite-all", "true", {}, {}, id="everything"),
            case(
                "remove-dangling-deletes", "true", {"maintenance": {"mergeManifests": {}}}, {}, id="dangling"
            ),
            case("remove-dangling-deletes", "false", {}, {}, id="not dangling"),
        ],
    )
    def test_option_of_rewrite_data_files(
        self, option: str, value: str, policy: Mapping[str, Any], options: Mapping[str, str]
    ) -> None:
        found = imported(rewrite({option: value}))
        (table,) = found.tables
        assert (found.policy, table.spec.get("tableOptions", {})) == (policy, options)
        objects(found)

    @pytest.mark.parametrize(
        ("text", "order"),
        [
            case("zorder(a,b)", "zorder(a, b)", id="curve"),
            case("zorder(a), zorder(`b`)", "zorder(a, b)", id="several curves are one"),
            case("id DESC NULLS LAST,name", "id DESC NULLS LAST, name", id="columns"),
            case("bucket(4, id)", None, id="transform"),
            case("zorder(a), b", None, id="curve and column"),
        ],
    )
    def test_sort_order(self, text: str, order: str | None) -> None:
        found = imported(f"CALL s.rewrite_data_files('db.t', sort_order => '{text}')")
        expected = {"tableOptions": {"lithify.sort-order": order}} if order else {}
        assert found.tables[0].spec == expected
        assert meaning(found, "sort_order").startswith("spec." if order else "not imported: ")

    @pytest.mark.parametrize(
        ("arguments", "identifier", "catalog"),
        [
            case("prod.system.p('db.t')", "db.t", "prod", id="catalog of the call"),
            case("prod.system.p('prod.db.t')", "db.t", "prod", id="catalog of call and table"),
            case("prod.system.p('a.b.t')", "a.b.t", "prod", id="nested namespace"),
            case("system.p('`db`.`t`')", "db.t", "", id="quoted"),
            case("system.p('db.t.branch_audit')", "db.t$branch_audit", "", id="branch in the name"),
            case("system.p('db.t', branch => 'audit')", "db.t$branch_audit", "", id="branch as an argument"),
            case("system.p('db.t', branch => 'main')", "db.t", "", id="main branch"),
        ],
    )
    def test_table_is_named(self, arguments: str, identifier: str, catalog: str) -> None:
        found = imported("CALL " + arguments.replace("p(", "rewrite_data_files("))
        (table,) = found.tables
        assert (table.identifier, table.catalog) == (identifier, catalog)
        objects(found)

    def test_option_that_all_tables_share_is_of_the_policy(self) -> None:
        found = imported(rewrite({"min-input-files": "8"}) + rewrite({"min-input-files": "8"}, "db.u"))
        assert found.policy == {"triggers": {"partitionFiles": {"minInputFiles": 8}}}
        assert [table.spec for table in found.tables] == [{}, {}]

    @pytest.mark.parametrize("other", [{"min-input-files": "9"}, {}], ids=["another value", "none"])
    def test_option_in_which_tables_differ_is_of_each_table(self, other: Mapping[str, str]) -> None:
        found = imported(rewrite({"min-input-files": "8"}) + rewrite(other, "db.u"))
        assert found.policy == {}
        options = [table.spec.get("tableOptions", {}) for table in found.tables]
        assert options == [{"min-input-files": "8"}, other]
        objects(found)

    def test_second_statement_for_a_table_changes_nothing(self) -> None:
        found = imported(rewrite({"min-input-files": "8"}) + rewrite({"min-input-files": "9"}))
        assert found.tables[0].spec == {"tableOptions": {"min-input-files": "8"}}
        assert "an earlier statement for this table says 8" in found.notes[-1].meaning

    def test_maintenance_that_one_table_asks_for_is_said_to_be_for_all(self) -> None:
        found = imported(rewrite({}) + "CALL lake.system.expire_snapshots('db.u')")
        assert found.policy == {"maintenance": {"expireSnapshots": {"mode": "Always"}}}
        assert "for all tables that follow it" in meaning(found, "expire_snapshots")

    def test_retention_is_a_statement_for_the_owner_of_the_table(self) -> None:
        arguments = "older_than => date_sub(current_date(), 7), retain_last => 3"
        found = imported(f"CALL lake.system.expire_snapshots(table => 'my-db.t', {arguments})")
        start = "ALTER TABLE lake.`my-db`.t SET TBLPROPERTIES"
        assert [note.statement for note in found.notes if note.statement] == [
            f"{start} ('history.expire.max-snapshot-age-ms' = '604800000')",
            f"{start} ('history.expire.min-snapshots-to-keep' = '3')",
        ]

    @pytest.mark.parametrize(
        ("age", "expected"),
        [
            case("now() - INTERVAL 7 DAYS", {"minAgeSeconds": 604_800}, id="days"),
            case("now() - interval '2' hour", {"minAgeSeconds": 86_400}, id="at least a day"),
            case("TIMESTAMP '2026-01-01 00:00:00'", {}, id="moment"),
            case("'{{ ds }}'", {}, id="template"),
        ],
    )
    def test_orphans_are_only_listed_whatever_spark_did(self, age: str, expected: Mapping[str, int]) -> None:
        found = imported(f"CALL s.remove_orphan_files('db.t', {age}, dry_run => false)")
        assert found.policy == {"maintenance": {"removeOrphans": expected}}
        policy = validated(POLICY, objects(found)[0])
        assert policy["spec"]["maintenance"]["removeOrphans"]["delete"] is False

    def test_larger_age_of_orphans_counts(self) -> None:
        calls = [
            f"CALL s.remove_orphan_files('db.{table}', now() - INTERVAL {days} DAYS);"
            for table, days in (("t", 9), ("u", 4))
        ]
        assert imported("".join(calls)).policy == {
            "maintenance": {"removeOrphans": {"minAgeSeconds": 9 * 86_400}}
        }

    @pytest.mark.parametrize("name", ARGUMENTS)
    def test_every_argument_is_known(self, name: str) -> None:
        known = PROCEDURES[name].parameters
        assert {"table", *ARGUMENTS[name]} == set(known)
        arguments = ", ".join(f"{key} => {value}" for key, value in ARGUMENTS[name].items())
        found = imported(f"CALL s.{name}(table => 'db.t', {arguments})")
        assert UNKNOWN not in {note.meaning for note in found.notes}
        objects(found)

    def test_every_option_of_rewrite_data_files_is_known(self) -> None:
        found = imported(rewrite(REWRITE_OPTIONS))
        assert {note.name for note in found.notes} == {"rewrite_data_files", *REWRITE_OPTIONS}
        assert [note.name for note in found.notes if not note.meaning or note.meaning == UNKNOWN] == []

    def test_every_option_of_rewrite_position_delete_files_is_known(self) -> None:
        assert PROCEDURES["rewrite_position_delete_files"].option_names == set(POSITION_DELETE_OPTIONS)

    def test_what_is_unknown_is_named(self) -> None:
        found = imported(
            rewrite({"x": "1"}) + "CALL s.expire_snapshots('db.t', y => 2); CALL sys.compact('a')"
        )
        assert meaning(found, "x") == UNKNOWN == meaning(found, "y")
        assert meaning(found, "sys.compact").startswith("no counterpart")

    def test_option_is_no_argument_and_the_reverse(self) -> None:
        found = imported("CALL s.rewrite_data_files('db.t', options => map('where', 'x'))")
        assert meaning(found, "where") == UNKNOWN

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            case("CALL s.rewrite_data_files()", "line 1: a table has to be named", id="no table"),
            case("CALL s.rewrite_data_files('t')", "not 't'", id="no database"),
            case("CALL s.rewrite_manifests('a.b', 1, 2, 3, 4)", "at most 4 arguments", id="too many"),
            case("CALL s.rewrite_manifests('a.b', table => 'c.d')", "table is there twice", id="twice"),
            case(rewrite({"min-input-files": "x"}), "min-input-files: x is no whole number", id="no number"),
            case(
                rewrite({"target-file-size-bytes": "10", "min-file-size-bytes": "10"}),
                "min-file-size-bytes: 10 has to be from 0 to 9",
                id="contradiction",
            ),
        ],
    )
    def test_what_iceberg_refuses_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(InvalidOption) as raised:
            imported(text)
        assert message in str(raised.value)

    def test_table_is_not_named_twice(self) -> None:
        with pytest.raises(InvalidOption, match="--table"):
            imported(rewrite({}), "db.t")


class TestProperties:
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
    def test_trigger(self, name: str, value: str, policy: Mapping[str, Any]) -> None:
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
    def test_field_of_the_policy(self, text: str, policy: Mapping[str, Any]) -> None:
        found = imported(text)
        assert found.policy == policy
        objects(found)

    def test_what_is_of_one_table_is_of_its_laketable(self) -> None:
        text = {"enabled": "false", "target-size": "1000", "max-file-count": "9"}
        found = imported(properties({f"self-optimizing.{name}": text[name] for name in text}), "db.t")
        options = {"target-file-size-bytes": "1000", "max-files-to-rewrite": "9"}
        assert found.tables[0].spec == {"suspend": True, "tableOptions": options}
        assert found.policy == {}
        objects(found)

    def test_option_without_a_table_is_told(self) -> None:
        found = imported("self-optimizing.max-file-count=9")
        assert 'spec.tableOptions["max-files-to-rewrite"]' in meaning(found, "self-optimizing.max-file-count")

    @pytest.mark.parametrize(
        ("text", "millis"),
        [("720min", "43200000"), ("12h", "43200000"), ("7d", "604800000"), ("30 s", "30000"), ("500", "500")],
    )
    def test_retention_is_a_property_of_iceberg(self, text: str, millis: str) -> None:
        (note,) = imported(f"snapshot.keep.duration={text}", "db.t").notes
        assert note.statement.endswith(f"('history.expire.max-snapshot-age-ms' = '{millis}')")

    def test_interval_that_would_delay_full_compactions_is_left_out(self) -> None:
        text = "self-optimizing.full.trigger.interval=60000\nself-optimizing.min-plan-interval=120000"
        found = imported(text)
        assert found.policy == {"full": {"intervalSeconds": 60}}
        assert meaning(found, "spec.minIntervalSeconds").startswith("left out")
        objects(found)

    def test_defaults_that_differ_are_told_of_tables_of_amoro_only(self) -> None:
        assert {note.source for note in imported("self-optimizing.group=a").notes} == {
            "properties",
            "defaults of Amoro",
        }
        assert {note.source for note in imported("write.ordered=a").notes} == {"properties"}

    def test_every_property_of_amoro_is_known(self) -> None:
        found = imported(properties(AMORO), "db.t")
        assert [note.name for note in found.notes if not note.meaning or note.meaning == UNKNOWN] == []
        assert {note.name for note in found.notes} >= AMORO.keys()
        objects(found)

    def test_no_rule_is_for_what_nobody_has(self) -> None:
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
    def test_keyed_table_is_left_to_its_own_properties(self, mark: str) -> None:
        found = imported(f"{mark}\nself-optimizing.minor.trigger.file-count=20", "db.t")
        assert (found.policy, found.tables[0].spec) == ({}, {})
        assert "keyed table" in meaning(found, "self-optimizing.minor.trigger.file-count")
        assert UNKNOWN not in {note.meaning for note in found.notes}

    def test_keyed_tables_read_what_is_said_to_be_read(self) -> None:
        constants = {value for value in vars(trigger_options).values() if isinstance(value, str)}
        told = {name for name in KEYED_NOTES if name.startswith("self-optimizing.")}
        assert told == {name for name in constants if name.startswith("self-optimizing.")} - {
            trigger_options.MAJOR_INTERVAL
        }

    def test_text_of_another_kind_is_none_of_ours(self) -> None:
        assert import_settings("# nothing\n") is None


SPECIMENS = some.sampled_from(
    ["x", "", "-1", "0", "1", "0.5", "true", "99999999999999999999", "7d", "é\u202e"]
)


@settings(max_examples=examples(40), deadline=None)
@given(chosen=some.dictionaries(some.sampled_from(sorted(REWRITE_OPTIONS)), some.booleans()))
def test_any_options_become_valid_objects(chosen: Mapping[str, bool]) -> None:
    options = {name: REWRITE_OPTIONS[name] for name in chosen}
    found = imported(
        rewrite(options) + rewrite({name: options[name] for name in options if chosen[name]}, "a.b")
    )
    for each in objects(found):
        planning_options({**options, **each["spec"].get("tableOptions", {})}, {})
    assert len(found.notes) == len(options) + sum(chosen.values()) + 2


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
