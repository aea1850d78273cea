"""Random histories of keyed tables of both layouts; `make fuzz` plays others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.model import KeyedTable
from infrastructure.arctic.random_tables import COLUMNS, RandomHistory
from infrastructure.iceberg import catalogs
from java.fuzz.keyed import Player
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import TableAddress


@pytest.mark.sampled(8)
def test_table_of_arctic_reads_as_before(arctic: Arctic, tmp_path: Path, seed: int) -> None:
    def create(partition: Sequence[str], properties: Mapping[str, str]) -> KeyedTable:
        table = KeyedTable(tmp_path / "db" / "t", COLUMNS, ["id"], partition)
        return arctic.create(table, {**properties, PRIMARY_KEY: "id"})

    history = RandomHistory.start(arctic, create, seed, has_plain_positions=False)
    _play(Player(history, arctic, _address(tmp_path)))


@pytest.mark.sampled(8)
def test_table_of_mixed_format_reads_as_before(mixed_tables: MixedTables, tmp_path: Path, seed: int) -> None:
    def create(partition: Sequence[str], properties: Mapping[str, str]) -> MixedTable:
        catalog = catalogs.folder_of_tables(tmp_path)
        return mixed_tables.create(MixedTable(catalog, "db.t", COLUMNS, ["id"], partition), properties)

    history = RandomHistory.start(mixed_tables, create, seed, has_plain_positions=False)
    _play(Player(history, mixed_tables, _address(tmp_path)))


def _play(player: Player[KeyedTable] | Player[MixedTable]) -> None:
    try:
        player.play()
    finally:
        print(*player.taken, sep="\n")


def _address(folder: Path) -> TableAddress:
    return TableAddress(str(folder), "db.t", format="mixed-iceberg")
