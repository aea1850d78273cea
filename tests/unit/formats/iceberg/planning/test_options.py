"""Options of planning have Java's names, defaults and limits."""

from __future__ import annotations

import pytest

from lithify.errors import InvalidOption
from lithify.formats.iceberg.planning.options import JobOrder, PlanningOptions, planning_options
from support.cases import case

MIB = 1 << 20


def test_defaults_are_those_of_java() -> None:
    options = planning_options({}, {})
    assert options == PlanningOptions()
    assert (options.target_size, options.min_size, options.max_size) == (512 * MIB, 384 * MIB, 966367641)
    assert (options.min_input_files, options.delete_ratio_threshold) == (5, 0.3)
    assert (options.max_group_size, options.rewrite_all) == (100 << 30, False)


def test_target_size_is_the_tables_unless_an_option_says_otherwise() -> None:
    table = {"write.target-file-size-bytes": str(100 * MIB)}
    assert planning_options({}, table).target_size == 100 * MIB
    options = planning_options({"target-file-size-bytes": "1000"}, table)
    assert (options.target_size, options.min_size, options.max_size) == (1000, 750, 1800)


@pytest.mark.parametrize(
    ("options", "properties", "expected"),
    [
        case({}, {"self-optimizing.target-size": "1000"}, (1000, 5), id="target size"),
        case({}, {"self-optimizing.minor.trigger.file-count": "12"}, (512 * MIB, 12), id="number of files"),
        case(
            {},
            {"self-optimizing.target-size": "1000", "write.target-file-size-bytes": "2000"},
            (2000, 5),
            id="the property of Iceberg goes first",
        ),
        case(
            {"target-file-size-bytes": "3000", "min-input-files": "3"},
            {"self-optimizing.target-size": "1000", "self-optimizing.minor.trigger.file-count": "12"},
            (3000, 3),
            id="options of the run go first",
        ),
        case(
            {},
            {"self-optimizing.target-size": "128MB", "self-optimizing.minor.trigger.file-count": "-1"},
            (512 * MIB, 5),
            id="other values say nothing",
        ),
        case({}, {"self-optimizing.target-size": "0"}, (512 * MIB, 5), id="nor does zero"),
    ],
)
def test_properties_of_amoro_are_defaults(
    options: dict[str, str], properties: dict[str, str], expected: tuple[int, int]
) -> None:
    found = planning_options(options, properties)
    assert (found.target_size, found.min_input_files) == expected


@pytest.mark.parametrize(
    ("options", "properties", "expected"),
    [
        case({}, {}, None, id="never"),
        case({"compact.major.interval.max": "5000"}, {}, 5000, id="option of the run"),
        case({}, {"self-optimizing.minor.trigger.interval": "3600000"}, 3_600_000, id="Amoro's property"),
        case({}, {"self-optimizing.minor.trigger.interval": "-1"}, None, id="off in Amoro"),
        case(
            {"compact.major.interval.max": "-1"},
            {"self-optimizing.minor.trigger.interval": "3600000"},
            None,
            id="off in the run",
        ),
    ],
)
def test_small_files_wait(options: dict[str, str], properties: dict[str, str], expected: int | None) -> None:
    assert planning_options(options, properties).small_millis == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compact.major.interval.max", "-2"),
        ("target-file-size-bytes", "0"),
        ("target-file-size-bytes", "many"),
        ("min-file-size-bytes", str(512 * MIB)),
        ("max-file-size-bytes", str(512 * MIB)),
        ("min-input-files", "0"),
        ("max-file-group-size-bytes", "0"),
        ("max-file-group-input-files", "0"),
        ("delete-file-threshold", "-1"),
        ("delete-ratio-threshold", "0"),
        ("delete-ratio-threshold", "1.1"),
        ("delete-ratio-threshold", "nan"),
        ("max-files-to-rewrite", "0"),
        ("rewrite-job-order", "random"),
    ],
)
def test_impossible_values_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        planning_options({name: value}, {})
    assert caught.value.option == name


def test_all_options_are_read() -> None:
    options = planning_options(
        {
            "rewrite-all": "TRUE",
            "delete-file-threshold": "3",
            "max-file-group-input-files": "9",
            "max-files-to-rewrite": "7",
            "rewrite-job-order": "bytes-desc",
        },
        {},
    )
    assert options.rewrite_all
    assert (options.delete_file_threshold, options.max_group_files, options.max_files) == (3, 9, 7)
    assert options.job_order is JobOrder.MOST_BYTES


@pytest.mark.parametrize(
    ("size", "files", "split"),
    [
        (99, 1, 140),
        (100, 1, 140),
        (105, 1, 140),
        (130, 2, 140),
        (180, 2, 140),
        (1010, 10, 140),
        (180 * 10**6, 1800000, 140),
    ],
)
def test_outputs_are_counted_as_java_counts_them(size: int, files: int, split: int) -> None:
    options = PlanningOptions(target_size=100, min_size=75, max_size=180)
    assert (options.expected_files(size), options.split_size(size)) == (files, split)
