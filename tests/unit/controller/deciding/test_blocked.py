"""Buckets that cannot be compacted: when they are remembered, and when they are forgotten."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.blocked import after_observation, after_run, held_by
from lithify.controller.deciding.conditions import table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.decision_input import DecisionInput
from lithify.formats.protocol.model import BlockedGroup
from lithify.resources.compaction import Compaction, CompactionStatus
from lithify.resources.modelling import read
from lithify.resources.objects import condition_of
from lithify.resources.table import MOST_BLOCKED, BucketBlock, LakeTableStatus
from support.cases import case
from support.deciding.situations import BRIEFLY, NOON, QUIET, situation

A, B = "dt=1/bucket-0", "dt=2/bucket-0"


def bucket(path: str, fingerprint: str = "f1", *, corrupt: bool = True) -> BlockedGroup:
    return BlockedGroup(path, corrupt, f"data-{fingerprint}.parquet: column k: is broken", fingerprint)


def blocks(*buckets: BlockedGroup) -> tuple[BucketBlock, ...]:
    return tuple(map(BucketBlock.of, buckets))


def status_with(*buckets: BlockedGroup) -> LakeTableStatus:
    return LakeTableStatus(blocked_buckets=blocks(*buckets), blocked_bucket_count=len(buckets))


def run_with(*buckets: BlockedGroup, count: int | None = None) -> Compaction:
    status = CompactionStatus(
        blocked_buckets=blocks(*buckets),
        blocked_bucket_count=len(buckets) if count is None else count,
    )
    plain = {"metadata": {"name": "r", "namespace": "n"}, "spec": {"tableRef": {"name": "orders"}}}
    return replace(read(Compaction, plain), status=status)


class TestRuns:
    def test_what_a_run_met_is_held(self) -> None:
        found = after_run(status_with(bucket(A)), run_with(bucket(B, "f2")))
        assert held_by(found) == {A: "f1", B: "f2"}
        assert found.blocked_bucket_count == 2

    def test_the_newer_word_counts(self) -> None:
        assert held_by(after_run(status_with(bucket(A)), run_with(bucket(A, "f9")))) == {A: "f9"}

    def test_a_run_that_met_none_changes_nothing(self) -> None:
        status = status_with(bucket(A))
        assert after_run(status, run_with()) is status

    def test_there_may_be_more_than_are_listed(self) -> None:
        many = [bucket(f"dt={number}/bucket-0") for number in range(MOST_BLOCKED)]
        found = after_run(status_with(*many), run_with(bucket("late"), count=MOST_BLOCKED + 9))
        assert len(found.blocked_buckets) == MOST_BLOCKED
        assert found.blocked_bucket_count == MOST_BLOCKED + 9
        assert after_observation(found, replace(QUIET, blocked=tuple(many)), held_by(found)) == found


LOOKS = [
    case((), {A: "f1"}, {}, id="not confirmed: its files have changed, or it is gone"),
    case((), {}, {A: "f1"}, id="the look did not know of it"),
    case((), {A: "f0"}, {A: "f1"}, id="the look knew of what it was before"),
    case((bucket(A),), {A: "f1"}, {A: "f1"}, id="confirmed"),
    case((bucket(A, "f2"),), {A: "f1"}, {A: "f2"}, id="other files, and still in the way"),
    case((bucket(A), bucket(B, "f3")), {A: "f1"}, {A: "f1", B: "f3"}, id="another one was found"),
]


class TestLooks:
    @pytest.mark.parametrize(("seen", "held", "left"), LOOKS)
    def test_only_a_look_that_knew_of_it_forgets_it(
        self, seen: tuple[BlockedGroup, ...], held: dict[str, str], left: dict[str, str]
    ) -> None:
        found = after_observation(status_with(bucket(A)), replace(QUIET, blocked=seen), held)
        assert held_by(found) == left
        assert found.blocked_bucket_count == len(left)

    def test_what_a_run_said_is_kept_where_a_look_only_confirms(self) -> None:
        confirming = BlockedGroup(A, is_corrupt=True, problem="as found by a run", fingerprint="f1")
        status = status_with(bucket(A, corrupt=False))
        assert after_observation(status, replace(QUIET, blocked=(confirming,)), held_by(status)) == status

    @BRIEFLY
    @given(
        known=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("123")),
        seen=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("123")),
    )
    def test_looks_come_to_rest(self, known: dict[str, str], seen: dict[str, str]) -> None:
        """A look that receives the blocks of the look before changes nothing."""
        observed = replace(QUIET, blocked=tuple(bucket(path, mark) for path, mark in sorted(seen.items())))
        status = status_with(*(bucket(path, mark) for path, mark in known.items()))
        once = after_observation(status, observed, held_by(status))
        assert held_by(once) == seen
        assert after_observation(once, observed, held_by(once)) == once


def asked(*buckets: BlockedGroup, seen: tuple[BlockedGroup, ...] = ()) -> DecisionInput:
    found = situation(replace(QUIET, blocked=seen))
    table = replace(found.table, status=status_with(*buckets))
    return replace(found, table=table, held=held_by(table.status))


class TestCondition:
    def test_names_bucket_file_and_column(self) -> None:
        blocked = (bucket(A, corrupt=False), bucket(B, "f2"))
        now = asked(*blocked, seen=blocked)
        status = table_status(now, decide(now, NOON), NOON)
        said = condition_of(status.conditions, "BucketsBlocked")
        assert said is not None
        assert (said.status.value, said.reason) == ("True", "CorruptFiles")
        words = ("2 groups", A, "data-f1.parquet", "column k", B, "data-f2.parquet", "requested-at")
        assert [word for word in words if word not in said.message] == []

    def test_only_unsupported_files(self) -> None:
        now = asked(bucket(A, corrupt=False), seen=(bucket(A, corrupt=False),))
        said = condition_of(table_status(now, decide(now, NOON), NOON).conditions, "BucketsBlocked")
        assert said is not None
        assert said.reason == "UnsupportedFiles"

    def test_goes_when_its_files_change(self) -> None:
        now = asked(bucket(A))
        later = NOON + timedelta(seconds=1)
        status = table_status(now, decide(now, later), later)
        said = condition_of(status.conditions, "BucketsBlocked")
        assert said is not None
        assert (said.status.value, said.reason) == ("False", "NoneBlocked")
        assert status.blocked_buckets == ()
