"""The commit that makes a branch of an existing snapshot. Used by `table_copies`; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.formats.iceberg.table.evolving import NextVersion, metadata_log, set_head, with_head
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata

_KEPT = {"min-snapshots-to-keep": 1_000_000}
"""The branch keeps its snapshots whatever their age, so that nobody expires the one that it is made of."""


@dataclass(frozen=True, slots=True)
class NewBranch:
    """A branch is made; implements `metadata_commit.MetadataChange`.

    Attributes:
        name: its name, which no reference has yet.
        snapshot: the snapshot that is its head.
    """

    name: str
    snapshot: int

    @property
    def title(self) -> str:
        """The branch."""
        return f"with branch {self.name}"

    def version(self, base: TableMetadata, millis: int) -> NextVersion:
        """See the Protocol. Readers that find references do not add main, so it is added here."""
        log, forgotten = metadata_log(base)
        head = with_head(base, self.name, self.snapshot, max(millis, base.last_updated), _KEPT)
        following, main = {**base.json, **head, "metadata-log": log}, base.head(MAIN)
        if main is not None:
            following["refs"].setdefault(MAIN, {"type": "branch", "snapshot-id": main.id})
        return NextVersion(json.dumps(following, separators=(",", ":")), forgotten)

    def updates(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """See the Protocol."""
        return [set_head(base, self.name, self.snapshot, _KEPT)]

    def requirements(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """See the Protocol."""
        return [
            {"type": "assert-table-uuid", "uuid": base.uuid},
            {"type": "assert-ref-snapshot-id", "ref": self.name, "snapshot-id": None},
        ]

    def is_in(self, found: TableMetadata) -> bool:
        """See the Protocol."""
        return self.name in found.refs and found.refs[self.name].snapshot == self.snapshot
