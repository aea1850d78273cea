"""Folders of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.controller.cluster.folders import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.close()
