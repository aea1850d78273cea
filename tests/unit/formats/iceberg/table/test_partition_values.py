"""What a user writes for a partition is what its path says, whatever its type and transform."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest

from lithify.errors import InvalidOption
from lithify.formats.iceberg.model import Partition, PartitionValue
from lithify.formats.iceberg.table import partition_paths as stored
from lithify.formats.iceberg.table.partition_values import parser_of, seam_values
from lithify.formats.protocol.partition import PartitionField, PartitionFilter, PartitionSpec
from support.cases import case

UID = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")

VALUES: list[tuple[str, str, PartitionValue, str]] = [
    ("identity", "boolean", True, "true"),
    ("identity", "int", -7, "-7"),
    ("identity", "long", 1 << 40, str(1 << 40)),
    ("identity", "float", 0.10000000149011612, "0.10000000149011612"),
    ("identity", "double", 0.1, "0.1"),
    ("identity", "decimal(9,2)", Decimal("12.50"), "12.50"),
    ("identity", "string", "a b/c=d", "a b/c=d"),
    ("identity", "date", date(2026, 1, 31), "2026-01-31"),
    ("identity", "time", time(23, 59, 1, 5), "23:59:01.000005"),
    ("identity", "timestamp", datetime(2026, 1, 31, 4, 5, 6), "2026-01-31T04:05:06"),
    ("identity", "timestamp", datetime(1969, 12, 31, 23, 0, 0, 5), "1969-12-31T23:00:00.000005"),
    ("identity", "timestamptz", datetime(2026, 1, 31, 4, 5, tzinfo=UTC), "2026-01-31T04:05:00+00:00"),
    ("identity", "uuid", UID, str(UID)),
    ("identity", "binary", b"\x00\xff", "00ff"),
    ("bucket[16]", "int", 3, "3"),
    ("truncate[4]", "string", "abcd", "abcd"),
    ("year", "int", 56, "2026"),
    ("month", "int", 672, "2026-01"),
    ("month", "int", -1, "1969-12"),
    ("day", "date", date(2026, 1, 31), "2026-01-31"),
    ("day", "int", 20484, "2026-01-31"),
    ("hour", "int", 20484 * 24 + 7, "2026-01-31-07"),
]


@pytest.mark.parametrize(
    ("transform", "kind", "value", "text"),
    [case(*each, id=f"{each[0]} {each[1]} {each[3]}") for each in VALUES],
)
def test_its_own_text_finds_a_partition(transform: str, kind: str, value: PartitionValue, text: str) -> None:
    spec = stored.PartitionSpec(0, (stored.PartitionField(1, "p", transform),))
    typed = PartitionSpec(0, (PartitionField("p", kind, parser_of(transform, kind)),), "null")
    found = seam_values(typed, spec, Partition(0, (value,)))
    assert found.by_name == {"p": text}
    assert PartitionFilter([{"p": text}]).selects(found)
    assert not PartitionFilter([{"p": "null"}]).selects(found)
    nothing = seam_values(typed, spec, Partition(0, (None,)))
    assert PartitionFilter([{"p": "null"}]).selects(nothing)
    assert not PartitionFilter([{"p": text}]).selects(nothing)


@pytest.mark.parametrize(
    ("transform", "kind", "text"),
    [
        case("identity", "int", "x", id="letters for a number"),
        case("identity", "date", "2026-1-31", id="a date without zeros"),
        case("identity", "timestamp", "2026-01-31T00:00:00.0000001", id="a part of a microsecond"),
        case("identity", "uuid", "f79c", id="a part of a UUID"),
        case("identity", "binary", "0", id="half a byte"),
        case("identity", "float", "1e39", id="a number beyond floats"),
        case("year", "int", "26", id="a short year"),
        case("month", "int", "2026-13", id="a 13th month"),
        case("day", "date", "2026-02-30", id="a day that does not exist"),
        case("hour", "int", "2026-01-01-24", id="a 25th hour"),
        case("void", "string", "x", id="a field that is always null"),
    ],
)
def test_a_text_that_is_no_value_is_refused(transform: str, kind: str, text: str) -> None:
    typed = PartitionSpec(0, (PartitionField("p", kind, parser_of(transform, kind)),), "null")
    with pytest.raises(InvalidOption) as refused:
        PartitionFilter([{"p": text}]).check("db.t", (typed,))
    assert "p" in str(refused.value)


def test_spellings_of_a_value_find_the_same_partition() -> None:
    spec = stored.PartitionSpec(0, (stored.PartitionField(1, "n", "identity"),))
    for kind, value, text in (("int", 1, "01"), ("decimal(9,2)", Decimal("1.50"), "1.5")):
        typed = PartitionSpec(0, (PartitionField("n", kind, parser_of("identity", kind)),), "null")
        assert PartitionFilter([{"n": text}]).selects(seam_values(typed, spec, Partition(0, (value,))))
