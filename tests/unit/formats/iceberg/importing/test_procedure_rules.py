"""What CALL statements become: each argument and option is mapped or has a note; unknown ones are named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from lithify.errors import InvalidOption
from lithify.formats.iceberg.importing.mapping import UNKNOWN
from lithify.formats.iceberg.importing.procedure_rules import PROCEDURES
from lithify.formats.iceberg.planning.options import planning_options
from lithify.resources.names import POLICY
from lithify.resources.validating import validated
from support.cases import case
from support.properties import examples
from unit.formats.iceberg.importing.imported import imported, meaning, objects, plan_of, rewrite

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
WITHOUT_LIMIT = {"9223372036854775807", "2147483647"}
"""The largest numbers of Java, which ask for nothing."""
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
OTHER_VALUES = {
    "target-file-size-bytes": "402653184",
    "min-input-files": "3",
    "delete-file-threshold": "4",
    "delete-ratio-threshold": "0.055",
    "max-files-to-rewrite": "10",
}
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


@pytest.mark.parametrize(
    ("option", "value", "policy", "options"),
    [
        case("target-file-size-bytes", "536870912", {}, {"target-file-size-bytes": "536870912"}, id="size"),
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
        case("min-input-files", "200000", {}, {"min-input-files": "200000"}, id="above the field's bound"),
        case("min-file-size-bytes", "none", {}, {}, id="no size"),
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
        case("remove-dangling-deletes", "true", {"maintenance": {"mergeManifests": {}}}, {}, id="dangling"),
        case("remove-dangling-deletes", "false", {}, {}, id="not dangling"),
    ],
)
def test_option_of_rewrite_data_files(
    option: str, value: str, policy: Mapping[str, Any], options: Mapping[str, str]
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
def test_sort_order(text: str, order: str | None) -> None:
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
def test_table_is_named(arguments: str, identifier: str, catalog: str) -> None:
    found = imported("CALL " + arguments.replace("p(", "rewrite_data_files("))
    (table,) = found.tables
    assert (table.identifier, table.catalog) == (identifier, catalog)
    objects(found)


def test_option_that_all_tables_share_is_of_the_policy() -> None:
    found = imported(rewrite({"min-input-files": "8"}) + rewrite({"min-input-files": "8"}, "db.u"))
    assert found.policy == {"triggers": {"partitionFiles": {"minInputFiles": 8}}}
    assert [table.spec for table in found.tables] == [{}, {}]


@pytest.mark.parametrize("other", [{"min-input-files": "9"}, {}], ids=["another value", "none"])
def test_option_in_which_tables_differ_is_of_each_table(other: Mapping[str, str]) -> None:
    found = imported(rewrite({"min-input-files": "8"}) + rewrite(other, "db.u"))
    assert found.policy == {}
    options = [table.spec.get("tableOptions", {}) for table in found.tables]
    assert options == [{"min-input-files": "8"}, other]
    objects(found)


def test_second_statement_for_a_table_changes_nothing() -> None:
    found = imported(rewrite({"min-input-files": "8"}) + rewrite({"min-input-files": "9"}))
    assert found.tables[0].spec == {"tableOptions": {"min-input-files": "8"}}
    assert "an earlier statement for this table says 8" in found.notes[-1].meaning


def test_maintenance_that_one_table_asks_for_is_said_to_be_for_all() -> None:
    found = imported(rewrite({}) + "CALL lake.system.expire_snapshots('db.u')")
    assert found.policy == {"maintenance": {"expireSnapshots": {"mode": "Always"}}}
    assert "for all tables that follow it" in meaning(found, "expire_snapshots")


def test_retention_is_a_statement_for_the_owner_of_the_table() -> None:
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
def test_orphans_are_only_listed_whatever_spark_did(age: str, expected: Mapping[str, int]) -> None:
    found = imported(f"CALL s.remove_orphan_files('db.t', {age}, dry_run => false)")
    assert found.policy == {"maintenance": {"removeOrphans": expected}}
    policy = validated(POLICY, objects(found)[0])
    assert policy["spec"]["maintenance"]["removeOrphans"]["delete"] is False


def test_larger_age_of_orphans_counts() -> None:
    calls = [
        f"CALL s.remove_orphan_files('db.{table}', now() - INTERVAL {days} DAYS);"
        for table, days in (("t", 9), ("u", 4))
    ]
    assert imported("".join(calls)).policy == {
        "maintenance": {"removeOrphans": {"minAgeSeconds": 9 * 86_400}}
    }


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_argument_is_known(name: str) -> None:
    known = PROCEDURES[name].parameters
    assert {"table", *ARGUMENTS[name]} == set(known)
    arguments = ", ".join(f"{key} => {value}" for key, value in ARGUMENTS[name].items())
    found = imported(f"CALL s.{name}(table => 'db.t', {arguments})")
    assert UNKNOWN not in {note.meaning for note in found.notes}
    objects(found)


def test_every_option_of_rewrite_data_files_is_known() -> None:
    found = imported(rewrite(REWRITE_OPTIONS))
    assert {note.name for note in found.notes} == {"rewrite_data_files", *REWRITE_OPTIONS}
    assert [note.name for note in found.notes if not note.meaning or note.meaning == UNKNOWN] == []


def test_every_option_of_rewrite_position_delete_files_is_known() -> None:
    assert PROCEDURES["rewrite_position_delete_files"].option_names == set(POSITION_DELETE_OPTIONS)


def test_what_is_unknown_is_named() -> None:
    found = imported(rewrite({"x": "1"}) + "CALL s.expire_snapshots('db.t', y => 2); CALL sys.compact('a')")
    assert meaning(found, "x") == UNKNOWN == meaning(found, "y")
    assert meaning(found, "sys.compact").startswith("no counterpart")


def test_option_is_no_argument_and_the_reverse() -> None:
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
def test_what_iceberg_refuses_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        imported(text)
    assert message in str(raised.value)


def test_table_is_not_named_twice() -> None:
    with pytest.raises(InvalidOption, match="table"):
        imported(rewrite({}), "db.t")


@settings(max_examples=examples(40), deadline=None)
@given(
    chosen=some.dictionaries(
        some.sampled_from(sorted(REWRITE_OPTIONS)), some.sampled_from(["", "same", "other"])
    )
)
def test_objects_plan_as_the_calls_did(chosen: Mapping[str, str]) -> None:
    first = {name: REWRITE_OPTIONS[name] for name in chosen}
    second = {
        name: OTHER_VALUES.get(name, value) if chosen[name] == "other" else value
        for name, value in first.items()
        if chosen[name]
    }
    found = imported(rewrite(first) + rewrite(second, "a.b"))
    policy, *tables = objects(found)
    for options, table in zip((first, second), tables, strict=True):
        limits = {name: value for name, value in options.items() if value not in WITHOUT_LIMIT}
        expected = planning_options({**limits, "rewrite-all": "false"}, {})
        assert plan_of(policy, table) == expected
    assert len(found.notes) == len(first) + len(second) + 2
