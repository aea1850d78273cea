"""The benchmark of Iceberg's compactions works, with few rows."""

from __future__ import annotations

import pytest

from against_java import iceberg, page
from against_java.iceberg_tables import cases
from iceberg_metadata import figures as planning
from iceberg_metadata.invented import Shape

pytestmark = pytest.mark.iceberg


def test_both_sides_have_their_figures() -> None:
    figures = iceberg.compare(4000, repeats=1, names=["positions", "lineage"])

    assert figures.startswith("4,000 rows, best of 1, ")
    titles = [line.split(" | ")[0] for line in figures.splitlines()[4:]]
    assert titles == [
        "| position deletes, 20 %",
        "| version 3, row groups that are copied",
    ]
    assert figures.count("**") == 4, "a ratio a line"


def test_both_planners_have_their_figures() -> None:
    planned = planning.compare([Shape(2000, 100)], repeats=1)

    (line,) = planned.splitlines()[4:]
    assert line.startswith("| 2,000 data files, 100 delete files | ")
    assert line.count("**") == 2, "a ratio"


def test_cases_have_names_of_their_own() -> None:
    names = [case.name for case in cases()]

    assert len({*names}) == len(names)


def test_the_page_has_a_place_for_the_figures() -> None:
    text = page.PAGE.read_text()

    for name in ("iceberg", "iceberg planning"):
        begin, end = f"<!-- figures of {name} -->", f"<!-- end of figures of {name} -->"
        assert text.count(begin) == text.count(end) == 1
