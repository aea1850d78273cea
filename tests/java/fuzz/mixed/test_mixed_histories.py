"""Random histories of keyed tables in both layouts; `make fuzz` plays others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.model import KeyedTable
from infrastructure.arctic.random_tables import COLUMNS, RandomHistory
from infrastructure.iceberg import catalogs
from java.fuzz.mixed.playing import play
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import TableAddress
from support.iceberg_runs import options_of

if TYPE_CHECKING:
    from infrastructure.arctic.client import Arctic

_KEY = "id"


@pytest.mark.sampled(6)
def test_table_in_folders_reads_as_before(arctic: Arctic, tmp_path: Path, seed: int) -> None:
    table = KeyedTable(tmp_path / "db" / "t", COLUMNS, [_KEY], [])

    def create(partition: Sequence[str], properties: Mapping[str, str]) -> KeyedTable:
        return arctic.create(KeyedTable(table.location, COLUMNS, [_KEY], partition), properties)

    history = RandomHistory.start(arctic, create, seed, has_plain_positions=False)
    key = {PRIMARY_KEY: _KEY}
    address = TableAddress(str(tmp_path), "db.t", overrides=key, format="mixed-iceberg")

    def read() -> list[Any]:
        return sorted(arctic.read(history.table), key=repr)

    play(history, address, read, _KEY)


@pytest.mark.sampled(6)
def test_table_of_a_catalog_reads_as_before(mixed_tables: MixedTables, tmp_path: Path, seed: int) -> None:
    catalog = catalogs.sql(tmp_path / "catalog") if seed % 2 else catalogs.folder_of_tables(tmp_path / "wh")

    def create(partition: Sequence[str], properties: Mapping[str, str]) -> MixedTable:
        made = MixedTable(catalog, "db.t", COLUMNS, [_KEY], partition, has_line_in_property=seed % 3 == 0)
        return mixed_tables.create(made, properties)

    history = RandomHistory.start(mixed_tables, create, seed, has_plain_positions=False)
    warehouse, options = options_of(catalog)
    address = TableAddress(warehouse, "db.t", options, format="mixed-iceberg")

    def read() -> list[Any]:
        return sorted(mixed_tables.read(history.table), key=repr)

    play(history, address, read, _KEY)
