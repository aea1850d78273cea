"""How numbers are put in messages."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from lithify.amounts import bytes_text, count_of, moment_text, seconds_text, wall_text
from lithify.resources.objects import shortened


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0Ki"),
        (1536, "1.5Ki"),
        (5 << 30, "5.0Gi"),
        (1 << 70, "1024.0Ei"),
    ],
)
def test_bytes_are_worded_in_the_fitting_unit(size: int, text: str) -> None:
    assert bytes_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (61, "61 s"), (60, "1 min"), (5400, "90 min"), (86400, "1 d")]
)
def test_seconds_are_worded_in_the_fitting_unit(seconds: int, text: str) -> None:
    assert seconds_text(seconds) == text


def test_moments_are_in_utc() -> None:
    moment = datetime(2026, 3, 10, 1, 2, 3, 999, tzinfo=timezone(timedelta(hours=2)))
    assert moment_text(moment) == "2026-03-09 23:02:03 UTC"


def test_local_times_have_no_zone() -> None:
    assert wall_text(1_772_323_200_999) == "2026-03-01 00:00:00"


@pytest.mark.parametrize(("number", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_counts_agree_with_their_noun(number: int, text: str) -> None:
    assert count_of(number, "run") == text


def test_only_what_is_too_long_is_shortened() -> None:
    assert shortened("x" * 1024) == "x" * 1024
    assert shortened("x" * 1025) == "x" * 1023 + "…"
