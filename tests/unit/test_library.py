"""`import lithify` shows the public names, and inspects, plans and compacts a table by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lithify
from lithify import library
from support.small_tables import SmallTable

FULL = lithify.Selection(strategy=lithify.Strategy.FULL)


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    made = SmallTable(tmp_path).create()
    made.append()
    made.append()
    return made


def test_every_public_name_exists_and_is_listed() -> None:
    assert set(library.__all__) <= set(dir(lithify))
    assert [getattr(lithify, name) for name in library.__all__] == [
        getattr(library, name) for name in library.__all__
    ]


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        lithify.compact_all  # type: ignore[attr-defined]  # noqa: B018


def test_importing_lithify_imports_no_engine() -> None:
    script = "import sys, lithify; print([name for name in sys.modules if name.startswith('lithify.')])"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_a_plan_is_what_compact_then_does(table: SmallTable) -> None:
    planned = lithify.plan(table.address, FULL)
    assert planned is not None

    report = lithify.compact(table.address, FULL, runner=lithify.InlineRunner())

    assert report.status == "Compacted"
    assert {group.group for group in report.groups} == {unit.group.path for unit in planned.units}
    assert report.after.files < report.before.files
    again = lithify.plan(table.address, FULL)
    assert again is not None
    assert list(again.units) == []


def test_inspect_describes_the_selected_groups(table: SmallTable) -> None:
    everything = lithify.inspect(table.address)
    one_bucket = lithify.inspect(table.address, lithify.Selection(buckets=frozenset({0})))
    assert len(one_bucket.groups) * 2 == len(everything.groups)


def test_a_run_that_is_started_again_reports_that_it_has_committed(table: SmallTable) -> None:
    runner = lithify.InlineRunner()
    lithify.compact(table.address, FULL, run="mine", runner=runner)
    assert lithify.compact(table.address, FULL, run="mine", runner=runner).status == "AlreadyCommitted"


def test_an_empty_table_has_no_plan(tmp_path: Path) -> None:
    assert lithify.plan(SmallTable(tmp_path).create().address) is None
