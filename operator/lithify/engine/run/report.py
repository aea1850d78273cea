"""The report of a run, in numbers: for people, for `--json`, and later for a Compaction's status.

Filled by `driver`; everything in it is plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lithify.formats.protocol.details import DetailKind, as_fields, totals_of
from lithify.formats.protocol.model import BlockedGroup, SnapshotId
from lithify.formats.protocol.results import GroupReport, Slots, Totals, joined_slots


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """A canary that found the same rows: the groups that a compaction of the copy changed, and their rows."""

    groups: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """One run.

    Attributes:
        table: `database.table`.
        run: id of the run.
        status: `Compacted`, `NothingToDo` or `AlreadyCommitted`.
        strategy: `minor` or `full`.
        snapshot_before: the snapshot that the first round was planned on.
        snapshot_after: the last snapshot that the run committed.
        rounds: how often it planned; more than one means conflicts.
        commits: how many snapshots it committed, one a step.
        commit_tries: how often a commit was built.
        to_come: groups of its plan that it had not begun when it committed last.
        groups: what was compacted.
        skipped: groups given up on because others changed them, with the reason.
        blocked: groups that cannot be compacted while their files stay as they are.
        held: groups that were not tried because they were blocked before, and have the same files.
        resting: how many groups had nothing to do, by reason.
        tasks: tasks run.
        task_retries: tries beyond the first.
        task_seconds: processor time of the tasks.
        core_seconds: processor time of executors and driver, their JVMs included; that of the tasks until the
            run has ended.
        slot_seconds: wall time of the tasks, as if one had followed the other.
        peak_task_bytes: largest resident size of a process that ran a task.
        seconds: wall time by stage.
        orphans_deleted: files of dead attempts that were removed first.
        uncleaned: why unreferenced files could not be removed, or what else was left; later runs try again.
        canary: the canary that ran first; None if none did.
        reported: the details that its groups have, as the adapter declares them; not in JSON.
        noun: what the format calls a group; not in JSON.
    """

    table: str
    run: str
    status: str
    strategy: str
    snapshot_before: SnapshotId | None = None
    snapshot_after: SnapshotId | None = None
    rounds: int = 0
    commits: int = 0
    commit_tries: int = 0
    to_come: int = 0
    groups: tuple[GroupReport, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    blocked: tuple[BlockedGroup, ...] = ()
    held: tuple[str, ...] = ()
    resting: dict[str, int] = field(default_factory=dict)
    tasks: int = 0
    task_retries: int = 0
    task_seconds: float = 0.0
    core_seconds: float = 0.0
    slot_seconds: float = 0.0
    peak_task_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    orphans_deleted: int = 0
    uncleaned: tuple[str, ...] = ()
    canary: CanaryReport | None = None
    reported: tuple[DetailKind, ...] = ()
    noun: str = "group"

    @property
    def before(self) -> Totals:
        """All files that were rewritten."""
        return sum((group.before for group in self.groups), Totals())

    @property
    def after(self) -> Totals:
        """The files that the rewritten ones became."""
        return sum((group.after for group in self.groups), Totals())

    @property
    def copied_bytes(self) -> int:
        """Bytes of the rewritten files that were copied without decoding them; the rest was decoded."""
        return sum(group.copied_bytes for group in self.groups)

    @property
    def other_files(self) -> Slots:
        """The files that are no data files, by slot."""
        return joined_slots(group.other_files for group in self.groups)

    @property
    def totals(self) -> Mapping[str, int]:
        """The sums of the adapter's details, by name; zero where nothing was compacted."""
        nothing = {kind.total: 0 for kind in self.reported if kind.total}
        return nothing | totals_of(group.details for group in self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON; there a group is called a bucket in every format."""
        own = asdict(replace(self, groups=(), blocked=(), reported=()))
        del own["reported"], own["noun"]
        groups = [_group_dict(group) for group in self.groups]
        own["blocked"] = [group.to_dict() for group in self.blocked]
        return {
            **{"buckets" if name == "groups" else name: value for name, value in own.items()},
            "buckets": groups,
            "before": asdict(self.before),
            "after": asdict(self.after),
            "other_files": _slots_dict(self.other_files),
            "copied_bytes": self.copied_bytes,
            **self.totals,
        }


def _group_dict(group: GroupReport) -> dict[str, Any]:
    return {
        "bucket": group.group,
        "trigger": group.trigger,
        "reason": group.reason,
        "before": asdict(group.before),
        "after": asdict(group.after),
        "other_files": _slots_dict(group.other_files),
        "copied_bytes": group.copied_bytes,
        **as_fields(group.details),
    }


def _slots_dict(slots: Slots) -> dict[str, Any]:
    return {slot.value: asdict(totals) for slot, totals in slots.items()}
