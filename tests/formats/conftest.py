"""The formats that the contract is held against; the tables of a new adapter, or kind, join in `MAKERS`."""

from __future__ import annotations

from typing import Any

import pytest

from formats.paimon import PaimonTables
from formats.paimon_append import (
    AppendTables,
    BucketedAppendTables,
    ClusteredTables,
    MarkedAppendTables,
)
from formats.tables import FormatTables
from infrastructure.oracle.client import Oracle
from lithify.formats.registry import FORMATS

MAKERS = {
    "paimon": PaimonTables,
    "paimon append": AppendTables,
    "paimon append in buckets": BucketedAppendTables,
    "paimon append, clustered": ClusteredTables,
    "paimon append with deletes": MarkedAppendTables,
}


@pytest.fixture(scope="module", params=sorted({*FORMATS, *MAKERS}))
def tables(
    request: pytest.FixtureRequest, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> FormatTables:
    return MAKERS[request.param](oracle, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def table(tables: FormatTables, tmp_path: Any) -> Any:
    """A table of two groups, both of which have work."""
    return tables.make(tmp_path)
