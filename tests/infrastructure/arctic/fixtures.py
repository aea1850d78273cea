"""Fixtures for tests that need real Arctic tables: a JVM per test process, started when a test asks for it.

Tests that use one are marked `arctic` by themselves. Every test process loads this module, so what takes its
time to import is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from infrastructure.arctic.client import Arctic
    from infrastructure.arctic.mixed import MixedTables

_NEEDS = frozenset({"arctic", "mixed_tables"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests, so that `-m "not arctic"` leaves them out."""
    for item in items:
        if _NEEDS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.arctic)


@pytest.fixture(scope="session")
def arctic() -> Iterator[Arctic]:
    """Arctic 0.4.1, to make keyed tables, change them between our steps, and read them after."""
    from infrastructure.arctic.client import Arctic

    with Arctic.start() as started:
        yield started


@pytest.fixture(scope="session")
def mixed_tables(arctic: Arctic) -> Iterator[MixedTables]:
    """Tables of today's layout, which have the methods of `arctic`."""
    from infrastructure.arctic.mixed import MixedTables

    with MixedTables.start(arctic) as started:
        yield started
