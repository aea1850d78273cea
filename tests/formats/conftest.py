"""The formats that the contract is held against; a new adapter joins by a class beside `paimon`."""

from __future__ import annotations

import pytest

from formats.paimon import PaimonTables
from infrastructure.oracle.client import Oracle


@pytest.fixture(params=["paimon"])
def tables(request: pytest.FixtureRequest, oracle: Oracle) -> PaimonTables:
    return {"paimon": PaimonTables}[request.param](oracle)
