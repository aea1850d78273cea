"""A partition several times the memory budget is sorted; resident memory is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.runs import start

pytestmark = pytest.mark.oracle

MIB = 1 << 20
BUDGET = 16 * MIB
ROWS = 300_000
ALLOWED = 120 * MIB
"""Beyond the budget that is what libraries take for themselves; the rows alone have more bytes than this."""


@pytest.mark.parametrize("strategy", ["order", "hilbert"])
def test_a_sort_stays_within_its_budget(oracle: Oracle, tmp_path: Path, strategy: str) -> None:
    table = Table(tmp_path, "db.t")
    options = {
        "clustering.incremental": "true",
        "clustering.columns": "a,b",
        "clustering.strategy": strategy,
    }
    oracle.create_table(table, {"a": "INT", "b": "INT", "v": "STRING"}, options=options)
    number, text = {"kind": "random", "min": 0}, {"kind": "random", "min": 600, "max": 600}
    oracle.generate(table, ROWS, commits=3, columns={"a": number, "b": number, "v": text})
    digest = oracle.digest(table)

    outcome = start(table, "--budget", str(BUDGET)).wait()

    assert outcome.code == 0, outcome.error
    assert outcome.report["grown_by"] <= ALLOWED < ROWS * 600
    assert oracle.digest(table) == digest
