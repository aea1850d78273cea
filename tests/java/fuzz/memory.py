"""What a reader of a table has seen, and must still see after compactions; asked by `playing`."""

from __future__ import annotations

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Digest


class Memory:
    """Digests of snapshots and tags; snapshots of branches, too."""

    def __init__(self, oracle: Oracle, main: Table) -> None:
        self._oracle = oracle
        self._main = main
        self._snapshots: dict[tuple[str | None, int], Digest] = {}
        self._tags: dict[str, Digest] = {}

    def look(self, table: Table) -> None:
        """Remembers the newest snapshot."""
        newest = self._newest(table)
        if newest is not None:
            self._snapshots[table.name, newest] = self._oracle.digest(table, snapshot_id=newest)

    def tag(self) -> None:
        """Tags the newest snapshot of the main branch; Java finds no tags of others by their names."""
        if self._newest(self._main) is not None:
            name = f"tag-{len(self._oracle.tags(self._main))}"
            self._oracle.create_tag(self._main, name)
            self._tags[name] = self._oracle.digest(self._main, tag=name)

    def _newest(self, table: Table) -> int | None:
        """The newest snapshot, if Java can travel to it.

        It looks for sequence fields by their newest names in the columns that a snapshot has.
        """
        schema, snapshots = self._oracle.schema(table), self._oracle.snapshots(table)
        newest = max(snapshots, key=lambda snapshot: int(snapshot["id"]), default=None)
        if newest is None or ("sequence.field" in schema["options"] and newest["schemaId"] != schema["id"]):
            return None
        return int(newest["id"])

    def forget(self, table: Table, after: int) -> None:
        """Later snapshots of the table are no more."""
        self._snapshots = {
            (name, number): digest
            for (name, number), digest in self._snapshots.items()
            if number <= after or name != table.name
        }

    def forget_snapshots(self) -> None:
        """All snapshots may be gone; tags stay."""
        self._snapshots.clear()

    def forget_everything(self) -> None:
        """Whatever was seen looks otherwise now."""
        self._snapshots.clear()
        self._tags.clear()

    def check(self) -> None:
        """Everything still reads as it did."""
        for (name, snapshot), digest in self._snapshots.items():
            table = Table(self._main.warehouse, name)
            assert self._oracle.digest(table, snapshot_id=snapshot) == digest, (name, snapshot)
        for tag in self._tags.keys() & self._oracle.tags(self._main).keys():
            assert self._oracle.digest(self._main, tag=tag) == self._tags[tag], tag
