"""Which small files are joined: bins of unordered tables, runs of ordered buckets, leftovers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.bin_packing.packing import has_many_deleted, pack, pack_fully
from lithify.formats.paimon.planning.bin_packing.plan import (
    PackedUnit,
    leftovers_due_millis,
    plan_bucket,
    verdicts,
)
from lithify.formats.paimon.planning.bin_packing.policy import PackingOptions
from lithify.formats.paimon.planning.bin_packing.runs import full_run, minor_runs
from lithify.formats.paimon.planning.files import in_order
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.merge_trees import MIDNIGHT_MILLIS, names, repeatable
from support.small_files import bucket_of, cases, file, marked

NOW = datetime.fromtimestamp(MIDNIGHT_MILLIS / 1000, UTC)
LOOSE = PackingOptions(target_file_size=100, small_file_size=70, open_file_cost=1, min_files=3)
ORDERED = replace(LOOSE, is_ordered=True)
Case = tuple[PackingOptions, tuple[DataFile, ...]]


def files(*sizes: int) -> list[DataFile]:
    return [file(f"f{number}", size, first=10 * number) for number, size in enumerate(sizes)]


def bins(*sizes: int) -> list[list[str]]:
    return [names(each) for each in pack(files(*sizes), LOOSE).bins]


def sorted_names(packed: Iterable[DataFile]) -> list[str]:
    return sorted(names(packed))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        case([], [], id="no files"),
        case([10, 10], [], id="too few"),
        case([10, 10, 10], [["f0", "f1", "f2"]], id="enough files"),
        case([70, 70, 70], [], id="no small ones"),
        case([69, 30, 10], [["f2", "f1", "f0"]], id="smallest first"),
        case([69, 69, 69], [["f0", "f1", "f2"]], id="enough bytes"),
        case([69, 69, 69, 60], [["f3", "f0", "f1"]], id="a full bin leaves the rest"),
    ],
)
def test_small_files_are_packed(sizes: list[int], expected: list[list[str]]) -> None:
    assert bins(*sizes) == expected


@repeatable
@given(cases(is_ordered=False))
def test_every_small_file_is_in_one_bin_or_left_over(drawn: Case) -> None:
    options, given_files = drawn
    packed = pack(given_files, options)
    in_bins = [each for one in packed.bins for each in one]
    small = [each.name for each in given_files if each.size < options.small_file_size]
    many = [each.name for each in given_files if has_many_deleted(each, options)]
    assert sorted_names([*in_bins, *packed.leftovers]) == sorted({*small, *many})
    assert all(len(one) > 1 for one in packed.small_bins)
    assert len(packed.leftovers) < options.min_files
    assert all(each.vector_file is None for one in (*packed.small_bins, packed.leftovers) for each in one)
    last = options.small_file_size + options.open_file_cost
    for one in packed.small_bins:
        assert sum(each.size + options.open_file_cost for each in one) < max(
            options.full_bin_size + last, 2 * last
        )


def test_a_plan_takes_a_limited_number_of_files() -> None:
    packed = pack(files(1, 1, 1, 1, 1, 1), replace(LOOSE, max_files=4))
    assert names(f for one in packed.bins for f in one) == ["f0", "f1", "f2", "f3"]


class TestDeletedRows:
    MARKING = replace(LOOSE, delete_ratio=0.2)

    @staticmethod
    def bins(*given_files: DataFile) -> list[list[str]]:
        return [names(each) for each in pack(given_files, TestDeletedRows.MARKING).bins]

    @pytest.mark.parametrize(
        ("size", "deleted", "is_rewritten"),
        [
            case(99, 2, False, id="a large file with few"),
            case(99, 3, True, id="a large file with many"),
            case(99, None, True, id="a large file with nobody knows how many"),
            case(10, 1, True, id="a small file with few"),
        ],
    )
    def test_alone_are_a_reason_to_rewrite_a_file(
        self, size: int, deleted: int | None, is_rewritten: bool
    ) -> None:
        alone = marked(file("f", size), deleted=deleted)
        assert self.bins(alone) == ([["f"]] if is_rewritten else [])
        assert [names(each) for each in pack_fully([alone], self.MARKING)] == [["f"]]
        planned = plan_bucket(bucket_of([alone]), self.MARKING, Strategy.MINOR, NOW)
        assert isinstance(planned, PackedUnit) == is_rewritten
        if isinstance(planned, PackedUnit):
            assert (planned.trigger, planned.rewritten_files) == ("DeletedRows", 1)

    def test_of_one_index_file_are_packed_together(self) -> None:
        """The smallest group first, and no group is torn."""
        sizes = (60, 65, 69, 60, 65, 69)
        found = [marked(each, f"index-{place % 3}") for place, each in enumerate(files(*sizes))]
        assert self.bins(*found) == [["f0", "f3", "f1", "f4"], ["f2", "f5"]]
        assert self.bins(*found, file("g", 10), file("h", 11)) == self.bins(*found)

    def test_do_not_count_as_small_files(self) -> None:
        found = [*files(10, 10), marked(file("m", 10))]
        assert self.bins(*found) == [["m"]]
        assert names(pack(found, self.MARKING).leftovers) == ["f0", "f1"]

    def test_mean_nothing_where_tables_have_no_vectors(self) -> None:
        assert not has_many_deleted(marked(file("f", 99), deleted=9), LOOSE)

    def test_are_all_dropped_by_a_full_compaction(self) -> None:
        few = marked(file("f", 99), deleted=1)
        planned = plan_bucket(bucket_of([few]), self.MARKING, Strategy.FULL, NOW)
        assert isinstance(planned, PackedUnit)
        assert [names(each) for each in planned.bins] == [["f"]]
        with_small = plan_bucket(bucket_of([few, *files(10)]), self.MARKING, Strategy.FULL, NOW)
        assert isinstance(with_small, PackedUnit)
        assert [names(each) for each in with_small.bins] == [["f", "f0"]]
        rests = plan_bucket(bucket_of([file("f", 99)]), self.MARKING, Strategy.FULL, NOW)
        assert isinstance(rests, Idle)
        assert "deleted" in rests.reason

    def test_have_a_verdict_only_where_there_are_vectors(self) -> None:
        bucket = bucket_of([marked(file("f", 99), deleted=9), marked(file("g", 10), deleted=1)])
        told = {each.trigger: each for each in verdicts(bucket, self.MARKING, NOW)}
        assert [each.fired for each in told.values()] == [True, False, False]
        assert "2 files" in told["DeletedRows"].detail
        assert "1 of them above 20 %" in told["DeletedRows"].detail
        assert len(verdicts(bucket, LOOSE, NOW)) == 2

    def test_let_leftovers_wait(self) -> None:
        """As in Paimon, they grow old only while nothing else is to be done."""
        bucket = bucket_of([marked(file("m", 10)), *files(10, 10)])
        planned = plan_bucket(bucket, self.MARKING, Strategy.MINOR, NOW + timedelta(days=1))
        assert isinstance(planned, PackedUnit)
        assert [names(each) for each in planned.bins] == [["m"]]
        assert leftovers_due_millis(bucket, self.MARKING, NOW) is None


class TestLeftovers:
    AGED = replace(LOOSE, leftover_millis=60_000)

    @pytest.mark.parametrize(
        ("seconds", "count", "is_due"),
        [
            case(59, 2, False, id="young"),
            case(60, 2, True, id="old"),
            case(60, 1, False, id="one alone is as good as it gets"),
        ],
    )
    def test_are_joined_when_the_newest_is_old(self, seconds: int, count: int, is_due: bool) -> None:
        bucket = bucket_of(files(*[10] * count))
        planned = plan_bucket(bucket, self.AGED, Strategy.MINOR, NOW + timedelta(seconds=seconds))
        assert isinstance(planned, PackedUnit) == is_due
        if isinstance(planned, PackedUnit):
            assert (planned.trigger, planned.rewritten_files) == ("OldSmallFiles", count)

    def test_are_told_with_their_numbers(self) -> None:
        """Nothing in the text changes while the files stay: a status would be written again and again."""
        bucket = bucket_of(files(10, 10))
        told = {
            verdicts(bucket, self.AGED, NOW + timedelta(seconds=later))[-1].detail for later in (0, 60, 3600)
        }
        (detail,) = told
        assert detail.startswith("2 small files, joined from 3 on, or when none has come for 1 min")
        assert "the newest came at 2026-03-01 00:00:00" in detail

    def test_become_due_at_a_known_time(self) -> None:
        due = leftovers_due_millis(bucket_of(files(10, 10)), self.AGED, NOW)
        assert due == MIDNIGHT_MILLIS + 60_000
        assert leftovers_due_millis(bucket_of(files(10, 10, 10)), self.AGED, NOW) is None
        assert leftovers_due_millis(bucket_of(files(10)), self.AGED, NOW) is None

    @pytest.mark.parametrize(
        ("ahead", "due"),
        [
            case([0, 60], 120, id="a clock that is a little fast"),
            case([0, 500], 60, id="a clock that is wrong"),
            case([0, 10**9], 60, id="clocks that are years ahead"),
            case([10**9, 10**9], 0, id="no file with a time that can be right"),
            case([-(10**9), 0], 60, id="a clock that is years behind"),
        ],
    )
    def test_do_not_wait_for_ever_because_of_a_wrong_clock(self, ahead: list[int], due: int) -> None:
        found = bucket_of(
            file(f"f{number}", 10, created=MIDNIGHT_MILLIS + 1000 * seconds)
            for number, seconds in enumerate(ahead)
        )
        assert leftovers_due_millis(found, self.AGED, NOW) == MIDNIGHT_MILLIS + 1000 * due
        for late in (0, max(0, due - 1), due, due + 1):
            planned = plan_bucket(found, self.AGED, Strategy.MINOR, NOW + timedelta(seconds=late))
            assert isinstance(planned, PackedUnit) == (late >= due)

    def test_wait_while_there_are_bins(self) -> None:
        late = NOW + timedelta(days=1)
        bucket = bucket_of(files(69, 69, 69, 60, 68))
        planned = plan_bucket(bucket, self.AGED, Strategy.MINOR, late)
        assert isinstance(planned, PackedUnit)
        assert (planned.trigger, len(planned.bins)) == ("SmallFiles", 1)
        assert [verdict.fired for verdict in verdicts(bucket, self.AGED, late)] == [True, False]

    def test_are_taken_by_a_full_compaction(self) -> None:
        planned = plan_bucket(bucket_of(files(69, 69, 69, 60, 68)), LOOSE, Strategy.FULL, NOW)
        assert isinstance(planned, PackedUnit)
        assert [len(each) for each in planned.bins] == [3, 2]

    def test_a_full_compaction_ends(self) -> None:
        assert isinstance(plan_bucket(bucket_of(files(10, 200)), LOOSE, Strategy.FULL, NOW), Idle)


class TestRuns:
    @pytest.mark.parametrize(
        ("sizes", "expected"),
        [
            case([10, 10], [], id="too few"),
            case([10, 10, 10], [["f0", "f1", "f2"]], id="enough"),
            case([10] * 4, [["f0", "f1", "f2"]], id="the rest waits"),
            case([10] * 6, [["f0", "f1", "f2", "f3", "f4", "f5"]], id="neighbours become one"),
            case([60] * 6, [["f0", "f1", "f2"], ["f3", "f4", "f5"]], id="but no more than a bin"),
            case([150, 10, 10, 10], [["f0", "f1", "f2"]], id="a large file counts, too"),
            case([190, 20, 10, 10], [["f1", "f2", "f3"]], id="the window moves past a large file"),
        ],
    )
    def test_of_minor_compactions(self, sizes: list[int], expected: list[list[str]]) -> None:
        assert [names(run) for run in minor_runs(files(*sizes), ORDERED)] == expected

    @pytest.mark.parametrize(
        ("sizes", "expected"),
        [
            case([10, 10], [], id="too few"),
            case([100, 10, 10, 10], ["f1", "f2", "f3"], id="large ones at the start stay"),
            case([10, 100, 10], ["f0", "f1", "f2"], id="those between do not"),
            case([10, 100, 100], [], id="more large ones than small ones"),
            case([100, 100, 100], [], id="nothing small"),
        ],
    )
    def test_of_full_compactions(self, sizes: list[int], expected: list[str]) -> None:
        assert names(full_run(files(*sizes), ORDERED)) == expected

    def test_a_forced_full_compaction_takes_all(self) -> None:
        assert len(full_run(files(100, 100), replace(ORDERED, force_rewrite=True))) == 2

    def test_files_with_the_same_first_number_stay_together(self) -> None:
        same = [file(name, 10, first=0) for name in "abcd"]
        (run,) = minor_runs([*same, file("e", 10, first=50)], ORDERED)
        assert names(run) == ["a", "b", "c", "d"]
        grown = [file("a", 100, first=0), *(file(name, 10, first=0) for name in "bcd")]
        assert names(full_run(grown, ORDERED)) == ["a", "b", "c", "d"]

    @repeatable
    @given(cases(is_ordered=True))
    def test_are_adjacent_files_and_do_not_overlap(self, drawn: Case) -> None:
        options, given_files = drawn
        place = {each.name: number for number, each in enumerate(in_order(given_files))}
        runs = minor_runs(given_files[::-1], options)
        for run in (*runs, full_run(given_files, options)):
            assert all(place[b.name] - place[a.name] == 1 for a, b in pairwise(run))
            assert len(run) != 1
        numbers = [place[each.name] for run in runs for each in run]
        assert numbers == sorted(set(numbers))
