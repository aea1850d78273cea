"""A plan for people and as JSON: each unit with its reason, and how many buckets rest."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lithify.cli.render_plan import plan_dict, plan_view
from lithify.clock import SystemClock
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.planning.merge_tree.rewrites import UnitWork
from lithify.formats.paimon.primary_key.planning import RunPlan, plan_run
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.orders_table import BUCKETS, NAME, make_orders, without_snapshots
from unit.cli.conftest import Lithify, named
from unit.cli.screen import text_of

MARKED = BucketId(b"", 0, "[red]dt=1[/red]:bug:/bucket-0")


@pytest.fixture
def table(orders: TableAddress) -> PaimonTable:
    return open_table(orders)


@pytest.fixture
def plan(table: PaimonTable) -> RunPlan:
    view = table.view(Selection())
    assert view is not None
    return plan_run(BucketPlanner(table, view, Strategy.FULL, SystemClock()))


def test_where_no_trigger_fires_the_next_command_is_named(lithify: Lithify, orders: TableAddress) -> None:
    quiet = lithify("plan", *named(orders), "--option", "num-sorted-run.compaction-trigger=99")
    assert "lithify inspect" in quiet.out
    assert "lithify inspect" not in lithify("plan", *named(orders), "--strategy", "full").out


class TestJson:
    def test_json_of_a_plan_lists_units_by_bucket(self, lithify: Lithify, orders: TableAddress) -> None:
        found = lithify("plan", *named(orders), "--strategy", "full", "--json").json
        assert list(found) == ["table", "snapshot", "units", "resting", "left", "blocked"]
        assert (found["table"], found["snapshot"], found["resting"]) == (NAME, "3", {})
        assert [unit["bucket"] for unit in found["units"]] == BUCKETS

    def test_json_of_a_unit_names_its_files_and_bytes(self, lithify: Lithify, orders: TableAddress) -> None:
        found = lithify("plan", *named(orders), "--strategy", "full", "--bucket", "1", "--json").json
        for unit in found["units"]:
            folder = Path(orders.warehouse, "shop.db", "orders", unit["bucket"])
            assert list(unit) == [
                *("bucket", "trigger", "detail", "output_level", "drops_deletes"),
                *("bytes", "rewrites", "upgrades"),
            ]
            assert (unit["trigger"], unit["output_level"], unit["drops_deletes"]) == ("Full", 5, True)
            assert unit["detail"]
            assert unit["upgrades"] == []
            (rewrite,) = unit["rewrites"]
            assert sorted(rewrite) == sorted(path.name for path in folder.glob("data-*"))
            assert unit["bytes"] == sum((folder / name).stat().st_size for name in rewrite)

    def test_upgraded_files_are_listed_and_read_no_bytes(self, plan: RunPlan) -> None:
        first = plan.units[0]
        upgrading = replace(first, work=UnitWork((), first.files[:2]))
        plain = plan_dict(NAME, replace(plan, units=(upgrading,)))
        (unit,) = json.loads(json.dumps(plain))["units"]
        assert (unit["upgrades"], unit["rewrites"]) == ([file.name for file in first.files[:2]], [])
        assert unit["bytes"] == 0

    def test_resting_buckets_are_counted_by_reason(self, lithify: Lithify, orders: TableAddress) -> None:
        found = lithify("plan", *named(orders), "--json").json
        assert (found["units"], found["resting"]) == ([], {"no trigger fired": 4})

    def test_of_a_table_that_nobody_wrote_to(
        self, lithify: Lithify, orders: TableAddress, tmp_path: Path
    ) -> None:
        table = without_snapshots(orders, tmp_path / "warehouse")
        found = lithify("plan", *named(table), "--json").json
        nothing = {"snapshot": None, "units": [], "resting": {}, "left": 0, "blocked": []}
        assert found == {"table": NAME, **nothing}
        assert "no snapshot yet" in lithify("plan", *named(table)).out


class TestPicture:
    def test_has_a_line_for_each_unit(self, lithify: Lithify, orders: TableAddress) -> None:
        ended = lithify("plan", *named(orders), "--strategy", "full")
        headline, columns, *units = ended.out.splitlines()
        assert (ended.code, ended.err) == (0, "")
        assert [fact for fact in (NAME, "snapshot 3", "4 buckets") if fact not in headline] == []
        assert "reason" in columns
        assert [line.split()[:5] for line in units] == [
            [bucket, "Full", "5", "3", "files"] for bucket in BUCKETS
        ]

    def test_says_why_buckets_rest(self, lithify: Lithify, orders: TableAddress) -> None:
        out = lithify("plan", *named(orders)).out
        assert "0 buckets to compact" in out
        assert "4 buckets: no trigger fired" in out

    def test_reasons_are_those_of_the_triggers(self, lithify: Lithify, orders: TableAddress) -> None:
        words = [*named(orders), "--option", "num-sorted-run.compaction-trigger=1"]
        units = lithify("plan", *words, "--json").json["units"]
        seen = lithify("plan", *words).out
        assert len(units) == 4
        assert [unit["detail"] for unit in units if unit["detail"] not in seen] == []
        assert [unit["trigger"] for unit in units if unit["trigger"] not in seen] == []

    @pytest.mark.parametrize("width", [40, 60, 80])
    def test_narrow_terminals_cut_no_bucket_and_no_reason(self, plan: RunPlan, width: int) -> None:
        seen = text_of(plan_view(NAME, plan), width)
        assert [unit.group.path for unit in plan.units if unit.group.path not in seen] == []
        lines = [line.strip() for line in seen.splitlines()]
        for unit in plan.units:
            words = unit.reason.split()
            assert [word for word in words if word in lines] == [], "no word stands alone in a line"
            assert " ".join(words[:3]) in seen

    def test_has_no_levels_where_files_have_none(self, plan: RunPlan) -> None:
        without = [replace(unit, output_level=None) for unit in plan.units]  # type: ignore[arg-type]
        columns = text_of(plan_view(NAME, replace(plan, units=tuple(without)))).splitlines()[1].split()
        assert columns == ["bucket", "trigger", "rewrite", "bytes", "upgrade", "reason"]

    def test_names_are_not_markup(self, plan: RunPlan) -> None:
        marked = replace(plan, units=(replace(plan.units[0], bucket=MARKED),))
        assert MARKED.path in text_of(plan_view(NAME, marked))

    def test_names_of_tables_are_no_markup(self, lithify: Lithify, tmp_path: Path) -> None:
        table = make_orders(tmp_path, 1, "[red].[bold]orders")
        assert lithify("plan", *named(table)).out.startswith("[red].[bold]orders ")
