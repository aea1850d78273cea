"""Fixtures for tests whose pods have to run; a test that uses one is marked `node` by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.cluster.fixtures import fresh_namespace, session_folder
from infrastructure.cluster.node import Node
from infrastructure.cluster.requirements import node_problem

__all__ = ["Node", "node", "node_namespace"]

GIVEN = "LITHIFY_TEST_NODE"
"""The folder of a node that runs already.

`python -m infrastructure.cluster start --node --state FOLDER` starts one.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need the node, so that `-m "not node"` leaves them out."""
    for item in items:
        if "node" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.node)


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """One cluster with a node for all workers of the session, with nothing of ours in it."""
    if (problem := node_problem()) is not None:
        pytest.skip(problem)
    own = session_folder(tmp_path_factory, "node")
    with Node(Path(os.environ.get(GIVEN, own))) as started:
        yield started


@pytest.fixture
def node_namespace(node: Node, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh namespace of the node's cluster, in which pods can be created; it is deleted after the test."""
    with fresh_namespace(node.kubectl, request.node.name) as name:
        yield name
