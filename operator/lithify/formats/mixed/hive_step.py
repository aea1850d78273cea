"""A step at a Hive-compatible table: after its commit, Hive reads the new folders of its partitions.

Made by the adapter. The commit itself says where Hive should read each partition, so whatever ends this step
between the two leaves the metastore behind, not the table: the next run makes them agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lithify.formats.iceberg.compaction.plan import IcebergUnit
from lithify.formats.iceberg.compaction.step import IcebergStep
from lithify.formats.mixed.hive_files import shown
from lithify.formats.mixed.hive_filling import fill_hive
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.units import MixedUnit
from lithify.formats.protocol.results import Block, StepOutcome, TaskResult


class HiveStep(IcebergStep):
    """A step with a part of its own after the commit.

    Args:
        hive_table: the table with both stores.
        args: those of `IcebergStep`.
    """

    def __init__(self, hive_table: MixedTable, *args: Any) -> None:
        super().__init__(*args)
        self._hive_table = hive_table

    def _accept(self, done: Sequence[tuple[IcebergUnit, TaskResult]]) -> Sequence[Block]:
        """Gives finished files the names by which Hive reads them."""
        blocks, storage = super()._accept(done), self._hive_table.storage
        folders = {unit.group: unit.hive for unit, _ in self._work if isinstance(unit, MixedUnit)}
        for group, outputs in self._outputs.items():
            data = tuple(shown(file, storage) for file in outputs.data)
            self._outputs[group] = replace(outputs, data=data)
            if not data:  # Hive fails on a folder that is not there
                storage.create_text(f"{folders[group]}/.{self._attempt.prefix}-keep", "")
        return blocks

    def commit(self, to_come: int) -> StepOutcome:
        """Commits, then moves the committed partitions in Hive; a failure of that is left to the next run."""
        outcome = super().commit(to_come)
        if outcome.reports:
            fill_hive(self._hive_table)
        return outcome
