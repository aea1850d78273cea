"""Random histories of Paimon tables without rows: others write, and maintenance of all kinds runs.

After each run the files that something needs must be there, as `paimon_reach` finds out from scratch. The
content of each snapshot, tag and branch stays what it was; what the settings keep is kept; and after orphans
are removed nothing is left that nobody names, unless it is young, an attempt's, or no file of a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from java.fuzz.maintenance.drawing import files_below, is_younger
from java.fuzz.maintenance.history import ORPHANS, MaintenanceHistory, Run, Turns
from java.fuzz.maintenance.paimon_reach import Needs
from java.fuzz.maintenance.paimon_writers import DAYS, MINUTE, PaimonWriters
from lithify.errors import NotFound
from lithify.faults import EXPIRY_POINTS, ORPHAN_POINTS, ROLLBACK_POINTS, TAG_POINTS
from lithify.formats.paimon.maintaining import _drop
from lithify.formats.paimon.maintenance.manifest_merge import ManifestMerge
from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.paimon.maintenance.partition_expiry import PartitionExpiry
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.maintenance.table_rollback import TableRollback
from lithify.formats.paimon.maintenance.tag_management import TagManagement
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import ChangelogRetention, RetentionOptions
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from support.orphan_files import journal_prefixes

_ALL = (1 << 31) - 1
_COMMIT_POINTS = ("journal-written", "manifests-written", "prepared", "snapshot-written", "hint-written")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OURS = re.compile(
    rf"(?:manifest/(?:manifest|manifest-list|index-manifest)|statistics/stat|index/index"
    rf"|dt=[^/]+/bucket-[0-9]+/(?:data|changelog|index))-{_UUID}-[0-9]+(?:\.parquet)?(?:\.index)?"
)
"""The files that writers put into a table's folder, but for snapshots."""
_AUTOMATIC = re.compile(r"tag-[0-9]{4}-[0-9]{2}-[0-9]{2}.*")


