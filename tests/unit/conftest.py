"""What unit tests share: a table of two commits, and imports without what takes libraries seconds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Where it is installed, for bills of materials, jsonschema compiles grammars of IRIs on import.
# None of the schemas here has IRIs.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
import jsonschema  # noqa: E402, F401 - now, without it

if sys.modules["rfc3987_syntax"] is None:
    del sys.modules["rfc3987_syntax"]

from lithify.formats.protocol.address import TableAddress  # noqa: E402
from support.orders_table import copy_of, make_orders  # noqa: E402


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> TableAddress:
    """A table of two commits, for reading only."""
    return make_orders(tmp_path_factory.mktemp("made"), commits=2)


@pytest.fixture
def orders(made: TableAddress, tmp_path: Path) -> TableAddress:
    """The same, to be changed."""
    return copy_of(made, tmp_path / "warehouse")
