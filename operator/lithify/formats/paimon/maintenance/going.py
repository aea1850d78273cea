"""What an expiry takes from a table, and what of it stays because changelogs outlive their snapshots.

Made by `snapshot_expiry`, used by `expiry`. Pure. Source: Paimon's `ExpireSnapshotsImpl` and
`ExpireChangelogImpl`, whose two runs are one here: a snapshot whose changelog would go at once leaves none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pypaimon.snapshot.snapshot import Snapshot

from lithify.formats.paimon.maintenance.consumers import Consumer
from lithify.formats.paimon.maintenance.named_files import Part, Reference


@dataclass(frozen=True, slots=True)
class Going:
    """What goes.

    Attributes:
        end: an existing snapshot before which all others go.
        snapshots: the snapshots that go, by id, ascending.
        consumers: the consumers that go.
        changelog_end: the changelog before which all others go; None if snapshots leave no changelogs.
        changelogs: the changelogs that go, by id, ascending.
        is_of_files: whether changelogs that snapshots leave have files of their own.
        is_consumer_of_changelogs: whether consumers keep changelogs only.
    """

    end: int
    snapshots: Mapping[int, Snapshot]
    consumers: tuple[Consumer, ...] = ()
    changelog_end: int | None = None
    changelogs: Mapping[int, Snapshot] = field(default_factory=dict)
    is_of_files: bool = True
    is_consumer_of_changelogs: bool = False

    @property
    def unread(self) -> int:
        """The lowest id that a consumer may have still to read; 0 if nothing goes that any might read.

        A consumer may also be behind everything that there is.
        """
        if self.snapshots and not self.is_consumer_of_changelogs:
            return self.end
        is_cut = self.changelogs or len(self.becoming) < len(self.snapshots)
        return self.changelog_end if is_cut and self.changelog_end is not None else 0

    @property
    def becoming(self) -> dict[int, Snapshot]:
        """The snapshots that leave changelogs, by id."""
        end = self.changelog_end
        if end is None:
            return {}
        return {number: snapshot for number, snapshot in self.snapshots.items() if number >= end}

    @property
    def keeps_appended(self) -> bool:
        """Whether data files stay as changelogs, which snapshots no longer need."""
        return self.changelog_end is not None and not self.is_of_files

    @property
    def leaving(self) -> list[Reference]:
        """Whose metadata and changelog files go."""
        becoming = self.becoming
        of_becoming = Part.STATE if self.is_of_files else Part.INDEXES
        parts = {number: of_becoming if number in becoming else Part.WHOLE for number in self.snapshots}
        return [
            *(
                Reference(snapshot, parts[number], may_be_broken=True)
                for number, snapshot in self.snapshots.items()
            ),
            *(
                Reference(snapshot, Part.CHANGELOG, may_be_broken=True)
                for snapshot in self.changelogs.values()
            ),
        ]

    @property
    def left(self) -> list[Reference]:
        """What the changelogs need that snapshots leave."""
        return [
            Reference(snapshot, Part.CHANGELOG, may_be_broken=True)
            for snapshot in self.becoming.values()
            if snapshot.changelog_manifest_list or not self.is_of_files
        ]

    @property
    def deltas(self) -> list[Snapshot]:
        """The changelogs that go and may be data files: what their deltas removed goes with them."""
        at_once = [each for number, each in self.snapshots.items() if number not in self.becoming]
        both = [*self.changelogs.values(), *(at_once if self.keeps_appended else [])]
        return [each for each in both if not each.changelog_manifest_list]
