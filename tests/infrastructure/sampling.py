"""A pytest plugin that runs a seeded sample of families of cases that would take too long as a whole.

`make check` and `make test` pass `--sample SEED` with another seed each time; `make soak`, and pytest called
directly, run every case. A family is one test function with all of its parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from random import Random
from typing import TypeVar

import pytest

_Any = TypeVar("_Any")
_SMALLEST = 3
"""Families below this size are not worth the cases that a run would miss."""


class Sampler:
    """Picks from what a test would try one after the other: another sample with each call."""

    def __init__(self, seed: int | None, name: str) -> None:
        self._random = None if seed is None else Random(f"{seed} {name}")

    def __call__(self, values: Iterable[_Any], count: int) -> list[_Any]:
        """Returns `count` of the values in their order, or all values if nothing is sampled."""
        every = [*values]
        if self._random is None or len(every) <= count:
            return every
        return [every[at] for at in sorted(self._random.sample(range(len(every)), count))]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--sample SEED`."""
    parser.addoption("--sample", type=int, metavar="SEED", help="run a sample of each large family of cases")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the two markers."""
    config.addinivalue_line(
        "markers",
        "sampled(count, each=None): with `--sample`, only this number of the function's cases runs; with "
        "`each`, this number for each value of the parameter of that name",
    )
    config.addinivalue_line("markers", "always: a case that once found a bug; no sample leaves it out")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects what is not in the sample; every process of a run selects the same."""
    seed = config.getoption("--sample")
    if seed is None:
        return
    left_out = {name for family in _families(items) for name in _left_out(family, seed)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says which sample ran, and how to run it again."""
    seed = config.getoption("--sample")
    if seed is not None:
        terminalreporter.write_line(
            f"Large families of cases were sampled with SEED={seed}. Again: `make test SEED={seed}`; "
            "one case that failed: pytest with its name; all cases: `make soak`."
        )


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Sampler:
    """For tests that try many things themselves: picks a few of them by the seed of the run."""
    return Sampler(request.config.getoption("--sample"), request.node.nodeid)


def chosen(names: Iterable[str], count: int, seed: str) -> set[str]:
    """Returns `count` of the names, or all if there are fewer; the same names for the same seed."""
    ordered = sorted(names)
    return set(Random(seed).sample(ordered, min(count, len(ordered))))


def _families(items: Iterable[pytest.Item]) -> list[list[pytest.Function]]:
    """The items with the marker, by test function, where there are enough of them."""
    found: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("sampled"):
            found[_name(item)].append(item)
    return [family for family in found.values() if len(family) >= _SMALLEST]


def _left_out(family: list[pytest.Function], seed: int) -> set[str]:
    """The ids of the family's cases that this run does without."""
    marker = family[0].get_closest_marker("sampled")
    assert marker is not None
    (count,), each = marker.args, marker.kwargs.get("each")
    groups: dict[str, set[str]] = defaultdict(set)
    for item in family:
        if not item.get_closest_marker("always"):
            groups[_value(item, each) if each else ""].add(item.nodeid)
    name = _name(family[0])
    kept = (chosen(cases, count, f"{seed} {name} {value}") for value, cases in groups.items())
    return set().union(*groups.values()).difference(*kept)


def _name(item: pytest.Function) -> str:
    return item.nodeid.partition("[")[0]


def _value(item: pytest.Function, parameter: str) -> str:
    """What a case has for a parameter, as text that is the same in every process."""
    value = item.callspec.params[parameter]
    return str(getattr(value, "id", getattr(value, "name", getattr(value, "__name__", value))))
