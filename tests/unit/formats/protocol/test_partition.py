"""Selections of partitions: texts of users, compared with values by type."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lithify.errors import InvalidOption
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.partition import (
    PartitionField,
    PartitionFilter,
    PartitionSpec,
    PartitionValues,
    is_same,
)
from lithify.formats.protocol.partition_texts import (
    read_boolean,
    read_date,
    read_decimal,
    read_float,
    read_integer,
    read_time,
    read_timestamp,
)
from support.cases import case

DAY = PartitionField("dt", "DATE", read_date)
NUMBER = PartitionField("n", "INT", read_integer)
REGION = PartitionField("region", "STRING", str)
FIRST = PartitionSpec(0, (DAY, REGION), "__NULL__")
SECOND = PartitionSpec(1, (NUMBER,), "__NULL__")


def a_day(days: int | None, region: str | None) -> PartitionValues:
    return PartitionValues(FIRST, (days, region), (str(days), str(region)))


class TestFilter:
    @pytest.mark.parametrize(
        ("wanted", "region", "is_selected"),
        [
            case({}, "eu", True, id="no column"),
            case({"dt": "1970-01-03"}, "eu", True, id="a date"),
            case({"dt": "1970-01-04"}, "eu", False, id="another date"),
            case({"dt": "1970-01-03", "region": "eu"}, "eu", True, id="all columns"),
            case({"dt": "1970-01-03", "region": "us"}, "eu", False, id="one of two columns"),
            case({"region": "__NULL__"}, None, True, id="null"),
            case({"region": "__NULL__"}, "null", False, id="null is no text"),
            case({"region": "null"}, None, False, id="the text null is not null"),
            case({"region": "None"}, None, False, id="nor is what Python calls it"),
        ],
    )
    def test_selects_by_value(self, wanted: dict[str, str], region: str | None, is_selected: bool) -> None:
        assert PartitionFilter((wanted,)).selects(a_day(2, region)) is is_selected

    def test_any_of_its_sets_selects(self) -> None:
        chosen = PartitionFilter(({"region": "us"}, {"dt": "1970-01-03"}))
        assert chosen.selects(a_day(2, "eu"))
        assert not chosen.selects(a_day(3, "eu"))

    def test_without_sets_selects_all(self) -> None:
        assert PartitionFilter(()).selects(a_day(2, "eu"))

    @pytest.mark.parametrize("text", ["1", "01", "+1", "0001"])
    def test_numbers_are_the_same_however_they_are_written(self, text: str) -> None:
        assert PartitionFilter(({"n": text},)).selects(PartitionValues(SECOND, (1,), ("1",)))

    def test_a_partition_of_a_spec_without_the_column_is_not_selected(self) -> None:
        chosen = PartitionFilter(({"n": "1"},))
        chosen.check("db.t", (FIRST, SECOND))
        assert not chosen.selects(a_day(1, "1"))

    def test_names_the_sets_that_select_nothing(self) -> None:
        wanted = ({"region": "us"}, {"dt": "1970-01-03"})
        assert PartitionFilter(wanted).unmatched([a_day(2, "eu")]) == [{"region": "us"}]
        assert PartitionFilter(wanted).unmatched([]) == [*wanted]

    @pytest.mark.parametrize(
        ("wanted", "specs", "word"),
        [
            case({"hr": "1"}, (FIRST, SECOND), "hr", id="a column that no spec has"),
            case({"dt": "1970-01-03", "n": "1"}, (FIRST, SECOND), "dt, n", id="columns of different specs"),
            case({"dt": "yesterday"}, (FIRST,), "dt", id="a text that is no value"),
            case({"dt": "1"}, (), "dt", id="a table that is not partitioned"),
        ],
    )
    def test_refuses_what_fits_no_spec_by_its_name(
        self, wanted: dict[str, str], specs: tuple[PartitionSpec, ...], word: str
    ) -> None:
        with pytest.raises(InvalidOption) as refused:
            PartitionFilter((wanted,)).check("db.t", specs)
        assert refused.value.option == "--partition"
        assert word in str(refused.value)


def test_a_partition_has_a_path_for_people_and_texts_that_select_it() -> None:
    partition = PartitionValues(FIRST, (2, None), ("1970-01-03", "__NULL__"))
    assert partition.path == "dt=1970-01-03/region=__NULL__"
    assert PartitionFilter((partition.by_name,)).selects(partition)


def test_partitions_of_different_specs_are_different() -> None:
    other = PartitionSpec(7, FIRST.fields, FIRST.null_text)
    assert a_day(2, "eu") == PartitionValues(FIRST, (2, "eu"), ("written", "otherwise"))
    assert a_day(2, "eu") != PartitionValues(other, (2, "eu"), ("2", "eu"))


def test_formats_without_buckets_refuse_them_by_name() -> None:
    Selection().check_without_buckets("db.t", "partition")
    with pytest.raises(InvalidOption) as refused:
        Selection(buckets=frozenset({1})).check_without_buckets("db.t", "partition")
    assert refused.value.option == "--bucket"


@pytest.mark.parametrize(
    ("value", "other", "are_same"),
    [
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (0.0, -0.0, False),
        (1.5, 1.5, True),
        (None, None, True),
        (None, "", False),
    ],
)
def test_not_a_number_is_the_same_as_itself(value: Any, other: Any, are_same: bool) -> None:
    assert is_same(value, other) is are_same


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_boolean, "TRUE", True),
        (read_integer, "-07", -7),
        (read_float, "1E3", 1000.0),
        (read_float, "-Infinity", -math.inf),
        (read_date, "1969-12-31", -1),
        (read_time, "00:01", 60 * 10**9),
        (read_time, "00:00:01.5", 15 * 10**8),
        (read_timestamp, "1970-01-02T00:00", 86_400 * 10**9),
        (read_timestamp, "1970-01-01 00:00:00.000000001", 1),
    ],
)
def test_texts_are_read_by_type(read: Any, text: str, value: Any) -> None:
    assert read(text) == value


def test_trailing_zeros_of_decimals_do_not_matter() -> None:
    assert read_decimal("1.50") == read_decimal("1.5") == read_decimal("01.5")


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_boolean, "1"),
        (read_integer, "1_0"),
        (read_integer, " 1"),
        (read_integer, "١"),
        (read_integer, "1" * 41),
        (read_float, "nan"),
        (read_decimal, "NaN"),
        (read_date, "2026-02-30"),
        (read_date, "20260101"),
        (read_time, "24:00"),
        (read_timestamp, "2026-01-01"),
    ],
)
def test_other_texts_are_refused(read: Any, text: str) -> None:
    with pytest.raises(ValueError):  # the class is the contract
        read(text)
