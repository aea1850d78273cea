"""Changelogs of compactions are those that Java writes: events, kinds, order, files, what streams give."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.rewrite.budget import Budget
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.primary_key import merge_task
from lithify.formats.protocol.tasks import Sizing
from support.comparing.changelogs import assert_changelogs_agree
from support.comparing.updates import Updates
from support.runs import run_inline
from support.tables import PLAIN, append, copy_of, make_plain

pytestmark = pytest.mark.oracle

NEWEST = {"merge-engine": "deduplicate"}
SUMS = {
    "merge-engine": "aggregation",
    "fields.a.aggregate-function": "sum",
    "fields.b.aggregate-function": "last_value",
}
NUMBERS = {"a": "INT", "b": "STRING"}
WITH_DELETES = ("+I", "+I", "+U", "-D", "-U")
FULL = {"changelog-producer": "full-compaction"}
NO_REPEATS = {"changelog-producer.row-deduplicate": "true"}
GROUPS = {"a": "INT", "g": "INT", "x": "STRING", "y": "ARRAY<INT>"}

BY_FULL_COMPACTION = [
    Updates("newest rows", options={**NEWEST, **FULL}),
    Updates("newest rows with deletes", options={**NEWEST, **FULL}, kinds=WITH_DELETES),
    Updates("most are deletes", options={**NEWEST, **FULL}, kinds=("+I", "-D", "-D"), loaded=60),
    Updates("never compacted", options={**NEWEST, **FULL}, kinds=WITH_DELETES, compacted=()),
    Updates(
        "many keys at the top", options={**NEWEST, **FULL}, kinds=WITH_DELETES, loaded=3000, key_values=3100
    ),
    Updates("repeats are left out", options={**NEWEST, **FULL, **NO_REPEATS}, kinds=WITH_DELETES, loaded=30),
    Updates(
        "repeats in some columns are left out",
        options={
            **NEWEST,
            **FULL,
            **NO_REPEATS,
            "changelog-producer.row-deduplicate-ignore-fields": "b,c",
        },
        loaded=40,
    ),
    Updates(
        "repeats of every type are left out",
        values={
            "a": "DOUBLE",
            "b": "DECIMAL(6, 2)",
            "c": "ARRAY<INT>",
            "d": "TIMESTAMP(6)",
            "e": "BOOLEAN",
            "f": "STRING",
        },
        options={**NEWEST, **FULL, **NO_REPEATS, "merge-engine": "partial-update"},
        nulls=0.97,
        loaded=40,
    ),
    Updates("last values", options=FULL, loaded=40),
    Updates("last values, repeats left out", options={**FULL, **NO_REPEATS}, loaded=40, nulls=0.9),
    Updates(
        "a group",
        values=GROUPS,
        options={**FULL, "fields.g.sequence-group": "a,x,y"},
        kinds=WITH_DELETES,
        loaded=30,
    ),
    Updates(
        "deletes that remove",
        options={**FULL, "partial-update.remove-record-on-delete": "true"},
        kinds=WITH_DELETES,
        loaded=40,
    ),
    Updates("sums", NUMBERS, {**SUMS, **FULL}, loaded=40),
    Updates("sums that retract", NUMBERS, {**SUMS, **FULL}, ("+I", "+U", "-D", "-U"), loaded=40),
    Updates("sums, repeats left out", NUMBERS, {**SUMS, **FULL, **NO_REPEATS}, loaded=40, nulls=0.8),
    Updates("a sequence field", options={**NEWEST, **FULL, "sequence.field": "a"}, kinds=WITH_DELETES),
    Updates("two levels", options={**NEWEST, **FULL, "num-levels": "2"}, kinds=WITH_DELETES),
    Updates(
        "files of their own kind",
        options={
            **NEWEST,
            **FULL,
            "changelog-file.prefix": "changes-",
            "changelog-file.format": "orc",
            "changelog-file.compression": "snappy",
            "changelog-file.stats-mode": "none",
        },
        kinds=WITH_DELETES,
    ),
    Updates(
        "files in avro, by level",
        options={
            **NEWEST,
            **FULL,
            "file.format.per.level": "5:avro",
            "metadata.stats-mode.per.level": "5:counts",
            "changelog-file.prefix": "data-",
            "file.suffix.include.compression": "true",
        },
        kinds=WITH_DELETES,
    ),
    Updates("thin files", options={**NEWEST, **FULL, "data-file.thin-mode": "true"}, kinds=WITH_DELETES),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", BY_FULL_COMPACTION, ids=lambda case: case.name)
def test_full_compactions_write_the_changelog_of_java(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    assert_changelogs_agree(oracle, original, tmp_path, full=False)
    assert assert_changelogs_agree(oracle, original, tmp_path, full=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", BY_FULL_COMPACTION[:12], ids=lambda case: case.name)
def test_full_compactions_in_many_tasks_and_passes_write_the_same(
    oracle: Oracle, case: Updates, tmp_path: Path
) -> None:
    original = case.make(oracle, tmp_path / "original")
    sizing = Sizing(1, Budget(1 << 20))
    assert assert_changelogs_agree(oracle, original, tmp_path, full=True, sizing=sizing)


LOOKUP = {"changelog-producer": "lookup"}
FIRST = {"merge-engine": "first-row", **LOOKUP}
ARRAYS = {"a": "ARRAY<INT>", "b": "ARRAY<INT>", "c": "INT"}
SAME_ARRAYS = [
    Updates(
        f"arrays with nulls, {name}",
        ARRAYS,
        {**options, **LOOKUP, **NO_REPEATS},
        nulls=0.5 if "group" in name else 0.8,
        loaded=12_000 if "group" in name else 2000,
        key_values=12_000 if "group" in name else 2000,
        written=400 if "group" in name else 60,
        commits=2,
        compacted=(),
    )
    for name, options in {
        "partial updates": {},
        "in a group": {"fields.c.sequence-group": "a,b", "fields.b.aggregate-function": "collect"},
        "aggregated in a group": {
            "fields.c.sequence-group": "a,b",
            "fields.a.aggregate-function": "last_non_null_value",
            "fields.b.aggregate-function": "collect",
        },
        "collected": {
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "collect",
            "fields.b.aggregate-function": "collect",
            "fields.b.distinct": "true",
        },
        "first and last ones": {
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "first_non_null_value",
            "fields.b.aggregate-function": "last_non_null_value",
        },
    }.items()
]
"""Paimon takes an array for the same if it comes from its store of looked-up rows."""
BY_LOOKUP = [
    Updates("newest rows", options={**NEWEST, **LOOKUP}),
    Updates("newest rows with deletes", options={**NEWEST, **LOOKUP}, kinds=WITH_DELETES, compacted=(1, 3)),
    Updates("most are deletes", options={**NEWEST, **LOOKUP}, kinds=("+I", "-D", "-D"), loaded=60),
    Updates(
        "few changes of many keys",
        options={**NEWEST, **LOOKUP},
        kinds=WITH_DELETES,
        loaded=3000,
        key_values=3100,
        written=20,
        commits=5,
    ),
    Updates(
        "repeats are left out", options={**NEWEST, **LOOKUP, **NO_REPEATS}, kinds=WITH_DELETES, loaded=30
    ),
    Updates(
        "a sequence field",
        options={**NEWEST, **LOOKUP, "sequence.field": "a"},
        kinds=WITH_DELETES,
        compacted=(1, 3, 5),
        commits=8,
        loaded=40,
    ),
    Updates("last values", options=LOOKUP, loaded=40, compacted=(1, 3)),
    Updates(
        "few last values of many",
        options=LOOKUP,
        loaded=3000,
        key_values=3100,
        written=30,
        commits=6,
        compacted=(2, 4),
    ),
    Updates("last values, repeats left out", options={**LOOKUP, **NO_REPEATS}, loaded=40, nulls=0.9),
    Updates(
        "a group",
        values=GROUPS,
        options={**LOOKUP, "fields.g.sequence-group": "a,x,y"},
        kinds=WITH_DELETES,
        loaded=30,
        compacted=(1, 4),
    ),
    Updates(
        "deletes that remove",
        options={**LOOKUP, "partial-update.remove-record-on-delete": "true"},
        kinds=WITH_DELETES,
        loaded=40,
        compacted=(2,),
    ),
    Updates("sums", NUMBERS, {**SUMS, **LOOKUP}, loaded=40, compacted=(1, 3)),
    Updates("sums that retract", NUMBERS, {**SUMS, **LOOKUP}, ("+I", "+U", "-D", "-U"), loaded=40),
    Updates("sums, repeats left out", NUMBERS, {**SUMS, **LOOKUP, **NO_REPEATS}, loaded=40, nulls=0.8),
    *SAME_ARRAYS,
    Updates("first rows", options=FIRST, loaded=40, key_values=60, compacted=(1,)),
    Updates("first rows, few are new", options=FIRST, loaded=2000, key_values=2100, written=30, commits=5),
    Updates("two levels", options={**NEWEST, **LOOKUP, "num-levels": "2"}, kinds=WITH_DELETES),
    Updates(
        "formats by level",
        options={**NEWEST, **LOOKUP, "file.format.per.level": "0:avro,5:orc"},
        kinds=WITH_DELETES,
        commits=4,
        compacted=(1,),
    ),
    Updates(
        "one file in another format",
        options={**NEWEST, **LOOKUP, "file.format.per.level": "0:avro"},
        kinds=("+I",),
        commits=1,
        compacted=(),
    ),
    Updates(
        "one file goes up",
        options={**NEWEST, **LOOKUP},
        kinds=("+I",),
        commits=1,
        compacted=(),
    ),
    Updates("no changelog", options={**NEWEST, "force-lookup": "true"}, kinds=WITH_DELETES, loaded=40),
    Updates("last values without a changelog", options={"force-lookup": "true"}, loaded=40, compacted=(1,)),
    Updates("sums without a changelog", NUMBERS, {**SUMS, "force-lookup": "true"}, loaded=40),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", BY_LOOKUP, ids=lambda case: case.name)
def test_lookups_write_the_changelog_of_java(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    has_changes = case.options.get("changelog-producer") == "lookup"
    for full in (False, True):
        assert bool(assert_changelogs_agree(oracle, original, tmp_path, full=full)) is has_changes


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", BY_LOOKUP[:19], ids=lambda case: case.name)
def test_lookups_in_many_tasks_and_passes_write_the_same(
    oracle: Oracle, case: Updates, tmp_path: Path
) -> None:
    original = case.make(oracle, tmp_path / "original")
    sizing = Sizing(1, Budget(1 << 20))
    for full in (False, True):
        assert assert_changelogs_agree(oracle, original, tmp_path, full=full, sizing=sizing)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", ["few changes of many keys", "few last values of many", "first rows, few are new"]
)
@pytest.mark.parametrize("key", ["INT NOT NULL", "STRING NOT NULL"])
def test_only_what_may_have_the_keys_is_read(
    oracle: Oracle, name: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever size the levels above have, the keys are known before they are read."""
    (case,) = (case for case in BY_LOOKUP if case.name == name)
    original = replace(case, key=key).make(oracle, tmp_path / "original")
    monkeypatch.setattr(merge_task, "WORTH_BYTES", 0)
    assert assert_changelogs_agree(oracle, original, tmp_path, full=False)


