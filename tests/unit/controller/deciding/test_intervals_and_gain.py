"""How policies keep small tables from being compacted too often: a time between runs, and a least gain."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.reasons import Hold
from lithify.controller.deciding.sentences import why_text
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTableStatus, RunSummary
from support.cases import case
from support.deciding.situations import BUSY, NOON, SORTED_RUNS, policy, situation

SECOND = timedelta(seconds=1)
HOURLY = policy(minIntervalSeconds=3600)
SEEN = replace(BUSY, findings=(replace(SORTED_RUNS, buckets=2, bytes=4000, files=12),))
"""Two buckets with 12 files of 4000 bytes are due: 10 files can go."""


def ended(seconds_ago: int, reason: str = "Compacted") -> LakeTableStatus:
    moment = NOON - timedelta(seconds=seconds_ago)
    last = RunSummary(name="orders-7", strategy="Minor", reason=reason, completion_time=moment)
    return LakeTableStatus(last_compaction=last)


class TestMinInterval:
    @pytest.mark.parametrize(
        ("status", "hold"),
        [
            case(LakeTableStatus(), None, id="the first run"),
            case(ended(3599), Hold.MIN_INTERVAL, id="a second early"),
            case(ended(3599, "DriverFailed"), Hold.MIN_INTERVAL, id="after a failure as well"),
            case(ended(3600), None, id="in time"),
            case(ended(-86400), None, id="a time that a wrong clock has written"),
        ],
    )
    def test_time_between_runs(self, status: LakeTableStatus, hold: Hold | None) -> None:
        assert decide(situation(BUSY, HOURLY, status=status), NOON).hold is hold

    def test_wakes_when_the_interval_ends_and_says_when(self) -> None:
        decision = decide(situation(BUSY, HOURLY, status=ended(600)), NOON)
        assert decision.wake == NOON + timedelta(seconds=3000)
        assert all(part in why_text(decision) for part in ("orders-7", "3600", "2026-03-10 12:50:00"))
        assert decide(situation(BUSY, HOURLY, status=ended(600)), decision.wake).hold is None

    def test_the_least_interval_holds_no_request_back(self) -> None:
        asked = situation(BUSY, HOURLY, status=ended(1), requested="now")
        assert decide(asked, NOON).hold is None

    def test_unset_means_no_interval(self) -> None:
        assert decide(situation(BUSY, policy(), status=ended(1)), NOON).hold is None


class TestMinGain:
    @pytest.mark.parametrize(
        ("spec", "hold"),
        [
            case(policy(), None, id="unset"),
            case(policy(minGain={"files": 10}), None, id="enough files"),
            case(policy(minGain={"files": 11}), Hold.LITTLE_GAIN, id="too few files"),
            case(policy(minGain={"bytes": "4000"}), None, id="enough bytes"),
            case(policy(minGain={"bytes": "4001"}), Hold.LITTLE_GAIN, id="too few bytes"),
            case(policy(minGain={"files": 11, "bytes": "4000"}), None, id="bytes are enough"),
            case(policy(minGain={"files": 11, "bytes": "1Gi"}), Hold.LITTLE_GAIN, id="neither"),
        ],
    )
    def test_one_of_the_two_is_enough(self, spec: CompactionPolicySpec, hold: Hold | None) -> None:
        assert decide(situation(SEEN, spec), NOON).hold is hold

    def test_the_message_of_the_least_gain_says_the_figures(self) -> None:
        message = why_text(decide(situation(SEEN, policy(minGain={"files": 50, "bytes": "64Mi"})), NOON))
        assert all(part in message for part in ("3.9Ki", "10 files", "50 files", "64.0Mi"))

    def test_holds_neither_requests_nor_full_runs_by_the_clock(self) -> None:
        spec = policy(minGain={"files": 50}, full={"intervalSeconds": 86400})
        assert decide(situation(SEEN, spec), NOON).hold is None
        assert decide(situation(SEEN, policy(minGain={"files": 50}), requested="now"), NOON).hold is None
