"""Random histories of Iceberg tables without rows: others write, and maintenance of all kinds runs.

After each run the files that the newest metadata need must be there, as `iceberg_reach` finds out from
scratch. The content of each snapshot stays what it was; what the rules keep is kept; and after a removal of
orphans nothing is left that nobody needs, unless it is young, an attempt's, or no file of a table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from java.fuzz.maintenance.drawing import files_below, is_younger
from java.fuzz.maintenance.history import ORPHANS, MaintenanceHistory, Run, Turns
from java.fuzz.maintenance.iceberg_reach import Live
from java.fuzz.maintenance.iceberg_writers import MAIN, MINUTE, IcebergWriters
from lithify.errors import NotFound
from lithify.faults import JOURNALED_EXPIRY_POINTS, ORPHAN_POINTS
from lithify.formats.iceberg.maintenance.manifest_merge import ManifestMerge
from lithify.formats.iceberg.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.iceberg.maintenance.rollback import IcebergRollback
from lithify.formats.iceberg.maintenance.snapshot_expiry import expiry_of_table
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from support.orphan_files import journal_prefixes

_COMMIT_POINTS = ("journal-written", "manifests-written", "prepared", "snapshot-written", "hint-written")
_FOREVER = 1 << 62
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OURS = re.compile(
    rf"data/[^/]*{_UUID}[^/]*\.(?:parquet|puffin)|metadata/[^/]*{_UUID}[^/]*\.(?:avro|stats|parquet)"
)
"""The files that writers put into a table's folder, but for metadata files."""


