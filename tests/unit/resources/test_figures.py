"""Figures of several groups in status: bounded, lists in JSON, and known as names that tenants gave."""

from __future__ import annotations

from typing import Any

from lithify.resources.figures import GROUP_LENGTH, blocks_of, figures_in, groups_in
from lithify.resources.modelling import plain, read
from lithify.resources.table import ObservationSummary

ENTRY = {"name": "p=a", "line": 4, "lag": 2, "changeFiles": 3, "deleteBytes": 100}


def changes(*entries: dict[str, Any]) -> dict[str, Any]:
    return {
        **dict.fromkeys(("changeFiles", "insertBytes", "deleteBytes", "positionDeleteFiles"), 1),
        "maxChangeFiles": 3,
        "maxChangeFilesPartition": "p=b",
        "maxLag": 2,
        "maxLagPartition": None,
        "furthestBehind": entries,
    }


def summary(*entries: dict[str, Any]) -> ObservationSummary:
    return read(ObservationSummary, plain(blocks_of({"changeStore": changes(*entries)})))


def test_groups_come_back_as_they_were_written() -> None:
    made = plain(blocks_of({"changeStore": changes(ENTRY)})["changeStore"])
    assert made["furthestBehind"] == [ENTRY]
    assert plain(summary(ENTRY))["changeStore"]["furthestBehind"] == [ENTRY]


def test_what_the_schema_does_not_take_is_bounded() -> None:
    wild = {**ENTRY, "name": "p" * 5000, "line": -1, "lag": 1 << 70}
    (made,) = plain(blocks_of({"changeStore": changes(wild)})["changeStore"])["furthestBehind"]
    assert (len(made["name"]), made.get("line", 0)) == (GROUP_LENGTH, 0)
    assert made["lag"] < 1 << 63


def test_all_groups_are_names_and_none_is_a_figure_for_metrics() -> None:
    found = summary(ENTRY)
    assert sorted(groups_in(found)) == ["p=a", "p=b"]
    assert "furthestBehind" not in [figure.name for _, figure, _ in figures_in(found)]