class PaimonHistory(MaintenanceHistory):
    """A random history of a Paimon table.

    Args:
        seed: what is drawn.
        folder: an empty folder.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        random = Random(seed)
        self.others = PaimonWriters(random, folder)
        super().__init__(random, lambda: self.others.millis)
        self.log.append(self.others.kind)
        self._is_outlived = random.random() < 0.4
        self._content: dict[str, frozenset[tuple[str, int]]] = {}

    def begin(self) -> None:
        """See the base."""
        self.others.commit()

    def turns_of_others(self) -> Turns:
        """See the base."""
        others = self.others
        return [
            (others.commit, 12),
            (others.tag, 3),
            (others.untag, 1),
            (others.branch, 1),
            (others.commit_to_branch, 2),
            (others.drop_branch, 0.5),
            (others.fast_forward, 0.3),
            (others.roll_back, 0.7),
            (others.consume, 1),
            (others.stop_consuming, 0.7),
            (others.crash, 1.5),
            (others.prepare, 1),
            (others.commit_prepared, 0.5),
            (others.lose, 0.3),
            (others.leave_strange_files, 0.3),
        ]

    def turns_of_ours(self) -> Turns:
        """See the base."""
        return [
            (self.expire, 3.5),
            (self.remove_orphans, 1.2),
            (self.roll_back, 0.7),
            (self.manage_tags, 0.7),
            (self.expire_partitions, 0.5),
            (self.merge_manifests, 0.5),
        ]

    # The checker.

    def check(self, broken: Collection[str] = ()) -> dict[str, Needs]:
        """All that is needed is there, and the content of each holder is what it was at first."""
        found = self.others.reach.check(broken)
        for path, needs in found.items():
            known = self._content.setdefault(self._identity(path), needs.live)
            assert known == needs.live, f"{path} has another content"
        return found

    def _identity(self, path: str) -> str:
        """A snapshot is known by its delta, wherever it is held. Changelogs have no content of their own."""
        delta = re.search(r'"deltaManifestList": ?"([^"]+)"', (self.others.folder / path).read_text())
        assert delta, f"{path} is no snapshot"
        return f"{path.startswith('changelog/')} {delta[1]}"

    def forget(self) -> None:
        """See the base."""
        self.others.reach.forget()

    # Maintenance.

    def _open(self) -> PaimonTable:
        return open_table(TableAddress(str(self.others.warehouse), "db.t"))

    def expire(self) -> None:
        """Expires snapshots, and changelogs that have outlived theirs."""
        others, options, floor = self.others, self._retention(), self.random.choice([0, 0, 1, 10])
        before = self._times()
        self.run(
            Run(
                lambda: SnapshotExpiry(self._open(), options, timedelta(minutes=floor)),
                EXPIRY_POINTS,
                [others.commit, others.commit_to_branch, others.tag_newest, others.consume_newest],
                broken=lambda plan: {
                    *(f"snapshot/snapshot-{number}" for number in plan.snapshots),
                    *(f"changelog/changelog-{number}" for number in (*plan.snapshots, *plan.changelogs)),
                },
            )
        )
        left = others.numbers()
        self.counts.snapshots += len(before.keys() - left)
        gone = [number for number in before if number < left[0]]
        assert not gone or not any(map(partial(self._is_kept, before, options, floor), gone)), gone

    def _retention(self) -> RetentionOptions:
        random = self.random
        least = random.choice([1, 1, 2, 4])
        most = random.choice([least, least + 2, _ALL])
        millis = random.choice([0, 0, 2, 10, 60]) * MINUTE
        longer = least + random.choice([0, 1, 3, 100])
        later = millis + random.choice([0, 5]) * MINUTE
        changelogs = ChangelogRetention(longer, max(longer, most), later, self.others.has_changelog_files)
        return RetentionOptions(
            least,
            most,
            millis,
            limit=random.choice([1, 3, _ALL]),
            changelogs=changelogs if self._is_outlived else None,
            consumer_millis=random.choice([None, None, 5 * MINUTE]),
            is_consumer_of_changelogs=self._is_outlived and random.random() < 0.3,
        )

    def _times(self) -> dict[int, int]:
        return {number: self.others.snapshot(number)["timeMillis"] for number in self.others.numbers()}

    def _is_kept(self, before: Mapping[int, int], options: RetentionOptions, floor: int, number: int) -> bool:
        """Whether a snapshot that has gone should have stayed, by the words of the options."""
        now, times = self.others.millis, {**before, **self._times()}
        latest = max(times)  # of before, if others have rolled back since the plan
        following = min(each for each in times if each > number)
        is_young = number > latest - options.most and times[number] >= now - options.millis
        is_opened = times[following] > now - floor * MINUTE
        is_read = not options.is_consumer_of_changelogs and any(
            position <= number
            for position, millis in self.others.consumers()
            if options.consumer_millis is None or millis >= now - options.consumer_millis
        )
        return number > latest - options.least or is_young or is_opened or is_read

    def remove_orphans(self) -> None:
        """Removes orphans; all that is left has a reason.

        A reason is also that a slow writer commits orphans beside the run, whatever becomes of the snapshot.
        """
        others = self.others
        others.taken.clear()
        if self.random.random() < 0.5:
            others.prepare()
        before, named = files_below(others.folder), others.reach.mentioned()
        attempts = journal_prefixes(others.folder)
        self.run(
            Run(
                lambda: OrphanRemoval(self._open(), ORPHANS),
                ORPHAN_POINTS,
                [step for step, _ in self.turns_of_others() if step != others.commit_prepared],
                [others.commit_prepared] * 5,
            )
        )
        after = files_below(others.folder)
        named |= others.reach.mentioned()
        left = [
            path
            for path in (before & after) - others.taken
            if _OURS.fullmatch(path)
            and path.rpartition("/")[2] not in named
            and not any(prefix in path for prefix in attempts)
            and not is_younger(others.folder / path, others.millis)
        ]
        assert not left, f"orphans are left: {left[:5]}"
        self.counts.orphans += len(before - after)

    def roll_back(self) -> None:
        """Rolls back to one of the last snapshots."""
        others = self.others
        target = self.random.choice(others.numbers()[-4:])
        settings = MaintenanceSettings(snapshot=SnapshotId(str(target)), loses_commits=True)
        late = [others.commit, others.commit_to_branch]
        try:
            alone = self.run(Run(lambda: TableRollback(self._open(), settings), ROLLBACK_POINTS, late))
        except NotFound:  # others went back further
            assert target not in others.numbers()
        else:
            assert not alone or others.numbers()[-1] == target

    def manage_tags(self) -> None:
        """Creates and deletes tags; those without a time stay."""
        options = {
            "tag.automatic-creation": self.random.choice(["none", "process-time"]),
            "tag.creation-period": "hourly",
            "tag.num-retained-max": "2",
            "sink.process-time-zone": "UTC",
        }
        before, others = self._kept_tags(), self.others
        late = [others.commit, others.commit_to_branch]
        alone = self.run(
            Run(
                lambda: TagManagement(self._open(), options),
                TAG_POINTS,
                late,
                broken=lambda plan: {f"tag/tag-{name}" for name in plan.due.deleted},
            )
        )
        assert not alone or before <= others.tags().keys()

    def _kept_tags(self) -> set[str]:
        """The tags that people made, but for those whose time is over."""
        now = datetime.fromtimestamp(self.others.millis / 1000, UTC).replace(tzinfo=None)
        found = set()
        for name in self.others.tags():
            tag = json.loads((self.others.folder / "tag" / name).read_text())
            ends = (
                datetime(*tag["tagCreateTime"]) + timedelta(seconds=tag["tagTimeRetained"])
                if "tagCreateTime" in tag
                else now
            )
            if ends >= now and not _AUTOMATIC.fullmatch(name):
                found.add(name)
        return found

    def expire_partitions(self) -> None:
        """Drops old partitions; all other files of the newest snapshot stay in the next one."""
        options = {
            "partition.expiration-time": "3 d",
            "partition.timestamp-formatter": "yyyy-MM-dd",
            "partition.expiration-batch-size": self.random.choice(["1", "100"]),
        }
        self._commit(lambda: PartitionExpiry(self._open(), options, partial(_drop, self.clock)), DAYS[-1])

    def merge_manifests(self) -> None:
        """Merges manifests; the newest snapshot has the same files."""
        memory = self.random.choice([1, 2_000, 1 << 20])
        self._commit(lambda: ManifestMerge(self._open(), memory=memory))

    def _commit(self, make: Any, kept: str = "") -> None:
        """Runs what commits a snapshot, with the live files of some partitions."""
        others = self.others
        expected = {each for each in self._newest() if each[0].startswith(f"dt={kept}")}
        alone = self.run(Run(make, _COMMIT_POINTS, [others.commit, others.commit_to_branch]))
        self.check()
        assert not alone or self._newest() == expected

    def _newest(self) -> frozenset[tuple[str, int]]:
        return self.others.reach.needs(f"snapshot/snapshot-{self.others.numbers()[-1]}").live
