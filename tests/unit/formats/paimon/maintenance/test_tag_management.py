"""Tags of a small table: what is created and deleted, what is refused, and what comes in between."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lithify.errors import CorruptTable, StalePlan, UnsupportedTable
from lithify.formats.paimon.maintenance.tag_management import TagManagement
from lithify.formats.paimon.opening import open_table
from support.managed_tags import tag_management
from support.runs import ShiftedClock
from support.small_tables import SmallTable

HOURLY = {"tag.automatic-creation": "process-time", "tag.creation-period": "hourly"}
NOON = 1_767_268_800_000
"""2026-01-01 12:00 in UTC."""
HOUR = 3_600_000
CLOCK = ShiftedClock()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    """Four snapshots, two hours apart, from noon on."""
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    table.append()
    table.overwrite("a")
    table.overwrite("b")
    table.append()
    for number in table.numbers:
        change(table, f"snapshot/snapshot-{number}", timeMillis=NOON + 2 * HOUR * (number - 1))
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse", commits=model.commits)


def change(small: SmallTable, path: str, **changes: Any) -> None:
    place = small.folder / path
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))


def managed(small: SmallTable, **options: str) -> TagManagement:
    named = {f"tag.{name.replace('_', '-')}": value for name, value in options.items()}
    return tag_management(open_table(small.address), {**HOURLY, **named})


def tags(small: SmallTable) -> dict[str, int]:
    paths = [path for path in (small.folder / "tag").glob("tag-*") if path.is_file()]
    return {path.name.removeprefix("tag-"): json.loads(path.read_text())["id"] for path in sorted(paths)}


def files(small: SmallTable) -> set[str]:
    paths = (path for path in small.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(small.folder)) for path in paths}


def run(small: SmallTable, **options: str) -> dict[str, int]:
    made = managed(small, **options)
    return dict(made.execute(made.plan(CLOCK)).figures)


def test_each_period_that_has_ended_gets_a_tag(small: SmallTable) -> None:
    found = run(small, creation_period="hourly")
    assert found["createdTags"] == 4
    assert tags(small) == {
        "2026-01-01 11": 1,
        "2026-01-01 13": 2,
        "2026-01-01 15": 3,
        "2026-01-01 17": 4,
    }
    assert run(small)["createdTags"] == 0


def test_plan_writes_nothing(small: SmallTable) -> None:
    before = files(small)
    plan = managed(small).plan(CLOCK)
    assert plan.samples[0] == "create 2026-01-01 11 of snapshot 1"
    assert files(small) == before


def test_table_without_options_has_nothing_to_do(small: SmallTable) -> None:
    plan = tag_management(open_table(small.address), {}).plan(CLOCK)
    assert plan.is_empty
    assert not any(plan.figures.values())


def test_tag_whose_time_is_over_goes_without_other_options(small: SmallTable) -> None:
    run(small, default_time_retained="1 h")
    change(small, "tag/tag-2026-01-01 13", tagCreateTime=[2026, 1, 1, 0, 0])
    kind = tag_management(open_table(small.address), {})
    kind.execute(kind.plan(CLOCK))
    assert [*tags(small)] == ["2026-01-01 11", "2026-01-01 15", "2026-01-01 17"]


def test_tag_with_a_time_that_nobody_knows_stays(small: SmallTable) -> None:
    run(small, default_time_retained="1 h")
    change(small, "tag/tag-2026-01-01 13", tagCreateTime="2020-01-01T00:00", tagTimeRetained="PT1H")
    assert run(small)["deletedTags"] == 0


def test_only_the_newest_tags_are_made_where_few_are_kept(small: SmallTable) -> None:
    assert run(small, num_retained_max="2")["createdTags"] == 2
    assert tags(small) == {"2026-01-01 15": 3, "2026-01-01 17": 4}


def test_tags_of_one_snapshot_count_once_and_none_of_them_goes_by_number(small: SmallTable) -> None:
    """Java counts snapshots, and fails before it deletes one of two tags."""
    run(small)
    small.append()
    change(small, "snapshot/snapshot-5", timeMillis=NOON + 8 * HOUR)
    place = small.folder / "tag"
    shutil.copy(place / "tag-2026-01-01 15", place / "tag-2026-01-01 14")
    assert run(small, num_retained_max="3")["deletedTags"] == 2
    assert [*tags(small)] == ["2026-01-01 14", "2026-01-01 15", "2026-01-01 17", "2026-01-01 19"]

    (place / "tag-2026-01-01 19").unlink()
    with pytest.raises(CorruptTable, match="2026-01-01 14 and 2026-01-01 15"):
        run(small, num_retained_max="2")
    assert len(tags(small)) == 3


def test_deleted_tag_of_an_expired_snapshot_takes_its_files(small: SmallTable) -> None:
    run(small)
    small.expire(keep=1)  # only the snapshots
    before = files(small)
    change(small, "tag/tag-2026-01-01 11", tagCreateTime=[2020, 1, 1, 0, 0], tagTimeRetained=1)
    found = run(small)
    gone = before - files(small)
    assert found["deletedTags"] == 1
    assert found["dataFiles"] == len([path for path in gone if "bucket-" in path]) > 0
    assert sum(found.values()) == len(gone)


def test_success_files_come_and_go_with_tags(small: SmallTable) -> None:
    run(small, create_success_file="true", default_time_retained="1 h")
    success = small.folder / "tag" / "tag-success-file" / "2026-01-01 13_SUCCESS"
    assert success.exists()
    change(small, "tag/tag-2026-01-01 13", tagCreateTime=[2026, 1, 1, 0, 0])
    run(small)
    assert not success.exists()


def test_plan_is_stale_once_somebody_makes_a_tag(small: SmallTable) -> None:
    made = managed(small)
    plan = made.plan(CLOCK)
    (small.folder / "tag").mkdir()
    (small.folder / "tag" / "tag-late").write_text(json.dumps(small.snapshot(1)))
    before = files(small)
    with pytest.raises(StalePlan):
        made.execute(plan)
    assert files(small) == before


def test_plan_is_stale_if_a_snapshot_is_gone_that_would_get_a_tag(small: SmallTable) -> None:
    made = managed(small)
    plan = made.plan(CLOCK)
    small.expire(keep=2)
    with pytest.raises(StalePlan, match="snapshot 1 expired"):
        made.execute(plan)
    assert tags(small) == {}


@pytest.mark.parametrize("option", ["tag.callbacks", "metastore.tag-to-partition"])
def test_those_who_are_told_of_tags_are_refused(small: SmallTable, option: str) -> None:
    small.set_option(option, "x")
    with pytest.raises(UnsupportedTable, match=option):
        managed(small).plan(CLOCK)
