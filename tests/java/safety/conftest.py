"""A small table that is made once a module, and a copy of it for each test that asks for no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.tables import copy_of, make_plain


@pytest.fixture(scope="module")
def model(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return make_plain(oracle, tmp_path_factory.mktemp("model"), commits=3, keys=30)


@pytest.fixture
def table(model: Table, tmp_path: Path) -> Table:
    return copy_of(model, tmp_path / "warehouse")
