"""The formats that the contract is held against: first the reference, which needs no Java, then the others.

The tables of a new adapter, or of a new kind, join in `OF_JAVA`.
"""

from __future__ import annotations

from typing import Any

import pytest

from formats.iceberg import IcebergTables
from formats.memory import MemoryTables
from formats.mixed import MixedTables
from formats.paimon import PaimonTables
from formats.paimon_append import (
    AppendTables,
    BucketedAppendTables,
    ClusteredTables,
    MarkedAppendTables,
)
from formats.tables import FormatTables
from lithify.formats.adapters import FORMATS

OF_JAVA = {
    "paimon": PaimonTables,
    "paimon append": AppendTables,
    "paimon append in buckets": BucketedAppendTables,
    "paimon append, clustered": ClusteredTables,
    "paimon append with deletes": MarkedAppendTables,
}
OF_ARCTIC = {"mixed-iceberg": MixedTables}
WITHOUT_JAVA = {"memory": MemoryTables, "iceberg": IcebergTables}


JAVAS = [
    *(
        pytest.param(name, marks=pytest.mark.oracle)
        for name in sorted({*FORMATS, *OF_JAVA} - WITHOUT_JAVA.keys() - OF_ARCTIC.keys())
    ),
    *(pytest.param(name, marks=pytest.mark.arctic) for name in OF_ARCTIC),
]


@pytest.fixture(scope="module", params=[*WITHOUT_JAVA, *JAVAS])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FormatTables:
    if request.param in WITHOUT_JAVA:
        return WITHOUT_JAVA[request.param]()
    home = tmp_path_factory.mktemp(request.param)
    if request.param in OF_ARCTIC:
        return OF_ARCTIC[request.param](request.getfixturevalue("arctic"))
    oracle = request.getfixturevalue("oracle")
    return OF_JAVA[request.param](oracle, home)


@pytest.fixture
def table(tables: FormatTables, tmp_path: Any) -> Any:
    """A table of two groups, both of which have work."""
    return tables.make(tmp_path)
