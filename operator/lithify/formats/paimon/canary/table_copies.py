"""Copies of a Paimon table: branches with one snapshot and the schemas, which share all files of the table.

Implements `formats.protocol.canary`. A branch is dropped by what its attempts wrote: their journals lie
beside its snapshots, and the names of all their files have their prefixes (`commit.file_deletion`). Files
that any other snapshot, tag or branch names stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lithify.engine.attempts.journal import Journal
from lithify.engine.tasks.foreign_rows import not_checked
from lithify.errors import StalePlan
from lithify.faults import failpoint
from lithify.formats.paimon.canary.refusals import canary_refusals
from lithify.formats.paimon.canary.rows import SplitRows, rows_of
from lithify.formats.paimon.commit.file_deletion import sweep
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScopes, PaimonAttempt
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.io.small_files import MOST_JSON
from lithify.io.storage import Storage

_SCHEMA = re.compile(r"schema-\d+")
_BRANCH = "$branch_"


class PaimonCopies:
    """A table, or a branch of one, of which copies are made.

    Args:
        table: the table.
        address: its address.
    """

    def __init__(self, table: PaimonTable, address: TableAddress) -> None:
        self._table = table
        self._address = address

    @property
    def home(self) -> str:
        """The folder of the table; branches have no records of their own."""
        return self._table.root

    @property
    def storage(self) -> Storage:
        """Access to the table's files."""
        return self._table.storage

    def check_supported(self) -> None:
        """See the Protocol."""
        reasons = tuple(canary_refusals(self._table))
        if reasons:
            raise not_checked(self._table.name, *reasons)

    def address_of(self, copy: str) -> TableAddress:
        """The address of a branch."""
        name = self._address.name.partition(_BRANCH)[0]
        return replace(self._address, name=f"{name}{_BRANCH}{copy}", uuid=None)

    def make_copy(self, copy: str) -> SnapshotId | None:
        """Makes a branch; the snapshot comes last, so that one without it is none yet."""
        newest = self._table.snapshots.latest()
        if newest is None:
            return None
        own, new = self._table.home, self._home(copy)
        names = [name for name in self.storage.names_in(f"{own}/schema") if _SCHEMA.fullmatch(name)]
        for name in (*(f"schema/{each}" for each in names), f"snapshot/snapshot-{newest.id}"):
            text = self.storage.read_text(f"{own}/{name}", MOST_JSON)
            if text is None:
                raise StalePlan(self._table.name, f"{name} is gone")
            self.storage.create_text(f"{new}/{name}", text)
        return snapshot_id(newest.id)

    def has_expired(self, first: SnapshotId) -> bool:
        """Whether the snapshot is gone: Java's expiry does not know that branches need its files."""
        return not self._table.snapshots.exists(int(first))

    def parts(self, copy: str, first: SnapshotId) -> tuple[Sequence[SplitRows], Sequence[SplitRows]]:
        """See the Protocol; both sides are read with the newest schema."""
        branch = open_table(self.address_of(copy))
        newest = branch.snapshots.latest()
        if newest is None or branch.snapshots.get(int(first)) is None:
            raise StalePlan(self._table.name, f"snapshot {first} of branch {copy} is gone")
        before, after = (
            tuple(rows_of(branch.native, branch.name, number)) for number in (int(first), newest.id)
        )
        return before, after

    def has_copy(self, copy: str) -> bool:
        """Whether the branch has a snapshot."""
        return any(True for _ in self.storage.files_below(f"{self._home(copy)}/snapshot"))

    def drop_copy(self, copy: str, run: str) -> None:
        """Deletes the branch, then what its attempts wrote, and their journals last."""
        del run
        home = self._home(copy)
        notes = f"{home}/lithify/"
        found = [*self.storage.files_below(home)]
        self.storage.delete_all([path for path in found if not path.startswith(notes)])
        failpoint("canary-branch-deleted")
        attempts = [*self._attempts(home)]
        if attempts:
            sweep(self._table, *attempts)
        self.storage.delete_all([path for path in found if path.startswith(notes)])
        self.storage.delete_folders(home)

    def _attempts(self, home: str) -> Iterator[PaimonAttempt]:
        journal = Journal(home, self.storage, AttemptScopes())
        recorded = journal.recorded()
        for path in (*recorded.open, *(each.path for each in recorded.committed)):
            attempt = journal.read(path)
            if attempt is not None:
                yield attempt

    def _home(self, copy: str) -> str:
        return f"{self._table.root}/branch/branch-{copy}"
