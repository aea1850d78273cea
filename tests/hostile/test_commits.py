"""Hostile metadata that comes in the middle of a run: its commit ends in one error and writes nothing."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from hostile.metadata import HOSTILE
from lithify.errors import CorruptTable, LithifyError, UnsupportedTable
from lithify.tables.paimon.table import Selection
from oracle.client import Table
from support.races import step_at
from support.runs import run_inline
from support.small_tables import SmallTable

SECONDS = 60.0
MEBIBYTES = 2048
"""By which the process may grow: a merge of manifests takes them record by record, up to what one may hold."""
HARMLESS = {"a manifest list of 2^39 files"}
"""What a commit makes sense of."""
DAMAGES = [
    name for name in HOSTILE if "manifest" in name or name.startswith(("a snapshot", "an array", "a block"))
]
"""What a commit reads again."""


def peak_mebibytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("merged", [False, True], ids=["plain commit", "manifests merged"])
def test_a_commit_stops_at_what_somebody_puts_in_front_of_it(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, merged: bool
) -> None:
    table = SmallTable(tmp_path).create()
    for _ in range(3):
        table.append("a")

    def spoil() -> None:
        table.append("b")
        HOSTILE[what](table)

    step_at(monkeypatch, "tasks-done", spoil)
    before, begin = peak_mebibytes(), time.monotonic()
    options = {"manifest.merge-min-count": "1"} if merged else {}
    error: LithifyError | None = None
    try:
        run_inline(Table(tmp_path, table.name), selection=Selection(({"dt": "a"},)), options=options)
    except LithifyError as raised:
        error = raised

    assert time.monotonic() - begin < SECONDS
    assert peak_mebibytes() - before < MEBIBYTES
    is_unread = not merged and error is None and not what.startswith("a snapshot") and "list" not in what
    if what in HARMLESS or is_unread:  # a manifest of another partition concerns nobody here
        assert error is None
        return
    assert isinstance(error, CorruptTable | UnsupportedTable), error
    assert len(str(error)) < 20_000
    assert max(table.numbers) == table.commits, "nothing was committed over it"
