"""Keys that ORC stores out of order: Java keeps several rows of one key, and Lithify refuses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import CorruptTable
from support.runs import run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

LAST_SECOND, EPOCH = "1969-12-31T23:59:59.5", "1970-01-01T00:00:00"
WITH_ZONE = " WITH LOCAL TIME ZONE"


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys that are in order in Java's memory, but not in the file.

    Attributes:
        kind: the type of the key column.
        stored: the two keys of the first file.
        read: how Java reads the second of them, which a later file has again.
    """

    kind: str
    stored: tuple[str, str]
    read: str


CASES = [
    Keys("CHAR(3)", ("a\x01", "a  "), "a"),
    *(
        Keys(f"TIMESTAMP({digits}){zone}", (LAST_SECOND, EPOCH), EPOCH)
        for digits in (3, 6, 9)
        for zone in ("", WITH_ZONE)
    ),
]


def make(
    oracle: Oracle, warehouse: Path, kind: str, *commits: Sequence[str], file_format: str = "orc"
) -> Table:
    """A table whose second key column has the keys of each commit."""
    table = Table(warehouse, "db.t")
    columns = {"a": "INT NOT NULL", "k": f"{kind} NOT NULL", "v": "INT"}
    oracle.create_table(table, columns, ["a", "k"], options={"bucket": "1", "file.format": file_format})
    for number, keys in enumerate(commits):
        oracle.write(table, [["+I", 1, key, number] for key in keys])
    return table


@pytest.mark.parametrize("keys", CASES, ids=lambda keys: keys.kind)
def test_orc_keys_that_java_keeps_twice_are_refused_and_stay(
    oracle: Oracle, tmp_path: Path, keys: Keys
) -> None:
    table = make(oracle, tmp_path / "ours", keys.kind, keys.stored, keys.stored[1:])
    rows, files = oracle.read(table), oracle.files(table)
    twin = copy_of(table, tmp_path / "java")
    oracle.manager_round(twin, full=True, commit=True)
    of_one_key = [row for row in oracle.read(twin) if row[2] == keys.read]
    assert [row[3] for row in of_one_key] == [0, 1], "sorting the run would leave one of these rows"

    with pytest.raises(CorruptTable):
        run_inline(table, full=True)

    assert (oracle.read(table), oracle.files(table)) == (rows, files)


@pytest.mark.parametrize("keys", CASES, ids=lambda keys: keys.kind)
def test_advice_to_write_parquet_keeps_such_keys_in_order(oracle: Oracle, tmp_path: Path, keys: Keys) -> None:
    corrected = [keys.stored[0], keys.read] if keys.kind.startswith("TIMESTAMP") else [keys.read, "a\x01"]
    table = make(oracle, tmp_path / "ours", keys.kind, corrected, corrected[1:], file_format="parquet")
    twin = copy_of(table, tmp_path / "java")
    oracle.manager_round(twin, full=True, commit=True)

    run_inline(table, full=True)

    assert oracle.read(table) == oracle.read(twin)
    assert len(oracle.read(table)) == 2
