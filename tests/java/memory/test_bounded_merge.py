"""A bucket ten times the memory budget, however many runs it has and however wide its rows are.

The address space of the process may grow by a fixed amount only (RLIMIT_AS), in which the bucket does not fit
once, let alone the two copies that a merge of everything at once would make; and resident memory is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.runs import start

pytestmark = pytest.mark.oracle

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Case:
    """A bucket and what merging it may take.

    Attributes:
        name: a telling id.
        rows: rows written, in so many `commits`.
        commits: level-0 runs.
        text: bytes of each of the two texts of a row.
        budget: bytes that the merge may hold; the bucket is at least ten times as large.
        headroom: bytes by which the address space may grow; the kernel counts what allocators and threads
            reserve as well as what they use. PyArrow reads ORC in threads of its own, which reserve much.
        allowed: bytes by which resident memory may grow. Beyond the budget that is what Parquet does not let
            a reader divide: Java ends a page after 100 rows at the earliest, whatever their width.
        options: options of the table.
        nested: how many numbers there are in an array within a row, instead of the second text.
        variant: how many numbers there are in an object of a VARIANT, instead of the second text.
    """

    name: str
    rows: int
    commits: int
    text: int
    budget: int
    headroom: int
    allowed: int
    options: Mapping[str, str] = field(default_factory=dict)
    nested: int = 0
    variant: int = 0

    def columns(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Types and values of the columns beside the key."""
        text: dict[str, Any] = {"kind": "random", "min": self.text, "max": self.text}
        number: dict[str, Any] = {"kind": "random", "max": 1 << 40}
        if self.variant:
            return {
                "a": ("STRING", text),
                "b": ("VARIANT", {"kind": "nested", "items": self.variant, "of": number}),
            }
        if not self.nested:
            return {"a": ("STRING", text), "b": ("STRING", text)}
        numbers: dict[str, Any] = {"kind": "nested", "items": self.nested, "of": number}
        return {"a": ("STRING", text), "b": ("ROW<x ARRAY<BIGINT>>", {"kind": "nested", "of": numbers})}


CASES = [
    Case(
        *("two runs", 700_000, 2, 150, 10 * MIB, 512 * MIB, 50 * MIB),
        options={"parquet.bloom.filter.enabled": "true"},
    ),
    Case("500 runs", 700_000, 500, text=150, budget=12 * MIB, headroom=512 * MIB, allowed=65 * MIB),
    Case("rows of 1 MiB", 800, 6, text=MIB // 2, budget=32 * MIB, headroom=1024 * MIB, allowed=320 * MIB),
    Case(
        *("shredded variants", 240_000, 2, 450, 6 * MIB, 512 * MIB, 50 * MIB),
        options={"variant.inferShreddingSchema": "true"},
        variant=10,
    ),
    Case(
        *("ORC", 500_000, 6, 150, 10 * MIB, 2048 * MIB, 80 * MIB), options={"file.format": "orc"}, nested=30
    ),
    Case(
        *("Avro", 420_000, 6, 150, 10 * MIB, 512 * MIB, 60 * MIB), options={"file.format": "avro"}, nested=30
    ),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_memory_stays_within_bounds(oracle: Oracle, tmp_path: Path, case: Case) -> None:
    table = Table(tmp_path, "db.t")
    columns = case.columns()
    oracle.create_table(
        table,
        {"id": "BIGINT NOT NULL", **{name: kind for name, (kind, _) in columns.items()}},
        primary_key=["id"],
        options={
            "bucket": "1",
            "write-buffer-size": "1 gb",
            "target-file-size": "1 gb",
            **case.options,
        },
    )
    specs = {name: spec for name, (_, spec) in columns.items()}
    oracle.generate(table, rows=case.rows, commits=case.commits, columns=specs)
    before = oracle.digest(table)
    files = oracle.files(table)
    assert len(files) == case.commits
    assert sum(file.size for file in files) >= 10 * case.budget

    outcome = start(table, "--budget", str(case.budget), "--headroom", str(case.headroom)).wait()

    assert outcome.code == 0, outcome.error
    assert outcome.report["grown_by"] <= case.allowed
    assert oracle.digest(table) == before
    assert {file.level for file in oracle.files(table)} == {5}
