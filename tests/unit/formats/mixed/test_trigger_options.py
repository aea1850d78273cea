"""From which figures on partitions are due: defaults, the seed's options for each node, and switches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.errors import InvalidOption
from lithify.formats.mixed.trigger_options import MajorOptions, major_options, write_nodes
from support.cases import case

MIB = 1 << 20
HOUR = 3_600_000
DEFAULTS = MajorOptions(
    nodes=4,
    small_file_size=16 * MIB,
    delete_bytes=256 * MIB,
    delete_ratio=0.1,
    least_delete_bytes=64 * MIB,
    small_files=12,
    changes_millis=HOUR,
    base_millis=24 * HOUR,
)


def test_defaults_are_those_of_amoro() -> None:
    assert major_options({}, {}) == DEFAULTS


@pytest.mark.parametrize(
    ("found", "changed"),
    [
        case({"compact.major.delete.file.size.bytes": "100"}, {"delete_bytes": 400}, id="bytes of deletes"),
        case(
            {"compact.major.delete.file.size.bytes": "-1"}, {"delete_bytes": None}, id="bytes of deletes, off"
        ),
        case({"compact.major.delete.file.ratio": "0.3"}, {"delete_ratio": 0.3}, id="ratio"),
        case({"compact.major.delete.file.ratio": "-1"}, {"delete_ratio": None}, id="ratio, off"),
        case({"compact.major.delete.file.size.bytes.lowest": "10"}, {"least_delete_bytes": 40}, id="floor"),
        case({"compact.major.delete.file.size.bytes.lowest": "0"}, {"least_delete_bytes": 0}, id="no floor"),
        case({"compact.major.file.cnt": "2"}, {"small_files": 8}, id="files"),
        case({"compact.major.file.cnt": "-1"}, {"small_files": None}, id="files, off"),
        case({"compact.major.small.file.size.bytes": "7"}, {"small_file_size": 7}, id="small files"),
        case({"compact.major.interval.max": "9"}, {"changes_millis": 9, "base_millis": 9}, id="interval"),
        case(
            {"compact.major.interval.max": "-1"},
            {"changes_millis": None, "base_millis": None},
            id="interval, off",
        ),
        case(
            {"self-optimizing.target-size": str(64 * MIB)},
            {
                "target_size": 64 * MIB,
                "small_file_size": 8 * MIB,
                "delete_bytes": 128 * MIB,
                "least_delete_bytes": 32 * MIB,
            },
            id="Amoro's target size",
        ),
        case(
            {"self-optimizing.fragment-ratio": "16"},
            {"small_file_size": 8 * MIB, "least_delete_bytes": 32 * MIB},
            id="Amoro's fragments",
        ),
        case({"self-optimizing.minor.trigger.file-count": "30"}, {"small_files": 30}, id="Amoro's files"),
        case(
            {"self-optimizing.minor.trigger.file-count": "2"},
            {"small_files": 5},
            id="no fewer than a merge may leave",
        ),
        case(
            {"self-optimizing.minor.trigger.interval": "5"},
            {"changes_millis": 5},
            id="Amoro's minor interval",
        ),
        case(
            {"self-optimizing.minor.trigger.interval": "-1"},
            {"changes_millis": None},
            id="minor interval, off",
        ),
        case(
            {"self-optimizing.major.trigger.interval": "5"}, {"base_millis": 5}, id="Amoro's major interval"
        ),
        case({"self-optimizing.full.trigger.interval": "5"}, {"base_millis": 5}, id="Amoro's full interval"),
        case(
            {"self-optimizing.full.trigger.interval": str(48 * HOUR)},
            {"base_millis": 24 * HOUR},
            id="the shorter interval",
        ),
        case(
            {"self-optimizing.major.trigger.duplicate-ratio": "0.2"},
            {"delete_ratio": 0.2, "most_deleted": 0.2},
            id="Amoro's ratio",
        ),
    ],
)
def test_options_change_what_they_name(found: dict[str, str], changed: dict[str, object]) -> None:
    expected = replace(DEFAULTS, **changed)  # type: ignore[arg-type]

    assert major_options(found, {}) == expected
    assert major_options({}, found) == expected


def test_options_of_the_run_override_properties() -> None:
    name = "compact.major.file.cnt"

    assert major_options({name: "2"}, {name: "9"}).small_files == 8
    assert major_options({}, {name: "9", "self-optimizing.minor.trigger.file-count": "40"}).small_files == 36


def test_values_are_for_each_node() -> None:
    found = {
        "base.file-index.hash-bucket": "8",
        "compact.major.delete.file.size.bytes": "100",
        "compact.major.delete.file.size.bytes.lowest": "10",
        "compact.major.file.cnt": "2",
    }

    options = major_options({}, found)

    assert (options.delete_bytes, options.least_delete_bytes, options.small_files) == (800, 80, 16)
    assert options.small_file_size == DEFAULTS.small_file_size


def test_tables_without_keys_have_one_node_and_nothing_to_merge() -> None:
    options = major_options({"compact.major.file.cnt": "5"}, {}, has_key=False)

    assert (options.nodes, options.delete_bytes, options.changes_millis) == (1, None, None)
    assert (options.small_files, options.base_millis, options.delete_ratio) == (5, 24 * HOUR, 0.1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("base.file-index.hash-bucket", "3"),
        ("base.file-index.hash-bucket", "0"),
        ("compact.major.file.cnt", "0"),
        ("compact.major.file.cnt", "x"),
        ("compact.major.interval.max", "0"),
        ("compact.major.delete.file.ratio", "0"),
        ("compact.major.delete.file.ratio", "nan"),
        ("compact.major.delete.file.ratio", "inf"),
        ("compact.major.delete.file.ratio", "x"),
        ("compact.major.small.file.size.bytes", "-1"),
        ("self-optimizing.fragment-ratio", "0"),
    ],
)
def test_invalid_values_are_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(InvalidOption) as failure:
        major_options({}, {name: text})

    assert failure.value.option == name


@pytest.mark.parametrize(("properties", "nodes"), [({}, 4), ({"base.file-index.hash-bucket": "1"}, 1)])
def test_written_nodes_are_those_of_the_base_store(properties: dict[str, str], nodes: int) -> None:
    assert write_nodes({"change.file-index.hash-bucket": "16", **properties}) == nodes
