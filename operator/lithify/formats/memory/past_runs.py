"""Finds the commits of a run to a reference table by the snapshots that carry its id."""

from __future__ import annotations

from lithify.formats.memory.snapshot import Group
from lithify.formats.memory.table import MemoryTable
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import RunFound
from lithify.formats.protocol.results import PastRun


def past_run(table: MemoryTable, run: str) -> PastRun | None:
    """The commits of a run; None if no snapshot carries its id."""
    snapshots = [table.snapshot(number) for number in table.numbers()]
    found = [(each, each.mark) for each in snapshots if each and each.mark and each.mark.run == run]
    if not found:
        return None
    marks = [mark for _, mark in found]
    figures = RunFound(
        snapshot=found[-1][0].id,
        base=SnapshotId(marks[0].base),
        input_files=sum(mark.removed[0] for mark in marks),
        output_files=sum(mark.added[0] for mark in marks),
        input_bytes=sum(mark.removed[1] for mark in marks),
        output_bytes=sum(mark.added[1] for mark in marks),
        is_complete=not marks[-1].to_come,
    )
    return PastRun(figures, frozenset(Group(path) for mark in marks for path in mark.groups))
