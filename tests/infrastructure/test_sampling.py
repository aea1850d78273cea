"""Samples of families of cases: the same ones for a seed, others for another, and what is always kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infrastructure.sampling import Sampler, chosen

NAMES = [f"case-{number}" for number in range(50)]
FAMILIES = """
import pytest

BUG = pytest.param(99, marks=pytest.mark.always, id="bug")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [*range(20), BUG])
def test_large(number): pass


@pytest.mark.sampled(1, each="point")
@pytest.mark.parametrize("table", range(5))
@pytest.mark.parametrize("point", ["before", "after"])
def test_product(point, table): pass


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(2))
def test_small(number): pass


@pytest.mark.parametrize("number", range(20))
def test_whole(number): pass
"""

Collected = Callable[..., dict[str, list[str]]]


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    """Collects the families with options of pytest: the ids of cases by test."""
    (tmp_path / "test_families.py").write_text(FAMILIES)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "operator")])

    def collect(*options: str) -> dict[str, list[str]]:
        words = [sys.executable, "-m", "pytest", "-p", "infrastructure.sampling", "--collect-only", "-q"]
        done = subprocess.run(
            [*words, *options, "."],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, list[str]] = {}
        for line in done.stdout.splitlines():
            if "::" in line:
                name, _, case = line.partition("::")[2].rstrip("]").partition("[")
                found.setdefault(name, []).append(case)
        return found

    return collect


def test_a_sample_depends_on_nothing_but_the_seed() -> None:
    assert chosen(NAMES, 5, "1") == chosen(NAMES[::-1], 5, "1") < set(NAMES)
    assert len({frozenset(chosen(NAMES, 5, str(seed))) for seed in range(20)}) == 20
    assert set().union(*(chosen(NAMES, 5, str(seed)) for seed in range(100))) == set(NAMES)
    assert chosen(NAMES, 51, "1") == set(NAMES)


def test_large_families_are_sampled(collected: Collected) -> None:
    found = collected("--sample", "7")
    assert found == collected("--sample", "7")
    assert len(found["test_large"]) == 4
    assert "bug" in found["test_large"]
    assert sorted(case.partition("-")[0] for case in found["test_product"]) == ["after", "before"]
    assert (len(found["test_small"]), len(found["test_whole"])) == (2, 20)


def test_all_cases_run_where_no_seed_is_given(collected: Collected) -> None:
    assert {name: len(cases) for name, cases in collected().items()} == {
        "test_large": 21,
        "test_product": 10,
        "test_small": 2,
        "test_whole": 20,
    }


def test_inside_a_test_a_few_are_picked_in_their_order() -> None:
    pick, again, other = Sampler(1, "a"), Sampler(1, "a"), Sampler(2, "a")
    first, second = pick(NAMES, 5), pick(NAMES, 5)
    assert first == sorted(first, key=NAMES.index)
    assert len(first) == 5
    assert (first, second) == (again(NAMES, 5), again(NAMES, 5))
    assert len({(*first,), (*second,), (*other(NAMES, 5),)}) == 3
    assert (pick(NAMES[:5], 5), Sampler(None, "a")(NAMES, 5)) == (NAMES[:5], NAMES)
