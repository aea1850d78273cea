"""Looks at small real tables: what they find, what they cost, and that they are never fooled by history."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.clock import SystemClock
from lithify.engine.observe.format_observer import ObservedFormat
from lithify.engine.observe.summing import COMPACTOR_WINDOW
from lithify.errors import CommitUnknown, InvalidOption, LithifyError, NotFound, in_fields
from lithify.formats.paimon.manifests.entry_objects import entries_of
from lithify.formats.paimon.observing.cached_state import LAYOUT, PaimonDetails
from lithify.formats.paimon.observing.observer import OBSERVED
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.model import fingerprint_of
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter, ObservationRequest
from lithify.formats.protocol.strategy import Strategy
from support.asked import recorded
from support.cases import case
from support.manifests import manifest_files
from support.observations import levels_of
from support.orders_table import run
from support.properties import examples
from support.small_tables import SmallTable

pytestmark = pytest.mark.thorough

HOUR = timedelta(hours=1)


@dataclass
class MovedClock(SystemClock):
    """The machine's clock, moved as a test goes on."""

    moved: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.moved


@dataclass
class Watcher:
    """Looks at one table again and again, as a controller does."""

    table: SmallTable
    folder: Path
    most_open: int = 8
    observed: ObservedFormat[PaimonDetails] = OBSERVED
    clock: MovedClock = field(default_factory=MovedClock)
    seen: Observation | None = None

    def __post_init__(self) -> None:
        self.start_again()

    def start_again(self) -> None:
        """As a new worker process does."""
        self.watch = self.observed.open_observer(self.folder, 1 << 20, self.clock, self.most_open)

    def look(self, **changes: object) -> Observation | None:
        fields: dict[str, object] = {"address": self.table.address, "cache_key": "uid", **changes}
        if self.seen is not None:
            fields = {"known_uuid": self.seen.table_uuid, "known_snapshot": self.seen.snapshot, **fields}
        found = self.watch.observe(ObservationRequest(**fields))  # type: ignore[arg-type]  # names are the look's
        self.seen = found or self.seen
        return found

    def find(self, **changes: object) -> Observation:
        """A look that must find something."""
        found = self.look(**changes)
        assert found is not None
        return found

    def full(self, **changes: object) -> Observation:
        """What a worker finds that never saw the table."""
        with TemporaryDirectory() as folder:
            return replace(self, folder=Path(folder), seen=None).find(is_full=True, **changes)


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    return SmallTable(tmp_path / "warehouse").create()


@pytest.fixture
def watcher(table: SmallTable, tmp_path: Path) -> Watcher:
    table.append()
    table.append()
    return Watcher(table, tmp_path / "kept")


def compact(table: SmallTable, strategy: Strategy = Strategy.FULL, **changes: object) -> None:
    run(table.address, strategy, **changes)  # type: ignore[arg-type]  # names are the request's


