"""Tables with deletion vectors are compacted as Java does it: the same files, and the same rows deleted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pypaimon import CatalogFactory

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.rewrite.budget import Budget
from lithify.formats.paimon.primary_key import merge_task
from lithify.formats.protocol.tasks import Sizing
from support.comparing.changelogs import assert_changes_agree
from support.comparing.rounds import compacted_by_both
from support.comparing.updates import Updates
from support.comparing.vectors import REFUSED, assert_refused, deleted, unpaired
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

MARKED = {"merge-engine": "deduplicate", "deletion-vectors.enabled": "true"}
ALL = ("+I", "+U", "-U", "-D")
WIDE = {"a": "DOUBLE", "b": "DOUBLE", "c": "BIGINT", "d": "STRING"}

CASES = [
    Updates("marked rows", options=MARKED, key_values=60),
    Updates("deletes", options=MARKED, kinds=ALL, key_values=60, compacted=(1, 3)),
    Updates("never compacted before", options=MARKED, kinds=ALL, compacted=()),
    Updates("compacted often", options=MARKED, kinds=ALL, compacted=(1, 2, 4, 5), commits=8, key_values=90),
    Updates(
        "few new rows over many",
        options=MARKED,
        kinds=ALL,
        values=WIDE,
        loaded=4000,
        key_values=4200,
        written=25,
        commits=6,
        compacted=(2, 4),
    ),
    Updates(
        "one new file over many rows",
        options=MARKED,
        values=WIDE,
        loaded=3000,
        key_values=3000,
        written=20,
        commits=1,
        compacted=(),
    ),
    Updates("two levels", options={**MARKED, "num-levels": "2"}, kinds=ALL),
    Updates("every file rewritten", options={**MARKED, "compaction.force-rewrite-all-files": "true"}),
    Updates(
        "files without key columns",
        options={**MARKED, "data-file.thin-mode": "true"},
        kinds=ALL,
        compacted=(1, 3),
    ),
    Updates(
        "wide vectors",
        options={**MARKED, "deletion-vectors.bitmap64": "true"},
        kinds=ALL,
        compacted=(1, 3, 5),
    ),
    Updates(
        "index files beside the data",
        options={**MARKED, "index-file-in-data-file-dir": "true"},
        kinds=ALL,
        compacted=(1, 3),
    ),
    Updates("a sequence field", options={**MARKED, "sequence.field": "a"}, kinds=ALL, compacted=(1, 3)),
    Updates(
        "a descending sequence over many rows",
        options={**MARKED, "sequence.field": "c,a", "sequence.field.sort-order": "descending"},
        kinds=ALL,
        values=WIDE,
        loaded=3000,
        key_values=3100,
        written=40,
        commits=5,
        compacted=(1, 3),
    ),
    Updates("ignored deletes", options={**MARKED, "ignore-delete": "true"}, compacted=(1, 3)),
    Updates("partial updates", options={**MARKED, "merge-engine": "partial-update"}, compacted=(1, 3, 5)),
    Updates(
        "partial updates over many rows",
        options={
            **MARKED,
            "merge-engine": "partial-update",
            "fields.c.sequence-group": "a,b",
            "partial-update.remove-record-on-sequence-group": "c",
        },
        kinds=ALL,
        values=WIDE,
        loaded=3000,
        key_values=3100,
        written=40,
        commits=5,
        compacted=(1, 3),
    ),
    Updates(
        "aggregates",
        options={
            **MARKED,
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "listagg",
            "fields.c.aggregate-function": "collect",
        },
        compacted=(1, 3, 5),
    ),
    Updates(
        "aggregates with deletes",
        options={
            **MARKED,
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "last_value",
            "fields.c.aggregate-function": "collect",
        },
        kinds=ALL,
        key_values=90,
        compacted=(1, 3, 5),
    ),
    Updates(
        "records removed by deletes",
        options={
            **MARKED,
            "merge-engine": "partial-update",
            "partial-update.remove-record-on-delete": "true",
        },
        kinds=ALL,
        key_values=90,
        compacted=(1, 3, 5),
    ),
    Updates(
        "aggregates over many rows",
        options={
            **MARKED,
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "max",
            "fields.c.aggregate-function": "sum",
        },
        values=WIDE,
        loaded=3000,
        key_values=3100,
        written=40,
        commits=5,
        compacted=(1, 3),
    ),
    Updates("orc", options={**MARKED, "file.format": "orc"}, kinds=ALL, compacted=(1, 3)),
    Updates("avro", options={**MARKED, "file.format": "avro"}, kinds=ALL, compacted=(1, 3)),
    Updates(
        "levels of other formats",
        options={**MARKED, "file.format.per.level": "4:orc,5:avro"},
        kinds=ALL,
        compacted=(1, 3),
    ),
    Updates(
        "forced lookups, which change nothing",
        options={**MARKED, "force-lookup": "true", "changelog-producer": "input"},
        kinds=ALL,
        compacted=(1, 3),
    ),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_java_compacts_them(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    for full in (False, True):
        assert_marked_as_by_java(oracle, original, tmp_path, full=full)
        assert_marked_as_by_java(
            oracle, original, tmp_path / "in passes", full=full, sizing=Sizing(1, Budget(1 << 20))
        )


@pytest.mark.parametrize("case", [case for case in CASES if case.loaded], ids=lambda case: case.name)
def test_rows_keep_their_positions_where_others_are_not_read(
    oracle: Oracle, case: Updates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row groups without any of the keys are skipped, whatever size the levels above have."""
    small = replace(case, options={**case.options, "parquet.block.size": "1024"})
    original = small.make(oracle, tmp_path / "original")
    monkeypatch.setattr(merge_task, "WORTH_BYTES", 0)
    assert_marked_as_by_java(oracle, original, tmp_path, full=False)


