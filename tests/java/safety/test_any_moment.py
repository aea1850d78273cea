"""Others take a step at any file operation of a run, not only at named points: no row is lost or comes back.

An audit hook counts what Python does to files of the table, and has the step taken at one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import LithifyError
from support.cases import case
from support.runs import clean_up, run_inline
from support.tables import append, copy_of, expire, journals, kept_journals

pytestmark = pytest.mark.oracle

_EVENTS = ("open", "os.link", "os.rename", "os.listdir", "os.scandir", "os.mkdir")
MERGED = {"manifest.merge-min-count": "1"}
Step = Callable[[Oracle, Table], object]


class Moments:
    """Counts file operations below a folder; calls `step` at operation number `at`."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self.count = 0
        sys.addaudithook(self._seen)  # cannot be removed, so there is one for all tests

    def watch(self, table: Table, at: int, step: Callable[[], object]) -> None:
        """Begins to count."""
        self._folder, self.count, self._at, self._step = str(table.folder), 0, at, step

    def rest(self) -> None:
        """Ends counting."""
        self._folder = None

    def _seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._folder is None or event not in _EVENTS or self._folder not in str(arguments[0]):
            return
        self.count += 1
        if self.count == self._at:
            folder, self._folder = self._folder, None
            self._step()
            self._folder = folder


@pytest.fixture(scope="module")
def moments() -> Moments:
    return Moments()


def roll_back(oracle: Oracle, table: Table) -> object:
    return oracle.rollback_to(table, snapshot_id=2)


def roll_back_and_catch_up(oracle: Oracle, table: Table) -> object:
    roll_back(oracle, table)
    return [append(oracle, table, mark) for mark in ("a", "b", "c")]


def append_and_expire(oracle: Oracle, table: Table) -> object:
    append(oracle, table)
    return expire(oracle, table)


def compact_and_expire(oracle: Oracle, table: Table) -> object:
    oracle.compact(table, full=True)
    return expire(oracle, table)


def clean_up_with_a_fast_clock(oracle: Oracle, table: Table) -> object:
    return clean_up(table, 48)


def run_another_and_roll_back(oracle: Oracle, table: Table) -> object:
    newest = oracle.snapshots(table)[-1]["id"]
    run_inline(table)
    return oracle.rollback_to(table, snapshot_id=newest)


@pytest.mark.sampled(1, each="step")
@pytest.mark.parametrize("share", range(4, 104, 4))
@pytest.mark.parametrize("options", [case({}, id="plain"), case(MERGED, id="manifests merged")])
@pytest.mark.parametrize(
    "step",
    [
        roll_back,
        roll_back_and_catch_up,
        append_and_expire,
        compact_and_expire,
        clean_up_with_a_fast_clock,
        run_another_and_roll_back,
    ],
    ids=lambda step: step.__name__,
)
def test_a_step_of_others_at_any_file_operation(
    oracle: Oracle, table: Table, moments: Moments, step: Step, options: dict[str, str], share: int
) -> None:
    twin, probe = (copy_of(table, table.warehouse.parent / name) for name in ("twin", "probe"))
    if step not in (clean_up_with_a_fast_clock, run_another_and_roll_back):
        step(oracle, twin)
    moments.watch(probe, 0, lambda: None)
    run_inline(probe, options=options)
    moments.watch(table, moments.count * share // 100, lambda: step(oracle, table))

    with suppress(LithifyError):
        run_inline(table, options=options)
    moments.rest()

    rows = oracle.read(twin)
    assert oracle.read(table) == rows
    for snapshot in oracle.snapshots(table):
        oracle.read(table, snapshot_id=snapshot["id"])
    clean_up(table, 0, 2, 48, 50, 52)
    assert oracle.read(table) == rows
    assert journals(table) | kept_journals(table) == set()
