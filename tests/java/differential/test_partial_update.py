"""Partial updates are compacted as Java compacts them: rows, kinds, sequence numbers, metadata of files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from lithify.engine.rewrite.budget import Budget
from lithify.errors import UnsupportedTable
from lithify.formats.protocol.tasks import Sizing
from support.comparing.updates import Updates, assert_compacted_as_by_java
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

WITH_DELETES = ("+I", "+I", "+U", "-D", "-U")
MANY_DELETES = ("+I", "-D", "-D", "-U")
GROUPS = {"a": "INT", "g": "INT", "x": "STRING", "y": "ARRAY<INT>", "h": "BIGINT", "i": "STRING", "z": "INT"}
TWO_GROUPS = {"fields.g.sequence-group": "x,y", "fields.h,i.sequence-group": "z"}
ON_GROUP = "partial-update.remove-record-on-sequence-group"
NUMBERS = {
    "g": "INT",
    "n": "INT",
    "big": "BIGINT",
    "real": "DOUBLE",
    "money": "DECIMAL(6, 2)",
    "text": "STRING",
    "at": "TIMESTAMP(6)",
}


def functions(**named: str) -> dict[str, str]:
    """Options of a sequence group in which columns are aggregated."""
    own = {f"fields.{column}.aggregate-function": function for column, function in named.items()}
    return {"fields.g.sequence-group": ",".join(NUMBERS)[2:], **own}


ELEMENTS = {"g": "INT", "all": "ARRAY<INT>"}
COLLECTED = {"fields.g.sequence-group": "all", "fields.all.aggregate-function": "collect"}

NESTED = {
    "g": "INT",
    "map": "MAP<STRING, INT>",
    "timed": "MAP<STRING, ROW<v INT, t STRING>>",
    "rows": "ARRAY<ROW<k STRING, n INT, m INT>>",
    "keyed": "ARRAY<ROW<k STRING, n INT, m INT>>",
    "parts": "ARRAY<ROW<k STRING, n INT, m INT>>",
    "first": "STRING",
    "there": "STRING",
}
OF_NESTED = {
    "fields.g.sequence-group": ",".join(NESTED)[2:],
    "fields.map.aggregate-function": "merge_map",
    "fields.timed.aggregate-function": "merge_map_with_keytime",
    "fields.rows.aggregate-function": "nested_update",
    "fields.keyed.aggregate-function": "nested_update",
    "fields.keyed.nested-key": "k",
    "fields.keyed.count-limit": "4",
    "fields.parts.aggregate-function": "nested_partial_update",
    "fields.parts.nested-key": "k,n",
    "fields.first.aggregate-function": "first_value",
    "fields.there.aggregate-function": "first_non_null_value",
}
PASSING_OVER = {f"fields.{name}.ignore-retract": "true" for name in NESTED if name != "g"}
WITHOUT_FIRST = {name: kind for name, kind in NESTED.items() if name not in ("first", "there")}
OF_WITHOUT_FIRST = {
    **{name: value for name, value in OF_NESTED.items() if name.split(".")[1] not in ("first", "there")},
    "fields.g.sequence-group": ",".join(WITHOUT_FIRST)[2:],
    "fields.timed.ignore-retract": "true",
    "fields.parts.ignore-retract": "true",
}

CASES = [
    Updates("last values"),
    Updates("last values of many columns", values={f"c{n}": "INT" for n in range(60)}, nulls=0.9),
    Updates("a column that is never null", never_null=("a",)),
    Updates("a sequence field", options={"sequence.field": "a"}),
    Updates(
        "a descending sequence field, null now and then",
        options={"sequence.field": "a,b", "sequence.field.sort-order": "descending"},
    ),
    Updates("a column that is NOT NULL", values={"a": "INT NOT NULL", "b": "STRING"}, never_null=("a",)),
    Updates("deletes are ignored", options={"ignore-delete": "true"}, kinds=WITH_DELETES),
    Updates("most are deletes, ignored", options={"ignore-delete": "true"}, kinds=MANY_DELETES),
    Updates(
        "deletes remove",
        options={"partial-update.remove-record-on-delete": "true"},
        kinds=WITH_DELETES,
    ),
    Updates(
        "most are deletes that remove",
        options={"partial-update.remove-record-on-delete": "true"},
        kinds=MANY_DELETES,
    ),
    Updates("a group", values={"a": "INT", "g": "INT"}, options={"fields.g.sequence-group": "a"}, nulls=0.3),
    Updates("two groups", values=GROUPS, options=TWO_GROUPS),
    Updates("two groups and a sequence field", values=GROUPS, options={**TWO_GROUPS, "sequence.field": "a"}),
    Updates("retractions in two groups", values=GROUPS, options=TWO_GROUPS, kinds=WITH_DELETES),
    Updates("most are retractions in two groups", values=GROUPS, options=TWO_GROUPS, kinds=MANY_DELETES),
    Updates(
        "deletes are ignored in two groups",
        values=GROUPS,
        options={**TWO_GROUPS, "ignore-delete": "true"},
        kinds=MANY_DELETES,
    ),
    Updates(
        "one group removes",
        values=GROUPS,
        options={**TWO_GROUPS, ON_GROUP: "g"},
        kinds=WITH_DELETES,
        commits=9,
    ),
    Updates(
        "a group of two fields removes",
        values=GROUPS,
        options={**TWO_GROUPS, ON_GROUP: "i"},
        kinds=MANY_DELETES,
        nulls=0.3,
    ),
    Updates(
        "both groups remove",
        values=GROUPS,
        options={**TWO_GROUPS, ON_GROUP: "g,i"},
        kinds=WITH_DELETES,
        commits=10,
    ),
    Updates(
        "both groups remove, and most are deletes",
        values=GROUPS,
        options={**TWO_GROUPS, ON_GROUP: "g,i"},
        kinds=MANY_DELETES,
        nulls=0.2,
        commits=10,
    ),
    Updates("sums", NUMBERS, functions(n="sum", big="sum", real="sum", money="sum"), nulls=0.3),
    Updates("sums that retract", NUMBERS, functions(n="sum", big="sum", real="sum"), WITH_DELETES, nulls=0.3),
    Updates(
        "sums, and deletes are ignored",
        NUMBERS,
        {**functions(n="sum"), "ignore-delete": "true"},
        WITH_DELETES,
    ),
    Updates(
        "sums that start over", NUMBERS, {**functions(n="sum", money="sum"), ON_GROUP: "g"}, WITH_DELETES
    ),
    Updates("products", NUMBERS, functions(n="product", real="product"), nulls=0.3),
    Updates("extremes", NUMBERS, functions(n="max", real="min", text="max", at="min"), nulls=0.3),
    Updates(
        "extremes that pass over retractions",
        NUMBERS,
        {**functions(n="max"), "fields.n.ignore-retract": "true"},
        WITH_DELETES,
    ),
    Updates(
        "texts and flags in a group",
        {"g": "INT", "text": "STRING", "flag": "BOOLEAN", "all": "BOOLEAN"},
        {
            "fields.g.sequence-group": "text,flag,all",
            "fields.text.aggregate-function": "listagg",
            "fields.flag.aggregate-function": "bool_or",
            "fields.all.aggregate-function": "bool_and",
        },
        nulls=0.3,
    ),
    Updates(
        "texts in a group that pass over retractions",
        {"g": "INT", "text": "STRING"},
        {
            "fields.g.sequence-group": "text",
            "fields.text.aggregate-function": "listagg",
            "fields.text.list-agg-delimiter": ";",
            "fields.text.ignore-retract": "true",
        },
        WITH_DELETES,
        nulls=0.3,
    ),
    Updates(
        "texts in a group that removes",
        {"g": "INT", "text": "STRING", "h": "INT"},
        {
            "fields.g.sequence-group": "text",
            "fields.text.aggregate-function": "listagg",
            "fields.text.ignore-retract": "true",
            ON_GROUP: "g",
        },
        MANY_DELETES,
        nulls=0.3,
    ),
    Updates(
        "distinct texts in a group",
        {"g": "INT", "text": "STRING"},
        {
            "fields.g.sequence-group": "text",
            "fields.text.aggregate-function": "listagg",
            "fields.text.list-agg-delimiter": "h",
            "fields.text.distinct": "true",
        },
        nulls=0.2,
        commits=9,
    ),
    Updates("elements in a group", ELEMENTS, COLLECTED, nulls=0.2),
    Updates("elements in a group that retract", ELEMENTS, COLLECTED, WITH_DELETES, nulls=0.2),
    Updates(
        "distinct elements in a group", ELEMENTS, {**COLLECTED, "fields.all.distinct": "true"}, nulls=0.2
    ),
    Updates(
        "elements in a group that pass over retractions",
        ELEMENTS,
        {**COLLECTED, "fields.all.ignore-retract": "true"},
        WITH_DELETES,
        nulls=0.2,
    ),
    Updates("last values in a group", NUMBERS, functions(n="last_value", text="last_non_null_value")),
    Updates(
        "last values in a group that retract",
        NUMBERS,
        functions(n="last_value", big="last_non_null_value", text="last_non_null_value", at="last_value"),
        WITH_DELETES,
    ),
    Updates(
        "last values in a group that removes",
        NUMBERS,
        {**functions(n="last_value", big="last_non_null_value", text="last_non_null_value"), ON_GROUP: "g"},
        MANY_DELETES,
        nulls=0.3,
    ),
    Updates("first values in a group", NUMBERS, functions(n="first_value", text="first_value")),
    Updates("maps, nested rows and first values in a group", NESTED, OF_NESTED, nulls=0.2, commits=10),
    Updates(
        "maps and nested rows in a group that passes over retractions",
        WITHOUT_FIRST,
        {**OF_WITHOUT_FIRST, **{k: v for k, v in PASSING_OVER.items() if k.split(".")[1] in WITHOUT_FIRST}},
        WITH_DELETES,
        nulls=0.2,
        commits=10,
    ),
    Updates(
        "maps and nested rows in a group that retract",
        WITHOUT_FIRST,
        OF_WITHOUT_FIRST,
        WITH_DELETES,
        nulls=0.2,
        commits=10,
    ),
    Updates(
        "maps and nested rows in a group that removes",
        WITHOUT_FIRST,
        {**OF_WITHOUT_FIRST, ON_GROUP: "g"},
        MANY_DELETES,
        nulls=0.2,
        commits=10,
    ),
    Updates(
        "a default function",
        values={"g": "INT", "n": "INT", "m": "BIGINT"},
        options={"fields.g.sequence-group": "n,m", "fields.default-aggregate-function": "sum"},
        kinds=WITH_DELETES,
    ),
    Updates(
        "a default function everywhere",
        values=GROUPS,
        options={**TWO_GROUPS, "fields.default-aggregate-function": "last_non_null_value"},
        kinds=WITH_DELETES,
    ),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_java_compacts_them(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    for full in (False, True):
        assert_compacted_as_by_java(oracle, original, tmp_path, full=full)


@pytest.mark.parametrize("name", ["last values", "both groups remove", "sums that retract"])
def test_in_many_tasks_and_passes(oracle: Oracle, name: str, tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.name == name)
    original = case.make(oracle, tmp_path / "original")
    assert_compacted_as_by_java(oracle, original, tmp_path, full=True, sizing=Sizing(1, Budget(1 << 20)))


DELETED = [
    Updates("deletes where none are taken", kinds=WITH_DELETES),
    Updates("extremes that cannot retract", NUMBERS, functions(n="max"), WITH_DELETES, nulls=0.3),
    Updates(
        "a NOT NULL column that a retraction empties",
        values={"g": "INT", "a": "INT NOT NULL"},
        options={"fields.g.sequence-group": "a"},
        kinds=WITH_DELETES,
        never_null=("a",),
    ),
]


@pytest.mark.parametrize("case", DELETED, ids=lambda case: case.name)
def test_what_java_fails_over_is_refused(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    original = replace(case, compacted=()).make(oracle, tmp_path / "original")
    with pytest.raises(OracleError):
        oracle.manager_round(copy_of(original, tmp_path / "java"), full=True, commit=True)
    files = oracle.files(original)
    with pytest.raises(UnsupportedTable):
        run_inline(original)
    assert oracle.files(original) == files


PLAIN = {"id": "INT NOT NULL", "a": "INT", "b": "INT", "g": "INT", "h": "INT"}
GROUP = {"fields.g.sequence-group": "a"}
REFUSED_BY_BOTH = {
    "a column in two groups": {**GROUP, "fields.h.sequence-group": "a"},
    "a column that is not there": {"fields.g.sequence-group": "c"},
    "a sequence field that is not there": {"fields.x.sequence-group": "a"},
    "a function outside of groups": {"fields.a.aggregate-function": "sum"},
    "a default function outside of groups": {**GROUP, "fields.default-aggregate-function": "sum"},
    "a function that is not there": {**GROUP, "fields.a.aggregate-function": "median"},
    "ignoring deletes and removing on them": {
        "ignore-delete": "true",
        "partial-update.remove-record-on-delete": "true",
    },
    "ignoring deletes and removing on them in a group": {**GROUP, "ignore-delete": "true", ON_GROUP: "g"},
    "removing on deletes with a group": {**GROUP, "partial-update.remove-record-on-delete": "true"},
    "removing in a group that is not there": {**GROUP, ON_GROUP: "h"},
}
REFUSED_BY_US = {
    "a key in a group": {"fields.g.sequence-group": "a,id"},
    "a sequence field in two groups": {"fields.g.sequence-group": "a", "fields.g,h.sequence-group": "b"},
    "a sequence field within another group": {"fields.g.sequence-group": "h", "fields.h.sequence-group": "b"},
    "a function for keys": {**GROUP, "fields.a.aggregate-function": "primary-key"},
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*REFUSED_BY_BOTH, *REFUSED_BY_US])
def test_options_that_are_refused(oracle: Oracle, name: str, tmp_path: Path) -> None:
    """Java checks no options that a table already has when it only reads them, so these are put there."""
    options = {"bucket": "1", "merge-engine": "partial-update", "write-only": "true"}
    refused = {**REFUSED_BY_BOTH, **REFUSED_BY_US}[name]
    if name in REFUSED_BY_BOTH:
        with pytest.raises(OracleError):
            oracle.create_table(
                Table(tmp_path / "java", "db.t"), PLAIN, ["id"], options={**options, **refused}
            )
    table = Table(tmp_path / "ours", "db.t")
    oracle.create_table(table, PLAIN, ["id"], options=options)
    oracle.write(table, [["+I", 1, 2, 3, 4, 5]])
    (file,) = (table.folder / "schema").iterdir()
    schema = json.loads(file.read_text())
    schema["options"].update(refused)
    file.write_text(json.dumps(schema))
    with pytest.raises(UnsupportedTable) as caught:
        run_inline(table)
    assert any(option in reason for reason in caught.value.reasons for option in refused)
