"""Paimon's tables without a primary key under the contract."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from formats.paimon import PaimonTables
from infrastructure.oracle.client import Table
from support.tables import PLAIN

COMMITS = 6


class AppendTables(PaimonTables):
    """Tables without buckets; the two groups are partitions."""

    options: Mapping[str, str] = MappingProxyType({})
    a_partition: ClassVar[Mapping[str, str]] = MappingProxyType({"dt": "a"})

    def _make(self, table: Table) -> None:
        options = {"manifest.merge-min-count": "2", **self.options}
        columns = {**PLAIN, "dt": "STRING"}
        self.oracle.create_table(table, columns, partition_keys=["dt"], options=options)
        for commit in range(COMMITS):
            rows = [
                ["+I", commit * 10 + number, f"c{commit}-{number}", number, "ab"[number % 2]]
                for number in range(10)
            ]
            self.oracle.write(table, rows)

    def make_unsupported(self, folder: Path) -> tuple[Table, str]:
        """A table that is refused, and the option that the refusal names."""
        table = Table(folder, "db.refused")
        self.oracle.create_table(table, PLAIN, options={"row-tracking.enabled": "true"})
        return table, "row-tracking.enabled"

    def append(self, table: Table) -> None:
        """Others add a row that says `late`."""
        self.oracle.write(table, [["+I", 1_000, "late", 0, "a"]])

    def compact_first_group(self, table: Table) -> str:
        """Others compact one partition; returns the path of its bucket."""
        self.oracle.compact(table, partitions=[{"dt": "a"}])
        return "dt=a/bucket-0"


class MarkedAppendTables(AppendTables):
    """Tables without buckets, of which some rows are deleted by vectors."""

    options: Mapping[str, str] = MappingProxyType({"deletion-vectors.enabled": "true"})

    def _make(self, table: Table) -> None:
        super()._make(table)
        self.oracle.delete(table, {"column": "id", "op": "in", "literals": [3, 8, 21, 32, 33]})


class BucketedAppendTables(PaimonTables):
    """Tables of two buckets."""

    def _make(self, table: Table) -> None:
        options = {"manifest.merge-min-count": "2", "bucket": "2", "bucket-key": "id"}
        self.oracle.create_table(table, PLAIN, options=options)
        for commit in range(COMMITS):
            rows = [["+I", commit * 30 + number, f"c{commit}-{number}", number] for number in range(30)]
            self.oracle.write(table, rows)

    def make_unsupported(self, folder: Path) -> tuple[Table, str]:
        """A table that is refused, and the option that the refusal names."""
        table = Table(folder, "db.refused")
        options = {"bucket": "2", "bucket-key": "id", "deletion-vectors.enabled": "true"}
        self.oracle.create_table(table, PLAIN, options=options)
        return table, "deletion-vectors.enabled"


class ClusteredTables(AppendTables):
    """Tables without buckets whose rows are sorted in levels; the two groups are partitions."""

    options: Mapping[str, str] = MappingProxyType(
        {"clustering.incremental": "true", "clustering.columns": "n"}
    )

    def make_unsupported(self, folder: Path) -> tuple[Table, str]:
        """A table that is refused, and the option that the refusal names."""
        table = Table(folder, "db.refused")
        options = {**self.options, "clustering.strategy": "none"}
        self.oracle.create_table(table, PLAIN, options=options)
        return table, "clustering.strategy"
