"""Plans of reference tables: a group whose small files can be joined is rewritten into one file.

Called by `adapter`. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from lithify.formats.memory.snapshot import SPEC, DataFile, Group, Snapshot
from lithify.formats.memory.table import MemoryTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.model import SnapshotId, TriggerVerdict
from lithify.formats.protocol.partition import PartitionFilter, wanted_partitions
from lithify.formats.protocol.results import Block
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy

SMALL_FILES = "SmallFiles"
FULL = "Full"
FEW_FILES = "there is no second file"
LEAST_SMALL = 2


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Some groups of a pinned snapshot."""

    snapshot: Snapshot

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the pinned snapshot."""
        return self.snapshot.id


@dataclass(frozen=True, slots=True)
class MemoryUnit:
    """The work in one group: all of its files become one.

    Attributes:
        group: the group.
        files: its files.
        trigger: the trigger that fired.
        reason: the numbers behind it.
    """

    group: Group
    files: tuple[DataFile, ...]
    trigger: str
    reason: str

    details = ()

    @property
    def read_bytes(self) -> int:
        """Bytes of the files."""
        return sum(file.bytes for file in self.files)

    @property
    def rewritten_files(self) -> int:
        """Number of the files."""
        return len(self.files)

    @property
    def rewrites(self) -> tuple[tuple[str, ...], ...]:
        """Names of the files: one merge."""
        return (tuple(file.name for file in self.files),)


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The work of a run; it takes all groups, and blocks none, because it reads no data files."""

    view: MemoryView
    units: tuple[MemoryUnit, ...]
    resting: Mapping[str, int]
    held: tuple[Group, ...]

    blocks: tuple[Block, ...] = ()
    deferred = 0
    remaining = None
    conflicts: Mapping[Group, str] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the snapshot that was planned on."""
        return self.view.snapshot_id


def select(table: MemoryTable, snapshot: Snapshot, selection: Selection) -> MemoryView:
    """The view of the selected groups.

    Raises:
        InvalidOption: the selection names another column than `group`, or buckets: there are none.
    """
    wanted = check_selection(table, selection)
    return only(snapshot, [group for group in snapshot.files if wanted.selects(group.partition)])


def check_selection(table: MemoryTable, selection: Selection) -> PartitionFilter:
    """The partitions that a selection wants.

    Raises:
        InvalidOption: see `select`.
    """
    return wanted_partitions(selection, table.name, SPEC)


def only(snapshot: Snapshot, groups: Collection[Group]) -> MemoryView:
    """The view of some groups."""
    files = {group: files for group, files in snapshot.files.items() if group in groups}
    return MemoryView(replace(snapshot, files=files))


def plan(table: MemoryTable, view: MemoryView, selection: Selection) -> MemoryPlan:
    """Plans the groups of a view, except held ones."""
    snapshot = view.snapshot
    held = tuple(
        group for group in snapshot.files if selection.held.get(group.path) == snapshot.fingerprint(group)
    )
    units = [
        unit
        for group, files in snapshot.files.items()
        if group not in held and (unit := work_in(table, group, files, selection.strategy)) is not None
    ]
    resting = len(snapshot.files) - len(held) - len(units)
    reason = FEW_FILES if selection.strategy is Strategy.FULL else NO_TRIGGER
    return MemoryPlan(view, tuple(units), {reason: resting} if resting else {}, held)


def work_in(
    table: MemoryTable, group: Group, files: tuple[DataFile, ...], strategy: Strategy
) -> MemoryUnit | None:
    """The work in a group; None if it has none."""
    verdict = small_files(table.small(files))
    if verdict.fired:
        return MemoryUnit(group, files, SMALL_FILES, verdict.detail)
    if strategy is Strategy.FULL and len(files) > 1:
        return MemoryUnit(group, files, FULL, f"{len(files)} files")
    return None


def validate_inputs_live(units: Iterable[MemoryUnit], newest: Snapshot | None) -> dict[Group, str]:
    """The format's only rule of conflict: the groups of units of which a file is gone, with the reason."""
    return {
        unit.group: "others have replaced a file of it"
        for unit in units
        if newest is None or not set(unit.files) <= set(newest.files.get(unit.group, ()))
    }


def small_files(count: int) -> TriggerVerdict:
    """Whether a group has enough small files."""
    return TriggerVerdict(SMALL_FILES, count >= LEAST_SMALL, f"{count} small files, {LEAST_SMALL} needed")
