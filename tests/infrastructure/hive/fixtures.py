"""Fixtures: a Hive metastore for each test process that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from infrastructure.hive.metastore import HiveMetastore


@pytest.fixture(scope="session")
def hive_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    """A metastore, which tests share: each uses databases of its own."""
    from infrastructure.hive.metastore import HiveMetastore

    with HiveMetastore(tmp_path_factory.mktemp("hive")) as started:
        yield started