class TestWhatIsFound:
    def test_a_table_with_files(self, table: SmallTable, watcher: Watcher) -> None:
        table.append("a")
        found = watcher.find()
        assert (found.snapshot, found.schema_id, found.refusals) == ("3", 0, ())
        assert (found.partitions, found.files, found.small_files, found.delete_percent) == (2, 10, 10, 0)
        levels = levels_of(found)
        assert (levels["buckets"], levels["level0Files"]) == (4, 10)
        assert (levels["sortedRuns"], levels["sortedRunsBucket"]) == (3, "dt=a/bucket-0")
        assert found.nearest == "at most 3 sorted runs in a bucket, due above 5"
        assert (found.groups, found.deleted_rows, levels["dueBuckets"]) == (4, 0, 0)
        assert (levels["maxLevel0Files"], levels["maxLevel0Bucket"]) == (3, "dt=a/bucket-0")
        assert levels["sizeAmplificationPercent"] is None
        assert found.bytes == found.full_bytes == data_bytes(table)
        assert found.snapshot_time is not None
        assert found.snapshot_time.timestamp() * 1000 == table.snapshot(3)["timeMillis"]
        assert (found.findings, found.next_trigger) == ((), None)

    def test_a_table_without_snapshots(self, table: SmallTable, tmp_path: Path) -> None:
        watcher = Watcher(table, tmp_path / "kept")
        found = watcher.find()
        assert (found.snapshot, found.snapshot_time, found.files) == (None, None, 0)
        levels = levels_of(found)
        assert (levels["sortedRunsBucket"], levels["maxLevel0Files"], levels["maxLevel0Bucket"]) == (
            None,
            0,
            None,
        )
        assert (found.snapshots.count, found.snapshots.oldest) == (0, None)
        assert watcher.look() is None
        table.append()
        assert watcher.find().snapshot == "1"

    def test_why_it_is_due(self, table: SmallTable, watcher: Watcher) -> None:
        for _ in range(4):
            table.append("b", keys=range(3, 4))
        (finding,) = watcher.find(
            address=overriding(table, **{"compaction.max-size-amplification-percent": "9999"})
        ).findings
        assert finding.bucket.startswith("dt=b/bucket-")
        assert (finding.trigger, finding.buckets) == ("SizeRatio", 1)
        assert finding.detail.startswith(f"in bucket {finding.bucket[-1]} of dt=b, ")

    def test_bytes_that_only_kept_snapshots_need_are_found(self, table: SmallTable, watcher: Watcher) -> None:
        before = watcher.find()
        compact(table)
        after = watcher.find().snapshots
        assert (after.count, after.expired_bytes, after.writers_expire) == (3, before.bytes, False)
        assert after.oldest is not None
        assert after.oldest.timestamp() * 1000 == table.snapshot(1)["timeMillis"]

        table.expire(keep=1)
        table.append()
        later = watcher.find().snapshots
        assert (later.count, later.expired_bytes) == (2, 0)

    @pytest.mark.parametrize(
        ("options", "write_only"),
        [
            case({"write-only": "true"}, True, id="write-only"),
            case({"write-only": "false"}, False, id="writers compact"),
            case({"write-only": "false", "write.compaction-skip": "true"}, False, id="the newer name wins"),
        ],
    )
    def test_who_compacts_and_expires_is_what_the_table_says(
        self, options: dict[str, str], write_only: bool, tmp_path: Path
    ) -> None:
        table = SmallTable(tmp_path / "warehouse", options=options).create()
        for overridden in ("true", "false"):
            watcher = Watcher(table, tmp_path / overridden)
            found = watcher.find(address=overriding(table, **{"write-only": overridden}))
            assert (found.write_only, found.snapshots.writers_expire) == (write_only, not write_only)

    def test_what_stands_in_the_way_is_told_beside_the_rest(self, tmp_path: Path) -> None:
        table = SmallTable(tmp_path / "warehouse", options={"lookup.remote-file.enabled": "true"}).create()
        table.append()
        found = Watcher(table, tmp_path / "kept").find()
        assert found.files == 4
        assert any("lookup.remote-file.enabled" in refusal for refusal in found.refusals)

    def test_partitions_by_a_filter(self, table: SmallTable, watcher: Watcher) -> None:
        for _ in range(4):
            table.append("b")
        found = watcher.find(wanted=Filter(Selection(({"dt": "b"},)), idle_seconds=0))
        assert (found.partitions_due, found.full_partitions) == (({"dt": "b"},), ({"dt": "b"},))
        assert watcher.find(wanted=Filter(Selection(({"dt": "a"},))), reconsider=True).findings == ()

    def test_a_blocked_bucket_is_not_due_until_its_files_change(
        self, table: SmallTable, watcher: Watcher
    ) -> None:
        table.append("a")
        free = watcher.find()
        path, eager = "dt=a/bucket-0", overriding(table, **{"num-sorted-run.compaction-trigger": "2"})
        held = Filter(Selection(held={path: fingerprint(table, path)}))
        due = watcher.find(address=eager, is_full=True)

        found = watcher.find(address=eager, wanted=held, is_full=True)

        assert [(each.group, each.fingerprint) for each in found.blocked] == list(held.selection.held.items())
        assert found.findings != due.findings
        assert sum(each.buckets for each in found.findings) == sum(each.buckets for each in due.findings) - 1
        assert found.full_bytes < free.full_bytes
        assert (found.files, found.bytes) == (free.files, free.bytes)
        assert levels_of(found)["sortedRuns"] == levels_of(free)["sortedRuns"]

        table.append("a")
        found = watcher.find(address=eager, wanted=held)
        assert found.blocked == ()
        assert sum(each.buckets for each in found.findings) == sum(each.buckets for each in due.findings)

    def test_a_filter_by_a_column_that_does_not_exist(self, watcher: Watcher) -> None:
        with pytest.raises(InvalidOption) as raised:
            watcher.look(wanted=Filter(Selection(({"day": "b"},))))
        assert raised.value.option == "--partition"

    def test_what_a_filter_leaves_out_is_said(self, table: SmallTable, watcher: Watcher) -> None:
        eager = overriding(table, **{"num-sorted-run.compaction-trigger": "1"})
        chosen = Filter(Selection(({"dt": "none"},)))
        (none, outside) = watcher.find(address=eager, wanted=chosen).waits
        assert "none of the policy's partitions" in none
        assert "2 partitions outside" in outside

    def test_partitions_that_are_not_idle_are_said(self, watcher: Watcher) -> None:
        found = watcher.find(wanted=Filter(idle_seconds=3600))
        assert "2 other partitions" in found.full_wait
        watcher.clock.moved = HOUR
        assert watcher.find(wanted=Filter(idle_seconds=3600), reconsider=True).full_wait == ""

    def test_a_misspelt_option_of_the_lake_table(self, table: SmallTable, watcher: Watcher) -> None:
        """The error blames the LakeTable, which has the mistake, and not the table."""
        with pytest.raises(InvalidOption) as raised:
            watcher.look(address=overriding(table, **{"num-sorted-run.compaction-triger": "3"}))
        assert in_fields(raised.value).option.startswith("spec.tableOptions")