UPGRADED = Updates(
    "files are upgraded",
    options={**NEWEST, **FULL, "target-file-size": "1 b"},
    kinds=("+I",),
    commits=1,
    compacted=(),
)


def test_upgraded_files_are_read_for_the_changelog(oracle: Oracle, tmp_path: Path) -> None:
    original = UPGRADED.make(oracle, tmp_path / "original")
    changes = assert_changelogs_agree(oracle, original, tmp_path, full=True, alike=False)
    assert {row[0] for row in changes} == {"+I"}
    assert len(changes) == len(oracle.read(original))


def test_a_delete_that_an_overwrite_left_at_the_top_counts_as_a_row(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path / "original", "db.t")
    oracle.create_table(table, PLAIN, ["id"], options={"bucket": "1", "write-only": "true", **FULL})
    oracle.write(table, [["-D", 1, "gone", 1], ["+I", 2, "b", 2]], overwrite_partition={})
    oracle.write(table, [["+I", 1, "new", 3]])
    changes = assert_changelogs_agree(oracle, table, tmp_path, full=True)
    assert changes == [["-U", 1, "gone", 1], ["+U", 1, "new", 3]]


UPGRADED_BELOW_THE_TOP = Updates(
    "files are upgraded below the top",
    options={**NEWEST, **LOOKUP, "target-file-size": "1 b"},
    kinds=WITH_DELETES,
    loaded=3000,
    key_values=3100,
    written=300,
    commits=1,
    compacted=(),
)


