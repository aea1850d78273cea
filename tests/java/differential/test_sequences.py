"""Counters of sequence numbers that writers leave in snapshots, for the writers after them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.formats.paimon.commit.inherited_properties import GREATEST_SEQUENCE
from support.runs import run_inline

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize(
    ("properties", "expected"),
    [({}, None), ({GREATEST_SEQUENCE: "41"}, "41"), ({GREATEST_SEQUENCE: "2"}, "9")],
    ids=["none is kept", "of rows that are gone", "behind the files"],
)
def test_a_counter_is_handed_on_and_not_behind(
    oracle: Oracle, tmp_path: Path, properties: Mapping[str, str], expected: str | None
) -> None:
    table = Table(tmp_path, "db.t")
    options = {"bucket": "1", "write.sequence-number-init-mode": "snapshot"}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "STRING"}, ["id"], options=options)
    for version in range(2):
        oracle.write(table, [["+I", key, f"{version}"] for key in range(5)], properties=properties)
    rows = oracle.read(table)

    assert run_inline(table).status == "Compacted"

    newest = oracle.snapshots(table)[-1]
    assert newest["properties"].get(GREATEST_SEQUENCE) == expected
    assert max(file.max_sequence for file in oracle.files(table)) == 9
    oracle.compact(table, options={"compaction.force-rewrite-all-files": "true"})
    assert oracle.read(table) == rows
