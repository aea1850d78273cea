"""One round of ours against one round of Java's real compaction manager, on copies of the same table."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from support.comparing.rounds import check_rounds
from support.comparing.shapes import SHAPES, Shape

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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shape", CASES)
def test_rounds_are_those_that_java_makes(oracle: Oracle, shape: Shape, tmp_path: Path) -> None:
    check_rounds(oracle, shape.make(oracle, tmp_path / "original"), tmp_path)