class TestOtherCompactors:
    def test_a_compaction_by_another_job_is_named_until_it_is_old(
        self, table: SmallTable, watcher: Watcher
    ) -> None:
        assert watcher.find().other_compactors == ()
        compact_as(table, "job-1\n")
        table.append()

        found = watcher.find()
        (other,) = found.other_compactors
        assert other.evidence == "snapshot 3 (COMPACT, commit user job-1 )"
        assert other.last_seen is not None
        assert other.last_seen.timestamp() * 1000 == table.snapshot(3)["timeMillis"]
        assert found == watcher.full()

        end = other.last_seen + COMPACTOR_WINDOW
        assert found.next_trigger is not None
        assert found.next_trigger <= end
        watcher.clock.moved = COMPACTOR_WINDOW
        assert watcher.find(reconsider=True).other_compactors == ()

    def test_full_reads_and_caches_tell_of_it_too(self, table: SmallTable, watcher: Watcher) -> None:
        compact_as(table, "job-1")
        first = watcher.find()
        watcher.start_again()
        table.append()
        later = watcher.find()
        assert [each.evidence[:10] for each in first.other_compactors] == ["snapshot 3"]
        assert later.other_compactors == first.other_compactors

    def test_own_compactions_and_writes_name_nobody(self, table: SmallTable, watcher: Watcher) -> None:
        watcher.find()
        compact(table)
        table.overwrite("a")
        assert watcher.find().other_compactors == watcher.full().other_compactors == ()

    def test_writers_that_compact_are_no_others(self, tmp_path: Path) -> None:
        table = SmallTable(tmp_path / "warehouse", options={"write-only": "false"}).create()
        table.append()
        compact_as(table, "a writer")
        found = Watcher(table, tmp_path / "kept").find()
        assert (found.write_only, found.other_compactors) == (False, ())


def compact_as(table: SmallTable, user: str) -> None:
    """Compacts a table as a job with this commit user would."""
    compact(table)
    path = table.folder / "snapshot" / f"snapshot-{table.numbers[-1]}"
    path.write_text(json.dumps({**json.loads(path.read_text()), "commitUser": user}))


