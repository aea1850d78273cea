"""Random histories against a model of sets: after each expiry there is what something needs, and no more."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from lithify.clock import SystemClock, moment_of
from lithify.formats.paimon.maintenance.deleting import phases
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.options.retention_options import ChangelogRetention, RetentionOptions
from support.small_tables import SmallTable
from support.snapshot_model import NOW, SnapshotModel

STEPS = 24
ALL = (1 << 31) - 1


class Standing(SystemClock):
    """A clock that stands."""

    def now(self) -> datetime:
        return moment_of(NOW).astimezone(UTC)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    return SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()


def expiry(model: SnapshotModel) -> SnapshotExpiry:
    random = model.random
    least = random.choice([1, 1, 2, 3])
    minutes = random.choice([0, 0, 990, 995])
    millis = minutes * 60_000
    options = RetentionOptions(
        least=least,
        most=random.choice([least, least + 2, ALL]),
        millis=millis,
        limit=random.choice([1, 4, ALL]),
        changelogs=changelogs(model, least, millis) if model.is_outlived else None,
    )
    return SnapshotExpiry(model.table, options, timedelta(minutes=random.choice([0, 10, 992])))


def changelogs(model: SnapshotModel, least: int, millis: int) -> ChangelogRetention:
    """Changelogs are kept longer than snapshots; each is a file of its own."""
    least += model.random.choice([1, 2, 4])
    most = model.random.choice([least, least + 2, ALL])
    return ChangelogRetention(least, most, millis + model.random.choice([0, 120_000]), is_of_files=True)


def expire(model: SnapshotModel) -> None:
    """Expires snapshots, now and then after a run that was killed."""
    made = expiry(model)
    plan = made.plan(Standing())
    if model.random.random() < 0.3:
        paths = [path for phase in phases(plan.doomed) for path in phase]
        if not plan.becoming and not plan.changelogs:
            paths += [model.table.snapshots.path(number) for number in plan.snapshots]
        for path in paths[: model.random.randint(0, len(paths))]:
            Path(path).unlink()
        plan = made.plan(Standing())
    gone = [number for number in model.main if plan.end is not None and number < plan.end.id]
    made.execute(plan)
    model.forget(gone, plan.becoming)
    model.forget_changelogs(plan.changelogs)
    assert model.files() == model.expected()


TURNS: list[tuple[Callable[[SnapshotModel], None], float]] = [
    (SnapshotModel.commit, 12),
    (SnapshotModel.tag, 3),
    (SnapshotModel.untag, 1),
    (SnapshotModel.branch, 1),
    (SnapshotModel.commit_to_branch, 2),
    (SnapshotModel.roll_back, 0.7),
    (SnapshotModel.consume, 0.7),
    (expire, 5),
]


@pytest.mark.thorough
@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(300))
def test_folder_has_what_something_needs_and_no_more(empty: SmallTable, tmp_path: Path, seed: int) -> None:
    shutil.copytree(empty.warehouse, tmp_path / "warehouse")
    model = SnapshotModel(Random(seed), SmallTable(tmp_path / "warehouse"))
    model.is_outlived = model.random.random() < 0.5
    model.commit()
    for turn in model.random.choices(*zip(*TURNS, strict=True), k=STEPS):
        turn(model)
    expire(model)
