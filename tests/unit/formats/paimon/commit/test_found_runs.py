"""What runs have committed is found in the snapshots that tell it."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from lithify.formats.paimon.commit.found_runs import past_run
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from support.small_tables import SmallTable

AT_ONCE = 8


def test_a_new_run_asks_for_several_snapshots_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that keeps its snapshots for a week has ten thousand of them."""
    table = SmallTable(tmp_path).create()
    for _ in range(1 + AT_ONCE):
        table.append("a", keys=range(1))
    opened = open_table(table.address)
    newest, together, real = table.numbers[-1], Barrier(AT_ONCE, timeout=60), Snapshots.get

    def get(self: Snapshots, number: int) -> Any:
        if number != newest:
            together.wait()
        return real(self, number)

    monkeypatch.setattr(Snapshots, "get", get)

    assert past_run(opened, "run-a") is None
