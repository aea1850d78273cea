"""Fixtures that every test may use. The oracle is one JVM a test process, started when first asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from infrastructure.building import spark_classes
from infrastructure.oracle.client import Oracle

pytest.register_assert_rewrite("support", "fuzz.memory", "fuzz.playing")
pytest_plugins = [
    "infrastructure.cluster.fixtures",
    "infrastructure.cluster.node_fixtures",
    "infrastructure.objectstore.fixtures",
]


settings.register_profile("quick", max_examples=4)


def pytest_configure() -> None:
    """Every Spark that tests start is to start fast, where `make test` has prepared that."""
    os.environ.update(spark_classes.options())


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """Java Paimon, to make tables, read them back and compare decisions with."""
    with Oracle.start() as started:
        yield started
