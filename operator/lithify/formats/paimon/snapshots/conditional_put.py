"""Snapshots on object stores: written by a conditional PUT that is refused if the name is taken.

Used by `snapshots`, which reads back what is in place whatever the result of a write;
docs/design/0009-object-stores.md explains why that is safe. A driver calls `check_heeded` of `io.objects`
before it begins, because not all stores honour the condition.
"""

from __future__ import annotations

from dataclasses import dataclass

from pypaimon.common.json_util import JSON
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics

from lithify.io.objects.files import StoreFiles


@dataclass(frozen=True, slots=True)
class ConditionalPut:
    """Creates the object of a snapshot by a single request."""

    folder: str
    objects: StoreFiles

    can_be_late = True
    """An unanswered request may still be carried out."""

    def write(self, snapshot: Snapshot, base: Snapshot, statistics: list[PartitionStatistics]) -> bool:
        """Tries once; False if the store says that the name is taken.

        Raises:
            StorageUnavailable: there was no answer: the snapshot may be in place, or arrive later.
            LithifyError: the store refused; it was not written.
        """
        del base, statistics
        return self.objects.create(f"{self.folder}/snapshot-{snapshot.id}", JSON.to_json(snapshot, indent=2))
