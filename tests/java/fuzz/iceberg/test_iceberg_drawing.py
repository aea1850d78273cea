"""Histories of Iceberg tables have everything that is meant to be drawn, and can be cut down."""

from __future__ import annotations

from typing import get_args

from java.fuzz.iceberg.drawing import PARTITIONS, POINTS, draw
from java.fuzz.iceberg.history import Compact, EqualityDelete, Foreign, Step
from java.fuzz.iceberg.simpler import simpler
from java.fuzz.shrinking import smallest

HISTORIES = [draw(seed) for seed in range(300)]


def runs() -> list[Compact]:
    return [step for history in HISTORIES for step in history.steps if isinstance(step, Compact)]


def test_a_number_always_gives_the_same_history() -> None:
    assert draw(7) == draw(7) != draw(8)


def test_every_version_has_every_partition_spec() -> None:
    drawn = {(history.version, history.partitions) for history in HISTORIES}
    assert drawn == {(version, partitions) for version in (1, 2, 3) for partitions in PARTITIONS}


def test_others_do_everything_alone_and_beside_runs() -> None:
    alone = {type(step) for history in HISTORIES for step in history.steps}
    beside = {type(step) for run in runs() for _, step in run.beside}
    assert alone == beside == {*get_args(Foreign), Compact}
    assert {point for run in runs() for point, _ in run.beside} == set(POINTS)


def test_a_history_is_cut_down_to_what_it_takes() -> None:
    def has_both(steps: tuple[Step, ...]) -> bool:
        kinds = [type(step) for step in steps]
        return EqualityDelete in kinds and Compact in kinds[kinds.index(EqualityDelete) :]

    history = next(each for each in HISTORIES if has_both(each.steps) and each.columns and each.partitions)
    least = smallest(history, lambda each: "both" if has_both(each.steps) else None, simpler, "both")
    deleted, run = least.steps
    assert isinstance(deleted, EqualityDelete)
    assert run == Compact(full=run.full) if isinstance(run, Compact) else False
    assert (least.partitions, least.columns, least.properties) == ((), {}, {})
