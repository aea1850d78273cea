"""Canaries of tables of all shapes that Java makes: none raises a false alarm; some shapes are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.canary.refusals import canary_refusals
from lithify.formats.paimon.opening import open_table
from support.comparing.shapes import SHAPES, Shape
from support.runs import request, run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle


@pytest.mark.sampled(5)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_table_after_a_canary_is_that_after_a_run_without_one(
    oracle: Oracle, shape: Shape, tmp_path: Path
) -> None:
    table = shape.make(oracle, tmp_path / "original")
    other = copy_of(table, tmp_path / "other")
    plain = run_inline(other)
    reasons = [*canary_refusals(open_table(request(table).table))]
    if reasons:
        assert all(reason.startswith(("option ", "column ")) for reason in reasons)
        with pytest.raises(UnsupportedTable):
            run_inline(table, canary=True)
        return
    report = run_inline(table, canary=True)
    assert report.canary is not None
    assert (report.canary.groups > 0) == bool(report.groups)
    assert oracle.read(table) == oracle.read(other)
    assert [group.after for group in report.groups] == [group.after for group in plain.groups]
    assert stray_files(oracle, table) == set()
