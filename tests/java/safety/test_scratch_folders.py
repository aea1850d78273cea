"""Rows that killed processes have spilled to local disk: the next run deletes them, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.contract.order import OUTCOME_VARIABLE, write_instructions
from lithify.controller.launching.ordering import instructions_of
from support.launching.orders import order
from support.postponed import make_postponed
from support.runs import LITHIFY, Held, start

pytestmark = pytest.mark.oracle

LEAST = "1"
"""Bytes of a budget into which no more than the least number of runs or rows fit."""

Make = Callable[[Oracle, Path], Table]


def merge_in_passes(oracle: Oracle, warehouse: Path) -> Table:
    """A bucket of more runs than may be open at once."""
    table = Table(warehouse, "db.t")
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "STRING"}, ["id"], options={"bucket": "1"})
    for commit in range(4):
        oracle.write(table, [["+I", key, f"{commit}-{key}"] for key in range(50)])
    return table


def postponed_rows(oracle: Oracle, warehouse: Path) -> Table:
    return make_postponed(oracle, warehouse)


def clustering(oracle: Oracle, warehouse: Path) -> Table:
    table = Table(warehouse, "db.t")
    options = {"clustering.incremental": "true", "clustering.columns": "a,b"}
    oracle.create_table(table, {"a": "INT", "b": "STRING"}, options=options)
    for number in range(3):
        oracle.write(table, [["+I", key * 31 % 97, f"{number}-{key}"] for key in range(40)])
    return table


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of this process and of the runs that it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def scratch(folder: Path) -> set[Path]:
    return {*folder.glob("lithify-scratch-*")}


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "make", [merge_in_passes, postponed_rows, clustering], ids=lambda make: make.__name__
)
def test_spilled_rows_of_a_killed_run_are_deleted_by_the_next(
    oracle: Oracle, tmp_path: Path, temporary: Path, make: Make
) -> None:
    table = make(oracle, tmp_path / "warehouse")
    killed = start(table, "--budget", LEAST, faults={"rows-spilled": "kill"}).wait()
    assert killed.code == -signal.SIGKILL, killed.error
    (left,) = scratch(temporary)
    assert size(left) > 0

    outcome = start(table, "--budget", LEAST).wait()

    assert outcome.code == 0, outcome.error
    assert scratch(temporary) == set()


def test_spilled_rows_of_a_living_run_stay(oracle: Oracle, tmp_path: Path, temporary: Path) -> None:
    table = merge_in_passes(oracle, tmp_path / "warehouse")
    other = merge_in_passes(oracle, tmp_path / "other")
    held = Held(tmp_path)
    living = start(table, "--budget", LEAST, faults={"rows-spilled": held.action})
    held.reached()
    (folder,) = scratch(temporary)
    before = size(folder)

    assert start(other, "--budget", LEAST).wait().code == 0

    assert scratch(temporary) == {folder}
    assert size(folder) == before > 0
    held.release()
    outcome = living.wait()
    assert outcome.code == 0, outcome.error
    assert scratch(temporary) == set()


def test_folder_of_a_killed_driver_is_deleted_by_the_next_run(
    oracle: Oracle, tmp_path: Path, temporary: Path
) -> None:
    table = merge_in_passes(oracle, tmp_path / "warehouse")
    ordered = order(table.warehouse, name=str(table.name))
    template = {"spec": {"priorityClassName": "low"}}
    told = instructions_of(ordered, master="local[1]", conf={}, credentials={}, executor_template=template)
    environment = {
        **os.environ,
        "LITHIFY_FAULTS": "planned=kill",
        OUTCOME_VARIABLE: str(tmp_path / "outcome"),
    }
    driver = subprocess.run(
        [LITHIFY, "drive"],
        input=write_instructions(told).encode(),
        env=environment,
        capture_output=True,
        check=False,
    )
    assert driver.returncode == -signal.SIGKILL, driver.stderr
    (left,) = scratch(temporary)
    assert (left / "executor.json").exists()

    outcome = start(table, "--budget", LEAST).wait()

    assert outcome.code == 0, outcome.error
    assert scratch(temporary) == set()
