"""What summaries say of all groups together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from lithify.engine.observe.summing import findings, idle_wait, largest, most, selected, total
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import (
    PartitionField,
    PartitionFilter,
    PartitionSpec,
    PartitionValues,
)
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


SPEC = PartitionSpec(0, (PartitionField("dt", "STRING", str),))


def values_of(group: str) -> PartitionValues | None:
    return None if group == "older" else PartitionValues(SPEC, (group,), (group,))


def due(*rows: tuple[str, int, str]) -> pa.Table:
    """Groups with their bytes and the trigger that fires."""
    groups, sizes, triggers = zip(*rows, strict=True)
    return pa.table({"group": groups, "bytes": sizes, "due_files": [2] * len(rows), "fires": triggers})


def verdicts_of(row: Mapping[str, Any]) -> list[TriggerVerdict]:
    named = [TriggerVerdict(each, each == row["fires"], f"{each} of {row['group']}") for each in ("A", "B")]
    return [*named, TriggerVerdict("Always", fired=row["fires"] != "nothing", detail="")]


def test_findings_have_the_most_telling_trigger_of_each_group_and_the_largest_comes_first() -> None:
    table = due(("a", 5, "B"), ("b", 7, "B"), ("c", 40, "A"), ("d", 9, "nothing"))

    found = findings(table, verdicts_of, lambda group: f"dt={group}", "bytes")

    assert [(each.trigger, each.bucket, each.detail) for each in found] == [
        ("A", "dt=c", "A of c"),
        ("B", "dt=b", "B of b"),
    ]
    assert [(each.buckets, each.bytes, each.files) for each in found] == [(1, 40, 2), (2, 12, 4)]


def test_largest_partitions_leave_out_a_group_that_is_none() -> None:
    table = due(("a", 5, ""), ("older", 70, ""), ("b", 7, ""))

    assert largest(table, values_of) == ({"dt": "b"}, {"dt": "a"})


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        case((), ["a", "older", "b"], id="all, also what is no partition"),
        case(({"dt": "b"},), ["b"], id="one partition"),
        case(({"dt": "c"},), [], id="none of them"),
    ],
)
def test_filters_select_groups(wanted: tuple[Mapping[str, str], ...], expected: list[str]) -> None:
    table = due(("a", 5, ""), ("older", 70, ""), ("b", 7, ""))

    assert selected(table, PartitionFilter(wanted), values_of)["group"].to_pylist() == expected
