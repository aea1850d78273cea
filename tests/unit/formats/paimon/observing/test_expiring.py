"""Expired rows of buckets, from the earliest time of each file."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lithify.formats.paimon.observing.expiring import expiry_columns
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY, YEAR = 86_400, 366 * 86_400
END_OF_DATES = 253_402_300_799
"""9999-12-31 23:59:59, which many people write for no end."""


def next_expiry(earliest: int, seconds: int) -> int | None:
    """When a file with that earliest time gets an expired row."""
    files = pa.table({"partition": [b""], "bucket": [0], "size": [9], "earliest": [earliest]})
    return expiry_columns(files, replace(MergeTreeOptions(), expire_seconds=seconds), NOW)["expires_at"][
        0
    ].as_py()


def test_next_expiry_is_the_hour_after_the_earliest_row_expires() -> None:
    assert next_expiry(int(NOW.timestamp()), DAY) == (int(NOW.timestamp()) + DAY + 3600) * 1000


@pytest.mark.parametrize(
    ("earliest", "seconds"), [(END_OF_DATES, DAY), (0, 10_000 * YEAR), (END_OF_DATES, 10_000 * YEAR)]
)
def test_expiry_after_the_end_of_the_calendar_is_none(earliest: int, seconds: int) -> None:
    assert next_expiry(earliest, seconds) is None
