"""What a rollback undoes, in any format: commits for people to read, and what they have to agree to lose.

Formats list the commits in their plans of a rollback; nothing else reads them. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from lithify.clock import moment_of
from lithify.errors import CommitsWouldBeLost, InvalidOption
from lithify.formats.protocol.maintenance import MOST_SAMPLES, MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from lithify.plain_text import plain_line

TARGET = "snapshot"
"""What errors call the setting that names the target."""
_UNKNOWN = "unreadable"
_NAMED = 5
_LONGEST_KIND = 40
_LONGEST_LINE = 300
"""Characters: writers of the table choose kinds of commits and names of tags."""


@dataclass(frozen=True, slots=True)
class UndoneCommit:
    """A commit that a rollback undoes.

    Attributes:
        snapshot: its snapshot.
        kind: what the format calls this kind of commit; None if its snapshot cannot be read.
        is_compaction: whether it changed no rows, so that nothing of a writer is lost with it.
        millis: its time, in milliseconds since 1970; None if unknown.
        records: the change of the number of records; None if unknown.
        changelog: the number of records in its changelog, which readers of streams may have read.
    """

    snapshot: SnapshotId
    kind: str | None = None
    is_compaction: bool = False
    millis: int | None = None
    records: int | None = None
    changelog: int = 0

    def __str__(self) -> str:
        details = [plain_line(self.kind or _UNKNOWN, _LONGEST_KIND)]
        if self.millis is not None:
            details.append(moment_of(self.millis).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))
        if self.records is not None:
            details.append(f"{self.records:+,} records")
        if self.changelog:
            details.append(f"a changelog of {self.changelog:,} records")
        return f"snapshot {self.snapshot} ({', '.join(details)})"


def losses(undone: Sequence[UndoneCommit]) -> list[UndoneCommit]:
    """The commits that are no compactions: with them, data of writers is lost."""
    return [each for each in undone if not each.is_compaction]


def check_losses(table: str, undone: Sequence[UndoneCommit], settings: MaintenanceSettings) -> None:
    """Checks that only compactions are undone, unless the settings allow other commits to be lost.

    Raises:
        CommitsWouldBeLost: another commit would be undone.
    """
    lost = losses(undone)
    if lost and not settings.loses_commits:
        more = f" and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
        named = ", ".join(map(str, lost[:_NAMED])) + more
        raise CommitsWouldBeLost(table, str(settings.snapshot), named)


def target_of(settings: MaintenanceSettings) -> SnapshotId:
    """The snapshot that a rollback makes the newest one.

    Raises:
        InvalidOption: the settings name none.
    """
    if settings.snapshot is None:
        raise InvalidOption(TARGET, "a rollback needs the snapshot that should become the newest one")
    return settings.snapshot


def shown(undone: Sequence[UndoneCommit], *others: str) -> tuple[str, ...]:
    """Some lines about what is undone: first the losses, then compactions, then the other lines given."""
    compactions = [each for each in undone if each.is_compaction]
    lines = (*losses(undone), *compactions, *others)[:MOST_SAMPLES]
    return tuple(plain_line(str(each), _LONGEST_LINE) for each in lines)
