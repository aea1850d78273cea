"""The chart as rendered for each case, once a process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from infrastructure.chart.cases import CASES
from infrastructure.chart.rendering import Rendered, render


@cache
def _rendered(name: str) -> Rendered:
    return render(CASES[name])


@pytest.fixture
def rendered() -> Callable[[str], Rendered]:
    """The chart by the name of a case."""
    return _rendered