def kept_file(watcher: Watcher) -> Path:
    """The database of the only table that is kept."""
    (path,) = watcher.folder.rglob("*.kept")
    return path


def overriding(table: SmallTable, **options: str) -> object:
    return replace(table.address, overrides=options)


def data_bytes(table: SmallTable) -> int:
    return sum(path.stat().st_size for path in table.folder.rglob("bucket-*/*"))


class TestBlocked:
    """Buckets that stand in the way of no other."""

    def test_damaged_metadata_of_one_bucket(self, table: SmallTable, watcher: Watcher) -> None:
        for _ in range(4):
            table.append()
        whole = watcher.find()
        lift(table, "dt=a/bucket-0")
        found = watcher.find(is_full=True)

        (blocked,) = found.blocked
        assert (blocked.group, blocked.is_corrupt) == ("dt=a/bucket-0", True)
        assert blocked.problem
        assert blocked.fingerprint == fingerprint(table, "dt=a/bucket-0")
        assert (found.files, found.bytes, levels_of(found)["buckets"]) == (whole.files, whole.bytes, 4)
        assert [finding.buckets for finding in whole.findings] == [4]
        assert [finding.buckets for finding in found.findings] == [3]
        assert 0 < found.full_bytes < whole.full_bytes

    def test_it_stays_blocked_while_its_files_overlap(self, table: SmallTable, watcher: Watcher) -> None:
        lift(table, "dt=a/bucket-0")
        (before,) = watcher.find().blocked
        table.append("b")
        assert watcher.find() == watcher.full()
        assert watcher.seen is not None
        assert watcher.seen.blocked == (before,)
        table.append("a")
        (after,) = watcher.find().blocked
        assert after.fingerprint != before.fingerprint
        table.overwrite("a")
        assert watcher.find().blocked == ()
        assert watcher.seen == watcher.full()

    def test_a_bucket_that_is_held(self, table: SmallTable, watcher: Watcher) -> None:
        for _ in range(4):
            table.append()
        everything = watcher.find()
        path = "dt=b/bucket-1"
        held = Filter(
            Selection(({"dt": "b"},), held={path: fingerprint(table, path), "dt=z/bucket-0": "0" * 16})
        )

        found = watcher.find(wanted=held, reconsider=True)

        (blocked,) = found.blocked
        assert (blocked.group, blocked.fingerprint) == (path, fingerprint(table, path))
        assert [finding.buckets for finding in found.findings] == [1]
        assert 0 < found.full_bytes < everything.full_bytes / 2
        assert (found.files, found.bytes) == (everything.files, everything.bytes)
        assert found == watcher.full(wanted=held)

        table.append("b")
        found = watcher.find(wanted=held)
        assert found.blocked == ()
        assert [finding.buckets for finding in found.findings] == [2]

    def test_a_partition_all_of_whose_buckets_are_held_is_not_due(
        self, table: SmallTable, watcher: Watcher
    ) -> None:
        for _ in range(4):
            table.append()
        paths = ["dt=b/bucket-0", "dt=b/bucket-1"]
        held = {path: fingerprint(table, path) for path in paths}
        found = watcher.find(wanted=Filter(Selection((dict[str, str](),), held=held)))
        assert (found.partitions_due, found.full_partitions) == (({"dt": "a"},), ({"dt": "a"},))
        assert [blocked.group for blocked in found.blocked] == paths


def lift(table: SmallTable, path: str) -> None:
    """Has a bucket's manifest entries say that all its files, which overlap, are of level 4."""
    opened = open_table(table.address)
    folder = table.folder / "manifest"
    for file in [each for each in folder.glob("manifest-*") if not each.name.startswith("manifest-list-")]:
        entries = entries_of(opened.manifests.columns_of(file.name, statistics=True))
        lifted = [
            replace(entry, file=entry.file.upgraded(4))
            if opened.bucket_id(entry.partition, entry.bucket).path == path
            else entry
            for entry in entries
        ]
        (written,) = manifest_files(opened).write(lifted, f"lifted-{file.name}")
        (folder / written.file_name).replace(file)


