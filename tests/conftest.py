"""Fixtures that every test may use. The oracle is one JVM a test process, started when first asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oracle.client import Oracle

pytest_plugins = ["cluster.fixtures", "cluster.node_fixtures", "objectstore.fixtures"]


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """Java Paimon, to make tables, read them back and compare decisions with."""
    with Oracle.start() as started:
        yield started
