"""An observer that follows a table over a merge of its manifests sees the table as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lithify.clock import SystemClock
from lithify.engine.run.maintaining import maintain
from lithify.formats.paimon.observing.observer import open_observer
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest
from support.small_tables import SmallTable

CLOCK = SystemClock()


def test_merge_of_manifests_changes_nothing_that_is_observed(tmp_path: Path) -> None:
    small = SmallTable(tmp_path / "warehouse").create()
    for _ in range(6):
        small.append()
    follower = open_observer(tmp_path / "followed", 1 << 24, CLOCK, 8)
    request = ObservationRequest(small.address, "table")
    full = replace(request, is_full=True)
    before = follower.observe(request)
    assert isinstance(before, Observation)

    report = maintain(small.address, MaintenanceKind.MERGE_MANIFESTS, CLOCK)
    assert report.status == "Done"
    known = replace(request, known_uuid=before.table_uuid, known_snapshot=before.snapshot)
    after = follower.observe(known)

    assert isinstance(after, Observation)
    assert after.snapshot == "7"
    assert after == open_observer(tmp_path / "fresh", 1 << 24, CLOCK, 8).observe(full)
    of_snapshots = {"snapshot": "", "snapshot_time": None, "snapshots": before.snapshots, "findings": ()}
    assert replace(after, **of_snapshots) == replace(before, **of_snapshots)
    small.append()
    last = follower.observe(replace(request, known_uuid=after.table_uuid, known_snapshot=after.snapshot))
    assert last == open_observer(tmp_path / "last", 1 << 24, CLOCK, 8).observe(full)
