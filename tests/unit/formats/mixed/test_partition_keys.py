"""Names of partitions in the line: spellings of writers are one, and what readers do not find is named."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.formats.iceberg.model import Partition, PartitionValue
from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec
from lithify.formats.mixed.partition_keys import PartitionKeys
from support.cases import case
from unit.formats.mixed.lines import LOCATION, keys_of

ID = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
VALUES: dict[str, st.SearchStrategy[PartitionValue]] = {
    "string": st.text(st.characters(codec="utf-8"), max_size=6).filter(lambda text: text != "null"),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "timestamptz": st.datetimes(timezones=st.just(UTC)),
    "decimal(9, 2)": st.decimals(Decimal(-1000), Decimal(1000), places=2),
    "uuid": st.uuids(),
    "float": st.floats(width=32),
    "double": st.floats(),
}


@given(st.data())
def test_own_names_are_read_as_they_are(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=3))
    values = tuple(data.draw(st.none() | VALUES[kind]) for kind in types)
    keys = keys_of(*types)
    key = keys.key_of(Partition(0, values))

    assert keys.read(key) == key


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        case("string", "p0=a%2Fb", "a/b", id="encoded"),
        case("string", "p0=a+b", "a b", id="blank"),
        case("string", "p0=a b", "a b", id="not encoded"),
        case("string", "p0=a%7Eb*", "a~b*", id="as Java encodes"),
        case("string", "p0=a%3Db=c", "a=b=c", id="equals signs"),
        case("string", "p0=", "", id="empty"),
        case("string", "p0=null", None, id="null"),
        case("string", "p0=__HIVE_DEFAULT_PARTITION__", None, id="Hive's null"),
        case("string", "p0=%6Eull", "null", id="the text null, encoded"),
        case("int", "p0=-7", -7, id="int"),
        case("date", "p0=2026-01-31", date(2026, 1, 31), id="date"),
        case("timestamp", "p0=2026-01-31T10%3A30", datetime(2026, 1, 31, 10, 30), id="Java's whole minutes"),
        case(
            "timestamp",
            "p0=2026-01-31T10%3A30%3A00.500",
            datetime(2026, 1, 31, 10, 30, 0, 500_000),
            id="Java's millis",
        ),
        case(
            "timestamptz",
            "p0=2026-01-31T10%3A30Z",
            datetime(2026, 1, 31, 10, 30, tzinfo=UTC),
            id="Java's UTC",
        ),
        case("boolean", "p0=TRUE", True, id="boolean"),
        case("uuid", f"p0={str(ID).upper()}", ID, id="uuid"),
        case("decimal(9, 2)", "p0=1.50", Decimal("1.50"), id="decimal"),
        case("float", "p0=0.1", 0.10000000149011612, id="Java's float"),
        case("double", "p0=1.0E22", 1e22, id="Java's large double"),
        case("double", "p0=1.0E-7", 1e-7, id="Java's small double"),
        case("double", "p0=-0.0", -0.0, id="negative zero"),
        case("float", "p0=NaN", math.nan, id="not a number"),
        case("float", "p0=-Infinity", -math.inf, id="infinite"),
    ],
)
def test_spellings_of_writers_are_one_name(kind: str, path: str, value: PartitionValue) -> None:
    keys = keys_of(kind)

    assert keys.read(path) == keys.key_of(Partition(0, (value,)))


def test_zeros_of_both_signs_are_two_partitions() -> None:
    keys = keys_of("double")

    assert keys.read("p0=-0.0") != keys.read("p0=0.0") == keys.key_of(Partition(0, (0.0,)))


def test_results_of_transforms_keep_their_spelling() -> None:
    keys = keys_of("int", transform="month")

    assert keys.read("p0=2026-01") == keys.key_of(Partition(0, (672,))) == "p0=2026-01"


def test_a_table_without_partitions_has_one_empty_name() -> None:
    assert keys_of().read("") == keys_of().read("whatever") == keys_of().key_of(Partition(0)) == ""


@pytest.mark.parametrize("path", ["", "p0=1", "p0=1/p1=2/p2=3", "p1=1/p0=2", "p0/p1=2", "p0=%FF/p1=2"])
def test_names_of_other_specs_are_corrupt(path: str) -> None:
    with pytest.raises(CorruptTable) as failure:
        keys_of("string", "string").read(path)

    assert failure.value.path == LOCATION


@pytest.mark.parametrize(
    ("kind", "value", "by_any", "by_older"),
    [
        case("string", "plain-text_1.0", True, True, id="plain"),
        case("string", "", True, True, id="empty"),
        case("string", "a b", True, False, id="encoded"),
        case("string", "a~b", True, False, id="encoded by Java alone"),
        case("string", None, True, False, id="null"),
        case("string", "null", False, False, id="the text null"),
        case("string", "__HIVE_DEFAULT_PARTITION__", False, False, id="the text of Hive's null"),
        case("int", -7, True, True, id="int"),
        case("date", date(2026, 1, 31), True, True, id="date"),
        case("decimal(9, 2)", Decimal("-1.50"), True, True, id="decimal"),
        case("timestamp", datetime(2026, 1, 31), True, False, id="timestamp"),
        case("binary", b"a", False, False, id="binary"),
        case("fixed[1]", b"a", False, False, id="fixed"),
        case("time", 7, False, False, id="time"),
        case("float", 0.10000000149011612, True, True, id="float"),
        case("double", -0.0, True, True, id="negative zero"),
        case("double", math.nan, True, True, id="not a number"),
        case("double", 1e22, True, False, id="double with a plus sign"),
    ],
)
def test_partitions_that_readers_do_not_find_are_named(
    kind: str, value: PartitionValue, by_any: bool, by_older: bool
) -> None:
    keys, partition = keys_of("int", kind), Partition(0, (1, value))

    assert (keys.problem_of(partition, by_older=False) is None) == by_any
    assert (keys.problem_of(partition, by_older=True) is None) == by_older
    assert "p1" in (keys.problem_of(partition, by_older=True) or "p1")


def test_fields_whose_names_are_encoded_are_not_found() -> None:
    spec = PartitionSpec(0, (PartitionField(1, "a b", "identity"),))

    assert PartitionKeys(spec, ("int",), LOCATION).problem_of(Partition(0, (1,)), by_older=False) is not None
