"""The fixtures of these tests, and how they are marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.operators.fixtures import alone, mark, plain, port, shared, stage

__all__ = ["alone", "plain", "port", "shared", "stage"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests need everything, and time."""
    mark(items, Path(__file__).parent)
