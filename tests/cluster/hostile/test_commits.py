"""Hostile metadata that comes in the middle of a run: its commit ends in one error and writes nothing."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from cluster.hostile.metadata import HOSTILE, newest_manifest
from infrastructure.oracle.client import Table
from lithify.errors import CorruptTable, LithifyError, UnsupportedTable
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection, TableAddress
from support.races import step_at
from support.runs import run_inline
from support.small_tables import SmallTable

SECONDS = 60.0
MEBIBYTES = 2048
"""By which it may grow: a merge of manifests takes them record by record, up to what one may hold."""
HARMLESS = {"a manifest list of 2^39 files"}
"""What a commit makes sense of."""
DAMAGES = [
    name for name in HOSTILE if "manifest" in name or name.startswith(("a snapshot", "an array", "a block"))
]
"""What a commit reads again."""


def peak_mebibytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@pytest.mark.sampled(1, each="what")
@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("merged", [False, True], ids=["plain commit", "manifests merged"])
def test_a_commit_stops_at_what_somebody_puts_in_front_of_it(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, merged: bool
) -> None:
    table = SmallTable(tmp_path).create()
    for _ in range(3):
        table.append("a")

    spoilt: list[str] = []

    def spoil() -> None:
        table.append("b")
        spoilt.append(newest_manifest(table).name)
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
    if what in HARMLESS:
        assert error is None
        return
    if error is None:
        # It does not concern the partition, and nobody can merge what has fields that are not known.
        assert "manifest" in what or what.startswith(("an array", "a block"))
        opened = open_table(TableAddress(str(tmp_path), table.name))
        latest = opened.snapshots.latest()
        assert latest is not None
        assert {meta.file_name for meta in opened.manifests.list_files(latest)} >= set(spoilt)
        return
    assert isinstance(error, CorruptTable | UnsupportedTable), error
    assert len(str(error)) < 20_000
    assert max(table.numbers) == table.commits, "nothing was committed over it"
