"""Which histories are played, and whether those that fail are cut down: `make fuzz` says."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--histories", type=int, default=200, help="how many histories are played")
    parser.addoption("--first", type=int, default=0, help="the number of the first one")
    parser.addoption("--cut", action="store_true", help="cut histories that fail down to what it takes")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        first = metafunc.config.getoption("--first", 0)
        metafunc.parametrize("seed", range(first, first + metafunc.config.getoption("--histories", 200)))
