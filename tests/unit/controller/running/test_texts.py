"""Files, bytes, durations and waits as people read them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.amounts import size_text
from lithify.controller.running.backoff import backoff_seconds
from lithify.controller.running.summary import bytes_text, duration_text, files_text
from lithify.errors import Failure
from lithify.resources.compaction import ResultSummary
from lithify.resources.policy import Retries
from support.merge_trees import repeatable

SIZES = {
    0: "0",
    1023: "1023",
    1024: "1.0Ki",
    1536: "1.5Ki",
    1024**2 - 1: "1.0Mi",
    6_550_000_000: "6.1Gi",
    1024**4: "1.0Ti",
    1024**6 * 2000: "2000.0Ei",
}
DURATIONS = {
    -5: "0s",
    0: "0s",
    94.7: "94s",
    310: "310s",
    720: "12m",
    3599: "59m",
    11100: "3h5m",
    187200: "2d4h",
}


@pytest.mark.parametrize("size", SIZES)
def test_sizes_are_short_texts(size: int) -> None:
    assert size_text(size) == SIZES[size]


@given(st.integers(0, 1024**5))
@repeatable
def test_sizes_say_what_they_mean_within_a_tenth_of_the_unit(size: int) -> None:
    text = size_text(size)
    number, unit = (text[:-2], text[-2:]) if text.endswith("i") else (text, "")
    scale = {"": 1, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5}[unit]
    assert abs(float(number) * scale - size) <= scale * 0.05 + 1
    assert float(number) < 1024


@pytest.mark.parametrize("seconds", DURATIONS)
def test_durations_are_short_texts(seconds: float) -> None:
    assert duration_text(seconds) == DURATIONS[seconds]


def test_columns_show_files_and_bytes_before_and_after() -> None:
    result = ResultSummary(input_files=412, output_files=9, input_bytes=6_550_000_000, output_bytes=1000)
    assert (files_text(result), bytes_text(result)) == ("412→9", "6.1Gi→1000")


@given(failure=st.sampled_from(Failure), failed=st.integers(1, 200), uid=st.text(max_size=9))
@repeatable
def test_waits_are_repeatable_and_bounded(failure: Failure, failed: int, uid: str) -> None:
    retries = Retries(backoff_seconds=10, max_backoff_seconds=600)
    wait = backoff_seconds(retries, failure, failed, uid, failed)
    assert wait == backoff_seconds(retries, failure, failed, uid, failed)
    assert 5 <= wait <= 600


def test_waits_double_and_are_spread() -> None:
    retries = Retries(backoff_seconds=10, max_backoff_seconds=86400)
    means = [
        sum(backoff_seconds(retries, Failure.INFRASTRUCTURE, failed, str(run), 1) for run in range(400)) / 400
        for failed in range(1, 6)
    ]
    assert all(1.9 < later / earlier < 2.1 for earlier, later in pairwise(means))
    spread = {backoff_seconds(retries, Failure.INFRASTRUCTURE, 4, str(run), 1) for run in range(400)}
    assert min(spread) < 45
    assert max(spread) > 75
