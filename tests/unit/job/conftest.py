"""The table of two commits that tests of runs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.formats.protocol.address import TableAddress
from support.orders_table import copy_of, make_orders


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> TableAddress:
    """A table of two commits, for reading only."""
    return make_orders(tmp_path_factory.mktemp("made"), commits=2)


@pytest.fixture
def orders(made: TableAddress, tmp_path: Path) -> TableAddress:
    """The same, to be changed."""
    return copy_of(made, tmp_path / "warehouse")
