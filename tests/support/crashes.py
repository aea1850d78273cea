"""A run that is killed, and the runs after it that clean up: the same story wherever it is killed."""

from __future__ import annotations

import signal
from datetime import timedelta

from infrastructure.oracle.client import Oracle, Table
from support.runs import run_inline, start
from support.tables import journals, kept_journals, stray_files

SETTLED = timedelta(minutes=61)
"""When tasks of an attempt that was condemned now must be over."""


def assert_a_kill_is_harmless(oracle: Oracle, table: Table, point: str) -> None:
    """A run killed at a point changes no row, and the next runs remove what it left."""
    rows = oracle.read(table)

    killed = start(table, faults={point: "kill"}).wait()

    assert killed.code == -signal.SIGKILL
    assert oracle.read(table) == rows
    for later in (timedelta(), SETTLED, 2 * SETTLED, 3 * SETTLED):
        run_inline(table, shift=later)
        assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
    assert (journals(table), kept_journals(table)) == (set(), set())