class IcebergHistory(MaintenanceHistory):
    """A random history of an Iceberg table.

    Args:
        seed: what is drawn.
        folder: an empty folder.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        random = Random(seed)
        self.others = IcebergWriters(random, folder)
        super().__init__(random, lambda: self.others.millis)
        self.log.append(f"version {self.others.version}")
        self._content: dict[int, Live] = {}

    def begin(self) -> None:
        """See the base."""
        self.others.commit()

    def turns_of_others(self) -> Turns:
        """See the base."""
        others = self.others
        return [
            (others.commit, 10),
            (others.commit_to_branch, 4),
            (others.stage, 1),
            (others.pick, 0.7),
            (others.prepare, 0.7),
            (others.commit_prepared, 1),
            (others.cherry_pick, 1),
            (others.tag, 3),
            (others.branch, 2),
            (others.drop, 1),
            (others.roll_back, 1),
            (others.fast_forward, 0.5),
            (others.compute_statistics, 1.5),
            (others.expire_metadata, 0.5),
            (others.crash, 1.5),
            (others.leave_strange_files, 0.3),
        ]

    def turns_of_ours(self) -> Turns:
        """See the base."""
        return [
            (self.expire, 4),
            (self.remove_orphans, 1.5),
            (self.roll_back, 0.7),
            (self.merge_manifests, 0.7),
        ]

    # The checker.

    def check(self, broken: Collection[str] = ()) -> dict[int, Live]:
        """All that is needed is there, and the content of each snapshot is what it was at first."""
        del broken
        found = self.others.reach.check()
        for number, live in found.items():
            assert self._content.setdefault(number, live) == live, f"snapshot {number} has another content"
        assert all(path.exists() for path in self.others.foreign), "files of other tables are gone"
        return found

    def forget(self) -> None:
        """See the base."""
        self.others.reach.forget()

    # Maintenance.

    def _open(self) -> IcebergTable:
        return open_iceberg_table(TableAddress(str(self.others.warehouse), "db.t", format="iceberg"))

    def expire(self) -> None:
        """Expires snapshots, branches and tags."""
        random, others = self.random, self.others
        age, least = random.choice([0, 0, 2, 10, 60]) * MINUTE, random.choice([1, 1, 2, 4])
        most, floor = random.choice([_FOREVER, _FOREVER, 30 * MINUTE]), random.choice([0, 0, 1, 10])
        rules = {
            "history.expire.max-snapshot-age-ms": str(age),
            "history.expire.min-snapshots-to-keep": str(least),
            "history.expire.max-ref-age-ms": str(most),
        }
        before = others.metadata()
        if random.random() < 0.5:
            others.pick()
        alone = self.run(
            Run(
                lambda: expiry_of_table(self._open(), rules, timedelta(minutes=floor), self.clock),
                JOURNALED_EXPIRY_POINTS,
                [
                    step
                    for step, _ in self.turns_of_others()
                    if step not in (others.commit_prepared, others.cherry_pick)
                ],
                [others.commit_prepared] * 10,
                safe_points=3,
            )
        )
        after = others.metadata()
        left = {each["snapshot-id"] for each in after["snapshots"]}
        self.counts.snapshots += len({each["snapshot-id"] for each in before["snapshots"]} - left)
        if alone:
            times = {each["snapshot-id"]: each["timestamp-ms"] for each in before["snapshots"]}
            for name in before["refs"].keys() - after["refs"].keys():
                reference = before["refs"][name]
                limit = reference.get("max-ref-age-ms", most)
                assert name != MAIN
                assert others.millis - times[reference["snapshot-id"]] > limit, name
            assert {*self._kept(before, after["refs"], age, least, floor)} <= left

    def _kept(
        self, before: Mapping[str, Any], references: Mapping[str, Any], age: int, least: int, floor: int
    ) -> Iterator[int]:
        """The snapshots that branches keep, by the words of the rules, and those that were just replaced."""
        snapshots = {each["snapshot-id"]: each for each in before["snapshots"]}
        now = self.others.millis
        for reference in references.values():
            number, count = reference["snapshot-id"], 0
            while reference["type"] == "branch" and number in snapshots:
                young = snapshots[number]["timestamp-ms"] >= now - reference.get("max-snapshot-age-ms", age)
                if count >= reference.get("min-snapshots-to-keep", least) and not young:
                    break
                yield number
                number, count = snapshots[number].get("parent-snapshot-id"), count + 1
        for each in snapshots.values():
            if each["timestamp-ms"] > now - floor * MINUTE and each.get("parent-snapshot-id") in snapshots:
                yield each["parent-snapshot-id"]

    def remove_orphans(self) -> None:
        """Removes orphans; all that is left has a reason."""
        others = self.others
        if self.random.random() < 0.5:
            others.prepare()
        before, needed = files_below(others.folder), others.reach.reached()
        attempts = journal_prefixes(others.folder)
        self.run(
            Run(
                lambda: OrphanRemoval(self._open(), ORPHANS),
                ORPHAN_POINTS,
                [
                    step
                    for step, _ in self.turns_of_others()
                    if step not in (others.commit_prepared, others.cherry_pick)
                ],
                [others.commit_prepared] * 5,
            )
        )
        after = files_below(others.folder)
        needed |= others.reach.reached()
        left = [
            path
            for path in before & after
            if _OURS.fullmatch(path)
            and f"{others.folder}/{path}" not in needed
            and not any(prefix in path for prefix in attempts)
            and not is_younger(others.folder / path, others.millis)
        ]
        assert not left, f"orphans are left: {left[:5]}"
        self.counts.orphans += len(before - after)

    def roll_back(self) -> None:
        """Rolls back to one of the last snapshots of main."""
        others = self.others
        target = self.random.choice([*others.ancestors(others.head())][:4])
        settings = MaintenanceSettings(snapshot=SnapshotId(str(target)), loses_commits=True)
        late = [others.commit, others.commit_to_branch]
        try:
            alone = self.run(
                Run(lambda: IcebergRollback(self._open(), settings, self.clock), _COMMIT_POINTS, late)
            )
        except NotFound:  # others went back further, or expired it
            assert target not in others.ancestors(others.head())
        else:
            assert not alone or others.head() == target

    def merge_manifests(self) -> None:
        """Merges manifests; the newest snapshot has the same data files."""
        others, memory = self.others, self.random.choice([1, 2_000, 1 << 20])
        expected = self.check()[others.head()]
        late = [others.commit, others.commit_to_branch]
        alone = self.run(Run(lambda: ManifestMerge(self._open(), memory), _COMMIT_POINTS, late))
        found = self.check()[others.head()]
        assert not alone or found <= expected
        assert not alone or not [key for key in expected - found if not self._is_delete(key)]

    def _is_delete(self, key: tuple[str, int | None]) -> bool:
        return self.others.files.contents[key[0]] != 0
