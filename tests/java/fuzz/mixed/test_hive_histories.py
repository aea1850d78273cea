"""Random histories of Hive-compatible tables: after each run, Hive reads the rows that Arctic reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from infrastructure.arctic.random_tables import COLUMNS, RandomHistory
from infrastructure.hive.metastore import HiveMetastore
from java.fuzz.mixed.playing import Player
from lithify.formats.protocol.strategy import Strategy
from support.hive_tables import HiveTables

_ROUNDS = 4


@dataclass(slots=True)
class HivePlayer(Player[KeyedTable]):
    """Plays rounds of changes, each before a run of ours: Arctic's optimizer would not move Hive's folders.

    Attributes:
        hive: has the table of Hive.
    """

    hive: HiveTables | None = None

    def _play(self) -> None:
        for _ in range(_ROUNDS):
            self.taken += self.history.changing(3)
            before = self._rows()
            self.taken.append(self._run(Strategy.FULL, beside=False))
            self._check(before)
            if not self.taken[-1].endswith("refused"):
                assert self._in_hive() == before

    def _in_hive(self) -> list[list[Any]]:
        """The rows of all files that Hive reads."""
        assert self.hive is not None
        table = self.history.table
        partitions = [[value] for value in "ab"] if table.partition else [[]]
        known = [values for values in partitions if self.hive.found(table, values) is not None]
        files = [file for values in known for file in self.hive.folder(table, values).glob("[!.]*.parquet")]
        tables = [pq.ParquetFile(file).read() for file in files]
        return sorted(([*row.values()] for rows in tables for row in rows.to_pylist()), key=repr)


@pytest.mark.sampled(3)
def test_hive_reads_what_arctic_reads(
    arctic: Arctic, hive_metastore: HiveMetastore, tmp_path: Path, seed: int
) -> None:
    hive = HiveTables.fresh(hive_metastore)

    def create(partition: Sequence[str], properties: Mapping[str, str]) -> KeyedTable:
        return hive.make(arctic, KeyedTable(tmp_path / "t", COLUMNS, ["id"], partition), properties)

    history = RandomHistory.start(arctic, create, seed, has_plain_positions=False)
    HivePlayer(history, arctic, hive.address_of(history.table, {}), hive=hive).play()
