"""Random histories of keyed tables in both layouts; `make fuzz` plays others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.random_tables import COLUMNS, RandomHistory
from infrastructure.iceberg import catalogs
from java.fuzz.mixed.playing import Player, history_in_folders
from lithify.formats.protocol.address import TableAddress
from support.iceberg_runs import options_of


@pytest.mark.sampled(4)
def test_table_in_folders_reads_as_before(arctic: Arctic, tmp_path: Path, seed: int) -> None:
    history, address = history_in_folders(arctic, tmp_path, seed)
    Player(history, arctic, address).play()


@pytest.mark.sampled(4)
def test_table_of_a_catalog_reads_as_before(mixed_tables: MixedTables, tmp_path: Path, seed: int) -> None:
    catalog = catalogs.sql(tmp_path / "catalog") if seed % 2 else catalogs.folder_of_tables(tmp_path / "wh")

    def create(partition: Sequence[str], properties: Mapping[str, str]) -> MixedTable:
        made = MixedTable(catalog, "db.t", COLUMNS, ["id"], partition, has_line_in_property=seed % 3 == 0)
        return mixed_tables.create(made, properties)

    history = RandomHistory.start(mixed_tables, create, seed, has_plain_positions=False)
    warehouse, options = options_of(catalog)
    address = TableAddress(warehouse, "db.t", options, format="mixed-iceberg")
    Player(history, mixed_tables, address).play()
