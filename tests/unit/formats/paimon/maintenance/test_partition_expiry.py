"""Expiry of partitions of a small table: what is due and dropped, what is refused, and races."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lithify.errors import InvalidOption, StalePlan, UnsupportedTable
from lithify.formats.paimon.maintaining import open_maintained
from lithify.formats.paimon.maintenance.partition_expiry import PartitionExpiry
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.maintenance import DEFAULT_SETTINGS, MaintenanceKind
from support.expired_partitions import partition_expiry
from support.runs import ShiftedClock
from support.small_tables import SmallTable

KEPT = "partition.expiration-time"
BY_FILES = {KEPT: "1 d", "partition.expiration-strategy": "update-time"}
LATER = ShiftedClock(timedelta(days=2))
DAYS = ("2020-01-01", "2020-01-02", "2999-01-01", "no day")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    table.append(*DAYS)
    table.append("2020-01-02", "2999-01-01")
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse", commits=model.commits)


def expiry(small: SmallTable, **options: str) -> PartitionExpiry:
    named = {f"partition.{name.replace('_', '-')}": value for name, value in options.items()}
    return partition_expiry(open_table(small.address), {KEPT: "7 d", **named})


def days(small: SmallTable) -> set[str]:
    """The days that have live files."""
    table = open_table(small.address)
    live = table.on_newest(table.manifests.live)
    return {table.locations.values(entry.partition).by_name["dt"] for entry in live or ()}


def files(small: SmallTable) -> set[str]:
    paths = (path for path in small.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(small.folder)) for path in paths}


def test_old_days_go_and_others_stay(small: SmallTable) -> None:
    made = expiry(small)
    plan = made.plan(ShiftedClock())
    assert plan.samples == ("dt=2020-01-01", "dt=2020-01-02")
    assert plan.figures == {"partitions": 2, "dataFiles": 6}
    before = files(small)

    done = made.execute(plan)

    assert (done.figures, done.samples, done.oldest) == (plan.figures, plan.samples, "1")
    assert days(small) == {"2999-01-01", "no day"}
    assert before <= files(small)
    last = small.snapshot(3)
    assert last["commitKind"] == "OVERWRITE"
    assert last["totalRecordCount"] == small.snapshot(2)["totalRecordCount"] + last["deltaRecordCount"]


def test_plan_writes_nothing(small: SmallTable) -> None:
    before = files(small)
    assert not expiry(small).plan(ShiftedClock()).is_empty
    assert files(small) == before


def test_second_expiry_has_nothing_to_do(small: SmallTable) -> None:
    made = expiry(small)
    made.execute(made.plan(ShiftedClock()))
    assert made.execute(made.plan(ShiftedClock())).figures == {"partitions": 0, "dataFiles": 0}
    assert small.numbers == [1, 2, 3]


def test_table_without_the_option_has_nothing_to_do(small: SmallTable) -> None:
    kind = open_maintained(small.address, DEFAULT_SETTINGS).kinds[MaintenanceKind.EXPIRE_PARTITIONS]()
    plan = kind.plan(ShiftedClock())
    assert plan.is_empty
    assert kind.execute(plan).figures == {"partitions": 0, "dataFiles": 0}


def test_options_of_the_table_count(small: SmallTable) -> None:
    small.set_option(KEPT, "7 d")
    kind = open_maintained(small.address, DEFAULT_SETTINGS).kinds[MaintenanceKind.EXPIRE_PARTITIONS]()
    kind.execute(kind.plan(ShiftedClock()))
    assert days(small) == {"2999-01-01", "no day"}


def test_only_the_first_go_at_a_time(small: SmallTable) -> None:
    plan = expiry(small, expiration_max_num="1").plan(ShiftedClock())
    assert plan.samples == ("dt=2020-01-01",)


def test_each_batch_is_a_commit(small: SmallTable) -> None:
    made = expiry(small, expiration_batch_size="1")
    made.execute(made.plan(ShiftedClock()))
    assert small.numbers == [1, 2, 3, 4]
    assert days(small) == {"2999-01-01", "no day"}


def test_days_whose_files_are_old_go(small: SmallTable) -> None:
    made = partition_expiry(open_table(small.address), BY_FILES)
    assert made.plan(ShiftedClock()).is_empty
    assert made.plan(LATER).figures["partitions"] == 4


def test_day_that_gets_a_file_after_the_plan_stays_if_files_decide(small: SmallTable) -> None:
    made = partition_expiry(open_table(small.address), {**BY_FILES, KEPT: "0 s"})
    plan = made.plan(ShiftedClock(timedelta(seconds=1)))
    plan = replace(plan, before_millis=newest_millis(small) + 1)
    small.append("2020-01-01")
    made.execute(plan)
    assert days(small) == {"2020-01-01"}


def test_day_that_gets_a_file_after_the_plan_goes_if_values_decide(small: SmallTable) -> None:
    made = expiry(small)
    plan = made.plan(ShiftedClock())
    small.append("2020-01-01")
    made.execute(plan)
    assert days(small) == {"2999-01-01", "no day"}


def test_plan_is_stale_if_nothing_of_it_is_left(small: SmallTable) -> None:
    made = expiry(small)
    plan = made.plan(ShiftedClock())
    expiry(small).execute(plan)
    before = files(small)
    with pytest.raises(StalePlan, match="it has no files any more"):
        made.execute(plan)
    assert {path for path in files(small) - before if "/attempts/" not in path} == set()


@pytest.mark.parametrize("kept", ["99999 d", "999999 d", "99999999 d"])
def test_dates_of_centuries_stay_for_centuries(small: SmallTable, kept: str) -> None:
    """1900 is what many people write for an unknown date, and 99999 days is for ever."""
    small.append("1900-01-01")
    assert expiry(small, expiration_time=kept).plan(ShiftedClock()).is_empty
    assert expiry(small, expiration_time=kept, expiration_strategy="update-time").plan(LATER).is_empty
    assert expiry(small, expiration_time="36500 d").plan(ShiftedClock()).figures["partitions"] == 1


def test_empty_table_has_nothing_to_do(tmp_path: Path) -> None:
    empty = SmallTable(tmp_path / "warehouse").create()
    assert expiry(empty).plan(ShiftedClock()).is_empty


def test_metastore_with_partitions_is_refused(small: SmallTable) -> None:
    small.set_option("metastore.partitioned-table", "true")
    with pytest.raises(UnsupportedTable, match=r"metastore\.partitioned-table"):
        expiry(small).plan(ShiftedClock())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("expiration-time", "soon"),
        ("expiration-strategy", "custom"),
        ("timestamp-formatter", "yyyy-DDD"),
        ("expiration-max-num", "0"),
        ("expiration-batch-size", "none"),
    ],
)
def test_values_that_are_not_known_are_refused_by_name(small: SmallTable, option: str, value: str) -> None:
    with pytest.raises(InvalidOption, match=f"partition.{option}"):
        partition_expiry(open_table(small.address), {KEPT: "1 d", f"partition.{option}": value}).plan(
            ShiftedClock()
        )


def test_value_that_is_not_known_does_not_stop_other_kinds(small: SmallTable) -> None:
    small.set_option(KEPT, "7 d")
    small.set_option("partition.timestamp-formatter", "yyyy-DDD")
    kinds = open_maintained(small.address, DEFAULT_SETTINGS).kinds
    assert kinds[MaintenanceKind.EXPIRE_SNAPSHOTS]().plan(ShiftedClock()).is_empty
    with pytest.raises(InvalidOption, match=r"partition\.timestamp-formatter"):
        kinds[MaintenanceKind.EXPIRE_PARTITIONS]().plan(ShiftedClock())


def newest_millis(small: SmallTable) -> int:
    table = open_table(small.address)
    return max(entry.file.created_millis for entry in table.on_newest(table.manifests.live) or ())
