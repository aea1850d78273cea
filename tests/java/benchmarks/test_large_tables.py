"""The benchmarks of tables of many files work, with few."""

from __future__ import annotations

from dataclasses import replace

import pytest

from against_java import commits, manifests, orphans, page, planning
from support.invented.shape import Shape

pytestmark = pytest.mark.oracle


def test_plans_and_looks_have_their_figures() -> None:
    figures = planning.compare([Shape(files=3000, buckets=100, partitions=2)], repeats=1)

    assert "| 3,000 files in 100 buckets, 10% of them due |" in figures
    assert figures.count("**") == 2, "one ratio"
    assert "| after one more commit, of 50 files |" in figures


def test_beside_a_table_are_a_tenth_of_it_and_all_buckets_due() -> None:
    shape = Shape(files=4000, buckets=200, partitions=2)

    assert planning.beside(shape) == [
        shape,
        replace(shape, files=400, buckets=20),
        replace(shape, due=1.0),
    ]


def test_commits_have_their_figures() -> None:
    figures = commits.compare([4000], every=10.0)

    assert [line.split("|")[1:3] for line in figures.splitlines()[4:]] == [
        [" 4,000 ", " Java Paimon 1.4.2 "],
        [" 4,000 ", " Lithify "],
    ]


@pytest.mark.thorough
def test_plans_before_and_after_merges_of_manifests_have_their_figures() -> None:
    figures = manifests.compare(6000, repeats=1)

    rows = [line.split("|")[1:3] for line in figures.splitlines() if line.startswith("|")]
    assert [cells for cells in rows if "lithify" in cells[0]] == [
        [" after `lithify merge-manifests` ", " 1 "]
    ] * 2


@pytest.mark.parametrize("name", ["orders", "variants", "planning", "commits", "manifests", "orphans"])
def test_the_page_has_a_place_for_the_figures(name: str) -> None:
    text = page.PAGE.read_text()

    assert text.count(f"<!-- figures of {name} -->") == text.count(f"<!-- end of figures of {name} -->") == 1


def test_searches_for_orphans_have_their_figures() -> None:
    figures = orphans.compare(Shape(files=2000, buckets=100, partitions=2), 1, deletes=False)

    assert "| 2,000 files in 100 buckets, and 100 leftovers |" in figures
    assert len(figures.splitlines()) == 5
