"""Fixtures that every test may use. The oracle is one JVM a test process, started when first asked for."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from infrastructure.building import spark_classes
from infrastructure.oracle.client import Oracle

pytest.register_assert_rewrite("support", "java.fuzz")
pytest_plugins = [
    "infrastructure.arctic.fixtures",
    "infrastructure.cluster.fixtures",
    "infrastructure.cluster.node_fixtures",
    "infrastructure.hdfs.fixtures",
    "infrastructure.hive.fixtures",
    "infrastructure.iceberg.fixtures",
    "infrastructure.objectstore.fixtures",
    "infrastructure.sampling",
]


# Two processors run several tests at once: how long one example takes says nothing of the code.
settings.register_profile("default", deadline=None)
settings.register_profile("quick", max_examples=4, deadline=None)
settings.register_profile("fewer", max_examples=30, deadline=None)


def pytest_configure() -> None:
    """Every Spark that tests start is to start fast, where `make test` has prepared that."""
    os.environ.update(spark_classes.options())


def pytest_collection_finish() -> None:
    """Keeps libraries and thousands of collected tests from being walked by each collection of garbage.

    With Python's own thresholds, collections take an eighth of the unit tests' processor time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """Java Paimon, to make tables, read them back and compare decisions with."""
    with Oracle.start() as started:
        yield started
