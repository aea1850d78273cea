"""Where Hive should read partitions, as the base store's property has it."""

from __future__ import annotations

import json

import pytest

from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec
from lithify.formats.mixed.hive_locations import (
    BASE_AND_CHANGE,
    ROOT,
    HiveLocation,
    hive_folder,
    hive_locations,
    named_for_hive,
    new_folder,
)
from lithify.formats.mixed.line_properties import PROPERTY, parse_line, with_facts
from lithify.formats.mixed.partition_keys import PartitionKeys
from support.cases import case

KEYS = PartitionKeys(PartitionSpec(0, (PartitionField(1, "p", "identity"),)), ("string",), "/lake/t")
MOVED = HiveLocation("file:/lake/t/hive/p=a/7_3", 1_700_000_000, BASE_AND_CHANGE)


def test_a_location_is_read_as_it_was_written() -> None:
    properties = {PROPERTY: with_facts({}, KEYS, {"p=a": MOVED.facts})}
    assert hive_locations(properties, KEYS) == {"p=a": MOVED}


def test_the_line_of_a_partition_stays_when_it_is_moved() -> None:
    stored = {PROPERTY: json.dumps({"p=a": {"max-txId": "8"}, "p=b": {"max-txId": "9", "other": "1"}})}

    moved = {PROPERTY: with_facts(stored, KEYS, {"p=a": MOVED.facts})}

    assert parse_line(moved, KEYS).sequences == {"p=a": 8, "p=b": 9}
    assert json.loads(moved[PROPERTY])["p=b"] == {"max-txId": "9", "other": "1"}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        case({"hive-location": "/h/1"}, HiveLocation("/h/1", 0), id="no time"),
        case({"hive-location": "/h/1", "transient-time": "soon"}, HiveLocation("/h/1", 0), id="no number"),
        case({"hive-location": "/h/1", "transient-time": "5"}, HiveLocation("/h/1", 5), id="of Amoro"),
    ],
)
def test_locations_of_others_are_read(facts: dict[str, str], expected: HiveLocation) -> None:
    properties = {PROPERTY: json.dumps({"p=a": facts, "p=b": {"max-txId": "8"}})}
    assert hive_locations(properties, KEYS) == {"p=a": expected}


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        case({ROOT: "/lake/t/hive"}, ROOT, id="root"),
        case({PROPERTY: '{"": {"hive-location": "/h"}}'}, "hive-location", id="a partition"),
        case({PROPERTY: '{"": {"max-txId": "8"}}'}, None, id="a line only"),
        case({}, None, id="nothing"),
    ],
)
def test_what_says_that_hive_reads_the_files(properties: dict[str, str], name: str | None) -> None:
    assert named_for_hive(properties) == name


@pytest.mark.parametrize(
    "root", ["/lake/t/hive", "file:/lake/t/hive", "file:///lake/t/hive/"], ids=["plain", "short", "long"]
)
def test_files_below_the_root_are_known_whatever_its_scheme(root: str) -> None:
    folder = hive_folder({ROOT: root})
    assert folder in f"{new_folder(root, 'p=a', 7, 3)}/1-B-3-0-0-x.parquet"
    assert folder not in "file:/lake/t/hive2/p=a/7_3/x.parquet"


def test_folders_of_a_table_on_an_object_store_are_below_its_root() -> None:
    root = "s3a://lake/t/hive"
    assert new_folder(root, "", 7, 3) == "s3a://lake/t/hive/7_3"
    assert hive_folder({ROOT: "s3://lake/t/hive"}) in "s3a://lake/t/hive/7_3/x.parquet"
