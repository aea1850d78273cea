"""Tables that keep the first row are compacted as Java compacts them, and no key comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from lithify.rewriting.budget import Budget
from lithify.tables.format import Sizing
from support.comparing.updates import Updates, assert_compacted_as_by_java

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_java_compacts_them(oracle: Oracle, case: Updates, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    for full in (False, True):
        assert_compacted_as_by_java(oracle, original, tmp_path, full=full)
        assert_compacted_as_by_java(
            oracle, original, tmp_path / "in passes", full=full, sizing=Sizing(1, Budget(1 << 20))
        )
