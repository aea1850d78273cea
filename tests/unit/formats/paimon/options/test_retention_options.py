"""Options of how long snapshots are kept: defaults, values that Paimon refuses, decoupled changelogs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.retention_options import (
    ChangelogRetention,
    RetentionOptions,
    read_retention,
)


def test_defaults_are_those_of_paimon() -> None:
    assert read_retention({}) == RetentionOptions(10, (1 << 31) - 1, 3_600_000, 50)


def test_all_options_are_read() -> None:
    options = {
        "snapshot.num-retained.min": "2",
        "snapshot.num-retained.max": "5",
        "snapshot.time-retained": "30 min",
        "snapshot.expire.limit": "7",
    }
    assert read_retention(options) == RetentionOptions(2, 5, 1_800_000, 7)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"snapshot.num-retained.min": "0"}, "snapshot.num-retained.min"),
        ({"snapshot.num-retained.max": "9"}, "snapshot.num-retained.max"),
        ({"snapshot.time-retained": "soon"}, "snapshot.time-retained"),
        ({"snapshot.expire.limit": "many"}, "snapshot.expire.limit"),
        ({"changelog.num-retained.min": "0"}, "changelog.num-retained.min"),
        ({"changelog.num-retained.max": "9"}, "changelog.num-retained.max"),
        ({"consumer.expiration-time": "late"}, "consumer.expiration-time"),
    ],
    ids=[
        "none is kept",
        "the maximum is below the minimum",
        "no duration",
        "no number",
        "no changelog is kept",
        "the maximum of changelogs is below their minimum",
        "no duration of consumers",
    ],
)
def test_values_that_paimon_refuses(options: Mapping[str, str], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        read_retention(options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"changelog.num-retained.max": "2147483647"}, False),
        ({"snapshot.num-retained.max": "20", "changelog.num-retained.max": "21"}, True),
        ({"changelog.num-retained.min": "11"}, True),
        ({"changelog.num-retained.min": "10"}, False),
        ({"changelog.time-retained": "2 h"}, True),
        ({"changelog.time-retained": "1 min"}, False),
        ({"snapshot.time-retained": "1 d"}, False),
    ],
    ids=["no more than all", "more", "a higher minimum", "the same minimum", "longer", "shorter", "unset"],
)
def test_changelogs_are_decoupled_where_they_are_kept_longer(
    options: Mapping[str, str], expected: bool
) -> None:
    assert (read_retention(options).changelogs is not None) is expected


def test_options_of_changelogs_are_those_of_snapshots_unless_they_are_set() -> None:
    options = {
        "snapshot.num-retained.max": "20",
        "changelog.time-retained": "2 h",
        "changelog-producer": "INPUT",
    }
    expected = ChangelogRetention(10, 20, 7_200_000, is_of_files=True)
    assert read_retention(options).changelogs == expected


def test_options_of_consumers_are_read() -> None:
    options = {"consumer.expiration-time": "1 d", "consumer.changelog-only": "true"}
    found = read_retention(options)
    assert (found.consumer_millis, found.is_consumer_of_changelogs) == (86_400_000, False)
    assert read_retention({**options, "changelog.time-retained": "2 h"}).is_consumer_of_changelogs
