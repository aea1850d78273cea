"""One round of ours against one round of Java's real compaction manager, on copies of the same table."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from support.comparing.rounds import Round, assert_rounds_agree
from support.comparing.shapes import SHAPES, Shape
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

FOUND_BUGS = {
    "string made longer",
    "columns added whose parts must not be null",
    "nested columns of whose parts none is left",
}
CASES = [
    pytest.param(shape, id=shape.name, marks=[pytest.mark.always] if shape.name in FOUND_BUGS else [])
    for shape in SHAPES
]


@pytest.mark.sampled(32)
@pytest.mark.parametrize("shape", CASES)
def test_rounds_are_those_that_java_makes(oracle: Oracle, shape: Shape, tmp_path: Path) -> None:
    original = shape.make(oracle, tmp_path / "original")
    rows = oracle.read(original)
    before = oracle.files(original)
    for full in (False, True):
        java = copy_of(original, tmp_path / f"java, full={full}")
        oracle.manager_round(java, full=full, commit=True)
        ours = copy_of(original, tmp_path / f"ours, full={full}")
        run_inline(ours, full=full)

        assert oracle.read(ours) == rows
        of_ours, of_java = (Round(table, before, oracle.files(table)) for table in (ours, java))
        assert_rounds_agree(oracle, of_ours, of_java)
        assert stray_files(oracle, ours) == set()