def test_keys_of_upgraded_files_are_looked_up(oracle: Oracle, tmp_path: Path) -> None:
    original = UPGRADED_BELOW_THE_TOP.make(oracle, tmp_path / "original")
    changes = assert_changelogs_agree(oracle, original, tmp_path, full=False, alike=False)
    assert {row[0] for row in changes} == {"+I", "-U", "+U", "-D"}


def test_files_above_the_top_level_block_full_compactions(oracle: Oracle, tmp_path: Path) -> None:
    """Java writes no changelog of them, so that streams would miss all changes."""
    table = make_plain(oracle, tmp_path, commits=2, **FULL)
    run_inline(table)
    append(oracle, table)
    oracle.alter_table(table, {"set_option": ["num-levels", "3"]})
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    assert "num-levels to 6" in str(refused.value)


@pytest.mark.parametrize("engine", ["deduplicate", "first-row"])
def test_combinations_that_paimon_refuses(oracle: Oracle, engine: str, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    options = {"bucket": "1", "merge-engine": engine}
    oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
    (file,) = (table.folder / "schema").iterdir()
    schema = json.loads(file.read_text())
    schema["options"].update({**FULL, "force-lookup": "true"})
    file.write_text(json.dumps(schema))
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    assert len(refused.value.reasons) == (2 if engine == "first-row" else 1)


def test_values_that_cannot_be_compared_are_refused(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    columns = {"id": "INT NOT NULL", "m": "MAP<STRING, INT>", "r": "ARRAY<MAP<STRING, INT>>"}
    options = {"bucket": "1", **LOOKUP, **NO_REPEATS}
    oracle.create_table(table, columns, primary_key=["id"], options=options)
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    assert [reason.split()[1] for reason in refused.value.reasons] == ["m", "r"]
    ignored = {"set_option": ["changelog-producer.row-deduplicate-ignore-fields", "m,r"]}
    oracle.alter_table(table, ignored)
    oracle.write(table, [["+I", 1, [], []]])
    assert run_inline(table).status == "Compacted"


def test_changelog_files_must_hold_every_type(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    options = {"bucket": "1", **LOOKUP, "changelog-file.format": "orc"}
    oracle.create_table(table, {"id": "INT NOT NULL", "m": "MULTISET<INT>"}, ["id"], options=options)
    oracle.write(table, [["+I", 1, None]])
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    assert refused.value.reasons == ("column m: MULTISET in ORC files",)


@pytest.mark.parametrize("producer", ["none", "input"])
def test_producers_that_leave_the_changelog_to_writers(oracle: Oracle, producer: str, tmp_path: Path) -> None:
    original = make_plain(oracle, tmp_path / "original", **{"changelog-producer": producer})
    assert not assert_changelogs_agree(oracle, original, tmp_path, full=False)
    assert not assert_changelogs_agree(oracle, original, tmp_path, full=True)


def test_streams_go_on_after_a_compaction(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    options = {"bucket": "1", "write-only": "true", **FULL}
    oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
    append(oracle, table, "first")
    run_inline(table)
    append(oracle, table, "second")
    run_inline(table)
    stream = oracle.changelog(table, from_snapshot=1)
    assert [sorted({row[0] for row in rows}) for rows in stream.values()] == [["+I"], ["+U", "-U"]]
    assert run_inline(table).status == "NothingToDo"


REMOVING = {
    "fields.g.sequence-group": "a",
    "fields.h.sequence-group": "b",
    "partial-update.remove-record-on-sequence-group": "g",
}


@pytest.mark.parametrize("options", [LOOKUP, {"deletion-vectors.enabled": "true"}], ids=["lookup", "vectors"])
def test_small_files_of_several_tasks_are_joined_without_merging_rows_again(
    oracle: Oracle, options: dict[str, str], tmp_path: Path
) -> None:
    """What a delete leaves in a group without order is lost when the row is merged once more."""
    table = Table(tmp_path / "original", "db.t")
    columns = {"id": "INT NOT NULL", **dict.fromkeys("gahb", "INT")}
    of_table = {"bucket": "1", "merge-engine": "partial-update", "write-only": "true", **REMOVING, **options}
    oracle.create_table(table, columns, ["id"], options=of_table)
    for row in (["-D", 1, 1, None, 7], ["+I", 2, 2, None, None]):
        for first in range(0, 4000, 1000):
            oracle.write(table, [[row[0], key, *row[1:]] for key in range(first, first + 1000)])
    sizing = Sizing(1, Budget(1 << 20))
    java, ours = (copy_of(table, tmp_path / name) for name in ("java", "ours"))
    oracle.manager_round(java, full=True, commit=True)

    run_inline(ours, full=True, sizing=sizing)

    assert oracle.read(ours) == oracle.read(java)
    assert oracle.read(ours)[0] == ["+I", 0, 2, 2, None, 7]
