"""Tables that keep the first row are compacted as Java compacts them, and no key comes twice."""

from __future__ import annotations

import json
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

FIRST = {"merge-engine": "first-row"}

CASES = [
    Updates("first rows", options=FIRST, key_values=60),
    Updates("never compacted before", options=FIRST, compacted=()),
    Updates("compacted often", options=FIRST, compacted=(1, 2, 4, 5), commits=8, key_values=90),
    Updates(
        "few new rows over many",
        options=FIRST,
        values={"a": "DOUBLE", "b": "DOUBLE", "c": "BIGINT", "d": "STRING"},
        loaded=4000,
        key_values=4200,
        written=25,
        commits=6,
        compacted=(2,),
    ),
    Updates("two levels", options={**FIRST, "num-levels": "2"}),
    Updates("every file rewritten", options={**FIRST, "compaction.force-rewrite-all-files": "true"}),
    Updates("thin files", options={**FIRST, "data-file.thin-mode": "true"}, compacted=(1, 3)),
    Updates("orc", options={**FIRST, "file.format": "orc"}, compacted=(1, 3)),
    Updates("avro", options={**FIRST, "file.format": "avro"}, compacted=(1, 3)),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_java_compacts_them(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    for full in (False, True):
        assert_compacted_as_by_java(oracle, original, tmp_path, full=full)
        assert_compacted_as_by_java(
            oracle, original, tmp_path / "in passes", full=full, sizing=Sizing(1, Budget(1 << 20))
        )


DELETES = Updates("deletes", options=FIRST, kinds=("+I", "-D", "-U"), compacted=())


def test_deletes_are_refused_where_java_fails_over_them(oracle: Oracle, tmp_path: Path) -> None:
    original = DELETES.make(oracle, tmp_path / "original")
    with pytest.raises(OracleError):
        oracle.manager_round(copy_of(original, tmp_path / "java"), full=True, commit=True)
    with pytest.raises(UnsupportedTable):
        run_inline(original)


def test_old_deletes_are_passed_over(oracle: Oracle, tmp_path: Path) -> None:
    """Files have deletes from before the table was told to ignore them."""
    columns = {"id": "INT NOT NULL", "v": "STRING"}
    table = Table(tmp_path / "original", "db.t")
    oracle.create_table(table, columns, ["id"], options={"bucket": "1", "write-only": "true", **FIRST})
    oracle.write(table, [["-D", 1, "a"], ["+I", 2, "b"]])
    oracle.write(table, [["+I", 1, "c"], ["-U", 2, "d"]])
    oracle.alter_table(table, {"set_option": ["first-row.ignore-delete", "true"]})
    assert_compacted_as_by_java(oracle, table, tmp_path, full=True)
    oracle.write(table, [["+I", 3, "e"]])
    assert_compacted_as_by_java(oracle, table, tmp_path / "again", full=True)


def test_a_key_of_which_only_deletes_are_left_vanishes(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path / "original", "db.t")
    options = {"bucket": "1", "write-only": "true", **FIRST}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "STRING"}, ["id"], options=options)
    oracle.write(table, [["-D", 1, "a"], ["+I", 2, "b"]])
    oracle.write(table, [["+I", 2, "c"]])
    oracle.alter_table(table, {"set_option": ["ignore-delete", "true"]})
    with pytest.raises(OracleError):
        oracle.manager_round(copy_of(table, tmp_path / "java"), full=True, commit=True)
    assert run_inline(table).status == "Compacted"
    assert oracle.read(table) == [["+I", 2, "b"]]


def test_a_sequence_field_is_refused(oracle: Oracle, tmp_path: Path) -> None:
    columns = {"id": "INT NOT NULL", "v": "STRING"}
    options = {"bucket": "1", "sequence.field": "v"}
    with pytest.raises(OracleError):
        oracle.create_table(Table(tmp_path / "java", "db.t"), columns, ["id"], options={**options, **FIRST})
    table = Table(tmp_path / "ours", "db.t")
    oracle.create_table(table, columns, ["id"], options=options)
    oracle.write(table, [["+I", 2, "c"]])
    (file,) = (table.folder / "schema").iterdir()
    schema = json.loads(file.read_text())
    schema["options"].update(FIRST)
    file.write_text(json.dumps(schema))
    with pytest.raises(UnsupportedTable) as caught:
        run_inline(table)
    assert "sequence.field" in caught.value.reasons[0]
