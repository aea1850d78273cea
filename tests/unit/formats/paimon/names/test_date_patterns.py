"""Patterns of times in partition values: what is known, what is refused, and that texts are read back.

Each text beside Java is in `java/differential/test_partition_expiry.py`.
"""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.names.date_patterns import DatePattern, parse_timestamp

PATTERNS = {
    "yyyyMMdd": "%Y%m%d",
    "yyyy-MM-dd": "%Y-%m-%d",
    "yyyyMMddHH": "%Y%m%d%H",
    "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%M:%S",
    "'day='yyyy/MM/dd'T'HH.mm": "day=%Y/%m/%dT%H.%M",
    "ddMMyyyy": "%d%m%Y",
}
TIMES = st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 30))


@pytest.mark.parametrize("pattern", PATTERNS)
@given(time=TIMES)
def test_written_times_are_read_back(pattern: str, time: datetime) -> None:
    text = time.strftime(PATTERNS[pattern])
    assert DatePattern(pattern).parse(text) == datetime.strptime(text, PATTERNS[pattern])


@given(pattern=st.sampled_from(sorted(PATTERNS)), text=st.text("0123456789-/ :T.dayHh=", max_size=24))
def test_any_text_is_a_time_or_none(pattern: str, text: str) -> None:
    found = DatePattern(pattern).parse(text)
    assert found is None or isinstance(found, datetime)
    assert parse_timestamp(text) is None or text[:1].isdigit()


@pytest.mark.parametrize("time", ["2024-02-30", "2024-02-31"])
def test_days_after_the_last_of_a_month_are_the_last(time: str) -> None:
    assert DatePattern("yyyy-MM-dd").parse(time) == datetime(2024, 2, 29)


def test_twenty_four_hours_are_the_next_midnight() -> None:
    pattern = DatePattern("yyyy-MM-dd HH:mm")
    assert pattern.parse("2024-02-29 24:00") == datetime(2024, 3, 1)
    assert pattern.parse("2024-02-29 24:01") is None


def test_texts_without_a_pattern_are_read_leniently() -> None:
    assert parse_timestamp("2024-14-1 25:00:60") == datetime(2025, 2, 2, 1, 1)
    assert parse_timestamp("0000-01-01") is None
    assert parse_timestamp("9999-99-99") is None


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("yyyy-MMM-dd", "'MMM'"),
        ("yy-MM-dd", "'yy'"),
        ("yyyy-DDD", "'DDD'"),
        ("YYYY-ww", "'YYYY'"),
        ("yyyy-MM-dd hh", "'hh'"),
        ("yyyy-MM-dd HH:mm:ss.SSS", "'SSS'"),
        ("yyyy-MM[-dd]", r"'\['"),
        ("yyyy'MM", "quote"),
    ],
)
def test_letters_that_are_not_known_are_refused_by_name(pattern: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        DatePattern(pattern)
