"""The oracle of these tests makes large tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infrastructure.oracle.client import FOR_LARGE_TABLES, Oracle


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """A Java that compiles well what it does millions of times."""
    with Oracle.start(jvm_args=FOR_LARGE_TABLES) as started:
        yield started