def fingerprint(table: SmallTable, path: str) -> str:
    """Of the files of a bucket."""
    view = open_table(table.address).view(Selection())
    assert view is not None
    (bucket,) = (each for each in view.bucket_ids if each.path == path)
    return fingerprint_of((file.name, file.level) for file in view.bucket(bucket).files)


class TestCosts:
    def test_unchanged_is_one_request(self, watcher: Watcher) -> None:
        watcher.find()
        for _ in range(3):
            with recorded() as asked:
                assert watcher.look() is None
            assert asked.requests == [("exists", "snapshot-3")]

    def test_unchanged_writes_nothing(self, table: SmallTable, watcher: Watcher) -> None:
        watcher.find()
        before = {path: path.read_bytes() for path in watcher.folder.rglob("*") if path.is_file()}
        assert before
        assert watcher.look() is None
        assert {path: path.read_bytes() for path in watcher.folder.rglob("*") if path.is_file()} == before

    def test_change_costs_the_new_deltas_only(self, table: SmallTable, watcher: Watcher) -> None:
        watcher.find()
        table.append("a")
        table.append("b")
        with recorded() as asked:
            watcher.find()
        manifests = [name for name in asked.of("new_input_stream") if name.startswith("manifest-")]
        lists = [name for name in manifests if name.startswith("manifest-list-")]
        assert sorted(lists) == sorted(table.snapshot(number)["deltaManifestList"] for number in (3, 4))
        assert len(manifests) - len(lists) == 2
        assert asked.of("list_status") == []

    def test_a_new_worker_goes_on_where_the_last_one_ended(self, table: SmallTable, watcher: Watcher) -> None:
        seen = watcher.find()
        watcher.start_again()
        assert watcher.look() is None

        watcher.start_again()
        watcher.seen = None
        with recorded() as asked:
            assert watcher.find() == seen
        assert not [name for name in asked.of("new_input_stream") if name.startswith("manifest-")]

    def test_reconsidering_lists_and_reads_nothing(self, watcher: Watcher) -> None:
        seen = watcher.find()
        with recorded() as asked:
            assert watcher.find(reconsider=True) == seen
        assert asked.requests == [("exists", "snapshot-3")]

    def test_tables_beyond_those_that_stay_open_cost_more_and_say_the_same(
        self, table: SmallTable, watcher: Watcher
    ) -> None:
        watcher.most_open = 1
        watcher.start_again()
        watcher.find()
        watcher.watch.observe(ObservationRequest(table.address, "another"))
        assert watcher.look() is None
        table.append()
        assert watcher.find() == watcher.full()


class TestPortions:
    """Tables of which only some files are in memory at a time."""

    @pytest.fixture(autouse=True)
    def few_at_a_time(self, watcher: Watcher) -> None:
        watcher.observed = replace(OBSERVED, layout=replace(LAYOUT, portion=3))
        watcher.start_again()

    @pytest.mark.thorough
    def test_all_looks_find_what_they_find_otherwise(self, table: SmallTable, watcher: Watcher) -> None:
        def at_once() -> Observation:
            return replace(watcher, observed=OBSERVED).full()

        compact(table)
        table.append("a", "c")
        assert watcher.find() == at_once()
        table.append()
        table.overwrite("b")
        assert watcher.find() == at_once() == watcher.full()
        address = overriding(table, **{"num-sorted-run.compaction-trigger": "1"})
        assert watcher.find(address=address, reconsider=True).findings

    def test_nothing_stays_in_the_folder_but_what_is_kept(self, watcher: Watcher) -> None:
        watcher.find()
        files = [path for path in watcher.folder.rglob("*") if path.is_file()]
        assert sorted(path.suffix or path.name for path in files) == [".kept", "used"]


