"""What summaries say of all groups together."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lithify.engine.observe.summing import idle_wait, most, total
from lithify.formats.protocol.observing import Filter
from support.cases import case

UNTIL = datetime(2026, 5, 1, 12, tzinfo=UTC)


def figures(*rows: int) -> pa.Table:
    return pa.table(
        {"group": [f"g{n}" for n in range(len(rows))], "rows": pa.array(rows, pa.int64())},
        schema=pa.schema([("group", pa.string()), ("rows", pa.int64())]),
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        case((), (0, None), id="no group"),
        case((3, 9, 4), (9, "g1"), id="the largest"),
        case((3, 9, 9), (9, "g1"), id="of equal ones the first"),
        case((0, 0), (0, "g0"), id="zero is a maximum"),
    ],
)
def test_the_first_group_with_most_is_named(rows: tuple[int, ...], expected: tuple[int, str | None]) -> None:
    assert most(figures(*rows), "rows", "group") == expected
    assert total(figures(*rows), "rows") == sum(rows)


def test_full_compactions_wait_for_partitions_that_are_not_idle() -> None:
    said = idle_wait(Filter(idle_seconds=3600), 2, UNTIL)
    assert "2 other partitions" in said
    assert "1 h" in said
    assert "2026-05-01" in said


@pytest.mark.parametrize(
    ("idle", "until"), [case(None, UNTIL, id="no idle time"), case(3600, None, id="all are idle")]
)
def test_nothing_is_said_where_nothing_waits(idle: int | None, until: datetime | None) -> None:
    assert idle_wait(Filter(idle_seconds=idle), 2, until) == ""
