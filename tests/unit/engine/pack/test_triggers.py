"""Why files are joined: small files, leftovers that grow old, deleted rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.triggers import (
    due_bins,
    full_bins,
    leftovers_due_millis,
    nothing_to_do,
    verdicts,
)
from support.cases import case
from support.merge_trees import MIDNIGHT_MILLIS, names
from support.packed_files import BY_FIRST, File, marked

NOW = datetime.fromtimestamp(MIDNIGHT_MILLIS / 1000, UTC)
LOOSE = PackingOptions(target_file_size=100, small_file_size=70, open_file_cost=1, min_files=3)


def files(*sizes: int) -> list[File]:
    return [File(f"f{number}", size, 10 * number) for number, size in enumerate(sizes)]


class TestDeletedRows:
    MARKING = replace(LOOSE, delete_ratio=0.2)

    def test_fire_the_trigger_of_their_own(self) -> None:
        due = due_bins([marked(File("f", 99), deleted=3)], self.MARKING, NOW, BY_FIRST)
        assert due is not None
        assert (due[1].trigger, [names(each) for each in due[0]]) == ("DeletedRows", [["f"]])

    def test_are_named_where_nothing_is_to_be_done(self) -> None:
        assert "deleted" in nothing_to_do(self.MARKING)
        assert "deleted" not in nothing_to_do(LOOSE)

    def test_have_a_verdict_only_where_there_are_vectors(self) -> None:
        group = [marked(File("f", 99), deleted=9), marked(File("g", 10), deleted=1)]
        found = {each.trigger: each for each in verdicts(group, self.MARKING, NOW, BY_FIRST)}
        assert [each.fired for each in found.values()] == [True, False, False]
        assert "2 files" in found["DeletedRows"].detail
        assert "1 of them above 20 %" in found["DeletedRows"].detail
        assert len(verdicts(group, LOOSE, NOW, BY_FIRST)) == 2

    def test_leftovers_wait_while_deleted_rows_are_due(self) -> None:
        """As in Paimon, they grow old only while nothing else is to be done."""
        group = [marked(File("m", 10)), *files(10, 10)]
        due = due_bins(group, self.MARKING, NOW + timedelta(days=1), BY_FIRST)
        assert due is not None
        assert [names(each) for each in due[0]] == [["m"]]
        assert leftovers_due_millis(group, self.MARKING, NOW) is None


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
        group = files(*[10] * count)
        planned = due_bins(group, self.AGED, NOW + timedelta(seconds=seconds), BY_FIRST)
        assert (planned is not None) == is_due
        if planned is not None:
            (files_joined,), verdict = planned
            assert (verdict.trigger, len(files_joined)) == ("OldSmallFiles", count)

    def test_are_told_with_their_numbers(self) -> None:
        """Nothing in the text changes while the files stay: a status would be written again and again."""
        group = files(10, 10)
        told = {
            verdicts(group, self.AGED, NOW + timedelta(seconds=later), BY_FIRST)[-1].detail
            for later in (0, 60, 3600)
        }
        (detail,) = told
        assert detail.startswith("2 small files, joined from 3 on, or when none has come for 1 min")
        assert "the newest came at 2026-03-01 00:00:00" in detail

    def test_become_due_at_a_known_time(self) -> None:
        due = leftovers_due_millis(files(10, 10), self.AGED, NOW)
        assert due == MIDNIGHT_MILLIS + 60_000
        assert leftovers_due_millis(files(10, 10, 10), self.AGED, NOW) is None
        assert leftovers_due_millis(files(10), self.AGED, NOW) is None

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
        found = [
            File(f"f{number}", 10, created_millis=MIDNIGHT_MILLIS + 1000 * seconds)
            for number, seconds in enumerate(ahead)
        ]
        assert leftovers_due_millis(found, self.AGED, NOW) == MIDNIGHT_MILLIS + 1000 * due
        for late in (0, max(0, due - 1), due, due + 1):
            planned = due_bins(found, self.AGED, NOW + timedelta(seconds=late), BY_FIRST)
            assert (planned is not None) == (late >= due)

    def test_wait_while_there_are_bins(self) -> None:
        late = NOW + timedelta(days=1)
        group = files(69, 69, 69, 60, 68)
        planned = due_bins(group, self.AGED, late, BY_FIRST)
        assert planned is not None
        assert (planned[1].trigger, len(planned[0])) == ("SmallFiles", 1)
        assert [verdict.fired for verdict in verdicts(group, self.AGED, late, BY_FIRST)] == [True, False]

    def test_are_taken_by_a_full_compaction(self) -> None:
        assert [len(each) for each in full_bins(files(69, 69, 69, 60, 68), LOOSE, BY_FIRST)] == [3, 2]

    def test_a_full_compaction_ends(self) -> None:
        assert full_bins(files(10, 200), LOOSE, BY_FIRST) == ()


def test_ordered_files_are_due_where_enough_are_side_by_side() -> None:
    ordered = replace(LOOSE, is_ordered=True)
    due = due_bins(files(10, 10, 10), ordered, NOW, BY_FIRST)
    assert due is not None
    assert (due[1].trigger, [names(each) for each in due[0]]) == ("SmallFiles", [["f0", "f1", "f2"]])
    assert due_bins(files(10, 10), ordered, NOW, BY_FIRST) is None
    assert "side by side" in verdicts(files(10, 10), ordered, NOW, BY_FIRST)[0].detail
    assert full_bins(files(100, 10), ordered, BY_FIRST) == ()