class TestTime:
    def test_a_trigger_that_waits_for_its_time(self, tmp_path: Path) -> None:
        options = {"compaction.optimization-interval": "1 h"}
        table = SmallTable(tmp_path / "warehouse", options=options).create()
        table.append()
        compact(table)
        table.append(keys=range(2))
        watcher = Watcher(table, tmp_path / "kept")
        before = watcher.find()
        assert before.findings == ()
        assert before.next_trigger is not None
        assert HOUR / 2 < before.next_trigger - watcher.clock.now() < HOUR

        watcher.clock.moved = HOUR
        assert watcher.look() is None, "there is no new snapshot"
        after = watcher.find(reconsider=True)
        assert [finding.trigger for finding in after.findings] == ["OptimizationInterval"]
        assert (after.snapshot, after.next_trigger) == (before.snapshot, None)


class TestHistory:
    def test_a_table_that_was_rolled_back_is_seen_as_it_was(
        self, table: SmallTable, watcher: Watcher
    ) -> None:
        watcher.find()
        table.roll_back_to(1)
        found = watcher.find(is_full=True)
        assert (found.snapshot, found.files) == ("1", 4)

    @pytest.mark.parametrize("commits", [2, 3])
    def test_rolled_back_and_written_to_again(
        self, commits: int, table: SmallTable, watcher: Watcher
    ) -> None:
        """The numbers are used a second time, for snapshots with other files."""
        watcher.find()
        table.roll_back_to(1)
        for _ in range(commits):
            table.append("a")
        found = watcher.find()
        assert found == watcher.full()
        assert (found.snapshot, found.files) == (str(1 + commits), 4 + 2 * commits)

    def test_rolled_back_to_the_same_number(self, table: SmallTable, watcher: Watcher) -> None:
        """No cheap look can see that, but a full one does, and one after a long pause."""
        watcher.find()
        table.roll_back_to(1)
        table.append("a")
        assert watcher.look() is None
        watcher.clock.moved = HOUR
        assert watcher.find() == watcher.full()

    def test_dropped_and_created_again(self, table: SmallTable, watcher: Watcher) -> None:
        before = watcher.find()
        table.drop()
        table.create()
        for _ in range(3):
            table.append("a")
        found = watcher.find()
        assert found == watcher.full()
        assert found.table_uuid != before.table_uuid
        assert (found.snapshot, found.files) == ("3", 6)

    def test_a_dropped_table_is_not_found(self, table: SmallTable, watcher: Watcher) -> None:
        watcher.find()
        table.drop()
        with pytest.raises(NotFound):
            watcher.look(is_full=True)

    def test_another_table_was_seen_under_the_name(self, watcher: Watcher) -> None:
        seen = watcher.find()
        watcher.seen = replace(seen, table_uuid="schema-of-another")
        assert watcher.find() == seen

    def test_next_snapshot_has_come_and_gone(self, tmp_path: Path) -> None:
        table = SmallTable(tmp_path / "w", options={"snapshot.num-retained.max": "10"}).create()
        table.append()
        watcher = Watcher(table, tmp_path / "kept")
        watcher.find()
        table.append()
        table.append("a")
        table.expire(keep=1)
        found = watcher.find()
        assert found == watcher.full()
        assert found.snapshot == "3"

    def test_next_snapshot_has_come_and_gone_in_a_long_pause(
        self, table: SmallTable, watcher: Watcher
    ) -> None:
        watcher.find()
        table.append()
        table.append("a")
        table.expire(keep=1)
        watcher.clock.moved = HOUR
        found = watcher.find()
        assert found == watcher.full()
        assert found.snapshot == "4"

    def test_no_snapshot_is_known_and_the_first_ones_are_gone(
        self, table: SmallTable, tmp_path: Path
    ) -> None:
        watcher = Watcher(table, tmp_path / "kept")
        watcher.find()
        table.append()
        table.append()
        table.expire(keep=1)
        watcher.clock.moved = HOUR
        assert watcher.find().snapshot == "2"

    @pytest.mark.parametrize("gone", ["deltaManifestList", "snapshot"])
    def test_a_step_between_is_gone(self, gone: str, table: SmallTable, watcher: Watcher) -> None:
        watcher.find()
        table.append()
        table.append("a")
        table.append("b")
        if gone == "snapshot":
            (table.folder / "snapshot" / "snapshot-4").unlink()
        else:
            (table.folder / "manifest" / table.snapshot(4)[gone]).unlink()
        found = watcher.find()
        assert (found.snapshot, found.files) == ("5", 16)

    def test_options_of_a_new_schema_are_observed(self, table: SmallTable, watcher: Watcher) -> None:
        watcher.find()
        table.set_option("num-sorted-run.compaction-trigger", "2")
        table.append()
        found = watcher.find()
        assert found.schema_id == 1
        assert found.nearest.endswith("due above 2")
        assert found == watcher.full()

    def test_a_new_schema_without_a_commit_is_seen_by_a_full_look(
        self, table: SmallTable, watcher: Watcher
    ) -> None:
        watcher.find()
        table.set_option("write-only", "false")
        assert watcher.look() is None
        assert not watcher.find(is_full=True).write_only

    def test_other_options_for_the_same_table(self, table: SmallTable, watcher: Watcher) -> None:
        assert watcher.find().findings == ()
        address = overriding(table, **{"num-sorted-run.compaction-trigger": "1"})
        assert watcher.find(address=address, reconsider=True).findings

    @pytest.mark.parametrize(
        "damage",
        [
            case(lambda path: path.write_bytes(b"garbage"), id="garbage"),
            case(lambda path: path.unlink(), id="gone"),
            case(lambda path: path.write_bytes(path.read_bytes()[:50]), id="cut off"),
        ],
    )
    def test_what_was_kept_is_damaged(
        self, damage: Callable[[Path], object], table: SmallTable, watcher: Watcher
    ) -> None:
        watcher.find()
        damage(kept_file(watcher))
        assert watcher.find(reconsider=True) == watcher.full()
        damage(kept_file(watcher))
        table.append()
        assert watcher.find() == watcher.full()

    def test_a_look_that_fails_leaves_the_next_one_alone(self, table: SmallTable, watcher: Watcher) -> None:
        seen = watcher.find()
        aside = table.folder.with_name("aside")
        table.folder.rename(aside)
        with pytest.raises(LithifyError):
            watcher.look(is_full=True)
        aside.rename(table.folder)
        assert watcher.look() is None
        assert watcher.find(is_full=True) == seen