def assert_marked_as_by_java(
    oracle: Oracle, original: Table, folder: Path, *, full: bool, **how: Any
) -> None:
    """Java compacts a copy, we compact another one: files, rows, vectors and changelogs are the same.

    Then Java compacts ours fully and the rows stay.
    """
    newest = oracle.snapshots(original)[-1]["id"]
    of_ours, of_java = compacted_by_both(oracle, original, folder, full=full, **how)
    ours, java = of_ours.table, of_java.table
    assert deleted(oracle, ours) == deleted(oracle, java)
    rows = oracle.read(ours)
    assert rows == oracle.read(java)
    assert not unpaired(oracle, ours)
    assert stray_files(oracle, ours) <= {file.name for file in of_ours.before}
    assert_changes_agree(oracle, ours, java, newest)
    oracle.compact(ours)
    assert oracle.read(ours) == rows
    assert not deleted(oracle, ours)


LOOKUP = {"changelog-producer": "lookup"}
NO_REPEATS = {"changelog-producer.row-deduplicate": "true"}
WITH_CHANGELOG = [
    replace(case, options={**case.options, **LOOKUP})
    for case in CASES
    if case.options.get("changelog-producer") is None
]
WITH_CHANGELOG += [
    Updates("repeats are left out", options={**MARKED, **LOOKUP, **NO_REPEATS}, kinds=ALL, nulls=0.9),
    Updates(
        "sums, repeats left out",
        values={"a": "INT", "b": "STRING"},
        options={
            **MARKED,
            **LOOKUP,
            **NO_REPEATS,
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "last_value",
        },
        kinds=("+I", "+U", "-U", "-D"),
        nulls=0.9,
        compacted=(1, 3, 5),
    ),
    Updates(
        "changelog files of their own kind",
        options={
            **MARKED,
            **LOOKUP,
            "changelog-file.prefix": "changes-",
            "changelog-file.format": "orc",
            "changelog-file.stats-mode": "none",
        },
        kinds=ALL,
        compacted=(1, 3),
    ),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", WITH_CHANGELOG, ids=lambda case: case.name)
def test_lookups_write_the_changelog_of_java(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    test_as_java_compacts_them(oracle, case, tmp_path)


@pytest.mark.parametrize(
    "case", [case for case in WITH_CHANGELOG if case.loaded][:3], ids=lambda case: case.name
)
def test_lookups_read_only_what_may_have_the_keys(
    oracle: Oracle, case: Updates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_rows_keep_their_positions_where_others_are_not_read(oracle, case, tmp_path, monkeypatch)


UPGRADED = Updates(
    "files are upgraded below the top",
    options={**MARKED, **LOOKUP, "target-file-size": "1 b"},
    loaded=3000,
    key_values=3100,
    written=300,
    commits=1,
    compacted=(),
)


def test_files_that_only_change_level_have_changes_and_delete_rows(oracle: Oracle, tmp_path: Path) -> None:
    """Each is read once for both: deletes are not upgraded, so that there are none."""
    original = UPGRADED.make(oracle, tmp_path / "original")
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    newest = oracle.snapshots(original)[-1]["id"]
    oracle.manager_round(java, full=False, commit=True)

    run_inline(ours, full=False)

    moved = {file.name for file in oracle.files(ours)} & {
        f.name for f in oracle.files(original) if not f.level
    }
    assert moved
    assert deleted(oracle, ours) == deleted(oracle, java) != {}
    changes = assert_changes_agree(oracle, ours, java, newest, alike=False)
    assert {row[0] for row in changes} == {"+I", "-U", "+U"}


def test_cases_of_few_rows_do_delete_rows_of_higher_levels(oracle: Oracle, tmp_path: Path) -> None:
    """Otherwise the comparison with Java would say nothing of vectors."""
    for number, case in enumerate(CASES):
        if case.loaded:
            table = case.make(oracle, tmp_path / f"{number}")
            run_inline(table, full=False)
            assert deleted(oracle, table)


LAYOUTS: dict[str, tuple[list[str], list[str], dict[str, str]]] = {
    "buckets": (["id"], [], {"bucket": "3"}),
    "partitions": (["id", "p"], ["p"], {"bucket": "2"}),
    "dynamic buckets": (["id"], [], {"bucket": "-1"}),
    "partitions and a changelog": (["id", "p"], ["p"], {"bucket": "2", **LOOKUP}),
}


@pytest.mark.parametrize(("key", "partitions", "options"), LAYOUTS.values(), ids=LAYOUTS)
def test_buckets_keep_their_own_vectors(
    oracle: Oracle, tmp_path: Path, key: list[str], partitions: list[str], options: dict[str, str]
) -> None:
    table = Table(tmp_path / "original", "db.t")
    columns = {"id": "INT NOT NULL", "p": "STRING NOT NULL", "v": "INT"}
    oracle.create_table(table, columns, key, partitions, options={**MARKED, **options, "write-only": "true"})
    how: dict[str, Any] = {}
    for commit, size in enumerate((9000, 30, 40)):
        rows = [
            ["+I" if n % 5 else "-D", n, "ab"[n % 2], commit] for n in range(commit * 10, commit * 10 + size)
        ]
        if options["bucket"] == "-1":
            how = {"buckets": [row[1] % 2 for row in rows]}
        oracle.write(table, rows, **how)
        if commit < 2:
            oracle.manager_round(table, full=not commit, commit=True)
    hashes = [index for index in oracle.index_files(table) if index.type == "HASH"]
    for full in (False, True):
        assert_marked_as_by_java(oracle, table, tmp_path, full=full)
    run_inline(table, full=False)
    assert [index for index in oracle.index_files(table) if index.type == "HASH"] == hashes
    assert deleted(oracle, table)
    assert read_with_pypaimon(table) == sorted(row[1:] for row in oracle.read(table))


def read_with_pypaimon(table: Table) -> list[list[Any]]:
    catalog = CatalogFactory.create({"warehouse": str(table.warehouse)})
    builder = catalog.get_table(table.name).new_read_builder()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return sorted([*row.values()] for row in rows.to_pylist())


EXPIRING = {"record-level.expire-time": "1 h", "record-level.time-field": "v"}
REFUSED_HERE = {**REFUSED, "rows expire": (EXPIRING, "record-level.time-field")}


@pytest.mark.parametrize(("options", "name"), REFUSED_HERE.values(), ids=REFUSED_HERE)
def test_what_cannot_be_combined_is_refused(
    oracle: Oracle, tmp_path: Path, options: dict[str, str], name: str
) -> None:
    table = Table(tmp_path / "w", "db.t")
    of_table = {**MARKED, "bucket": "1", "write-only": "true", **options}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "INT"}, ["id"], options=of_table)
    assert_refused(table, name)


@pytest.mark.parametrize("option", [("changelog-producer", "full-compaction"), ("merge-engine", "first-row")])
def test_what_paimon_refuses_is_refused(oracle: Oracle, tmp_path: Path, option: tuple[str, str]) -> None:
    table = Table(tmp_path / "w", "db.t")
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "INT"}, ["id"], options={"bucket": "1"})
    (file,) = (table.folder / "schema").iterdir()
    schema = json.loads(file.read_text())
    schema["options"].update({"deletion-vectors.enabled": "true", option[0]: option[1]})
    file.write_text(json.dumps(schema))
    assert_refused(table, option[1])