@settings(derandomize=True, deadline=None, max_examples=examples(6))
@given(st.randoms(use_true_random=False))
@pytest.mark.thorough
def test_looking_at_changes_is_the_same_as_looking_at_everything(rng: Random) -> None:
    """Whatever happens to a table, and however many commits lie between two looks."""
    with TemporaryDirectory() as folder:
        options = rng.choice(({}, {"compaction.optimization-interval": "90 min"}))
        table = SmallTable(Path(folder) / "warehouse", options=options).create()
        watcher = Watcher(table, Path(folder) / "kept")
        for _ in range(5):
            for _ in range(rng.choice((0, 1, 1, 2))):
                _something(table, rng)
            watcher.clock.moved += rng.choice((timedelta(), HOUR))
            if rng.randrange(5) == 0:
                watcher.start_again()
            found = watcher.look()
            expected = watcher.full()
            if found is None:
                # Whether old snapshots were expired is only looked up when there is a new one.
                found = replace(watcher.find(reconsider=True), snapshots=expected.snapshots)
            assert found == expected


def _something(table: SmallTable, rng: Random) -> None:
    numbers = table.numbers
    match rng.choice(("append", "append", "one", "overwrite", "minor", "full", "expire", "back", "schema")):
        case "append":
            table.append()
        case "one":
            table.append(rng.choice("abc"), keys=range(rng.randint(1, 9)))
        case "overwrite":
            table.overwrite(rng.choice("ab"))
        case "minor" if numbers:
            compact(table, Strategy.MINOR)
        case "full" if numbers:
            compact(table)
        case "expire" if numbers:
            table.expire(keep=rng.randint(1, 3))
        case "back" if len(numbers) > 1:
            table.roll_back_to(rng.choice(numbers[:-1]))
            while table.numbers[-1] <= numbers[-1]:  # to the same number, no cheap look could see it
                table.append()
        case "schema":
            table.set_option("num-sorted-run.compaction-trigger", str(rng.randint(1, 6)))
            table.append()


class TestRuns:
    def test_what_a_run_committed(self, table: SmallTable, watcher: Watcher) -> None:
        before = watcher.find()
        compact(table, run="run-1")
        table.append()
        found = watcher.watch.find_run(table.address, "run-1")
        assert found is not None
        assert (found.snapshot, found.base) == ("3", "2")
        assert (found.input_files, found.input_bytes) == (before.files, before.bytes)
        assert (found.output_files, found.output_bytes > 0) == (4, True)

    def test_the_steps_of_a_run_are_summed_up(self, table: SmallTable, watcher: Watcher) -> None:
        for number in (0, 1):
            compact(table, run=f"run-{number}", buckets=frozenset({number}))
            table.append("a", keys=range(1))
        for path in (table.folder / "snapshot").glob("snapshot-*"):
            path.write_text(path.read_text().replace("run-0", "run-1"))
        found = watcher.watch.find_run(table.address, "run-1")
        assert found is not None
        assert (found.snapshot, found.base, found.input_files) == ("5", "2", 9)

    @pytest.mark.parametrize("since", [None, timedelta(hours=2), timedelta(days=7)])
    def test_a_run_that_never_committed_is_not_found(
        self, since: timedelta | None, table: SmallTable, watcher: Watcher
    ) -> None:
        moment = since and datetime.now(UTC) - since
        compact(table, run="run-1")
        assert watcher.watch.find_run(table.address, "run-2", moment) is None

    def test_snapshots_from_before_the_run_are_not_read(self, table: SmallTable, watcher: Watcher) -> None:
        long_ago = datetime.now(UTC) - timedelta(days=2)
        for number in table.numbers:
            path = table.folder / "snapshot" / f"snapshot-{number}"
            millis = table.snapshot(number)["timeMillis"]
            path.write_text(
                path.read_text().replace(str(millis), str(int(long_ago.timestamp() * 1000) + number))
            )
        with recorded() as asked:
            assert watcher.watch.find_run(table.address, "run-2", datetime.now(UTC)) is None
        assert "snapshot-1" not in asked.of("new_input_stream")

    def test_expired_snapshots_leave_a_recent_run_unknown(self, table: SmallTable, watcher: Watcher) -> None:
        table.expire(keep=1)
        began = datetime.now(UTC) - 2 * HOUR
        with pytest.raises(CommitUnknown):
            watcher.watch.find_run(table.address, "run-1", began)
        assert watcher.watch.find_run(table.address, "run-1") is None
        assert watcher.watch.find_run(table.address, "run-1", began + 4 * HOUR) is None

    def test_a_run_that_was_rolled_back_is_not_found(self, table: SmallTable, watcher: Watcher) -> None:
        compact(table, run="run-1")
        table.roll_back_to(2)
        assert watcher.watch.find_run(table.address, "run-1", datetime.now(UTC) - HOUR) is None


class TestTables:
    def test_tables_of_a_warehouse_are_listed_by_database(self, table: SmallTable, watcher: Watcher) -> None:
        shutil.copytree(table.folder, table.folder.with_name("copy"))
        shutil.copytree(table.folder.parent, table.warehouse / "another.db")
        shutil.copytree(table.folder.parent, table.warehouse / "sys.db")
        (table.warehouse / "empty.db").mkdir()
        (table.warehouse / "no database").mkdir()
        (table.folder.parent / "no table").write_text("")
        (table.folder.parent / ".hidden").mkdir()
        (table.folder.parent / "folder").mkdir()
        tables = ("another.copy", "another.t", "db.copy", "db.t")
        assert watcher.watch.list_tables(table.address) == tables

    def test_of_a_warehouse_that_does_not_exist(self, table: SmallTable, watcher: Watcher) -> None:
        with pytest.raises(NotFound):
            watcher.watch.list_tables(replace(table.address, warehouse=str(table.warehouse / "none")))
