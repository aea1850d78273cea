"""A step at a Hive-compatible table: after its commit, Hive reads the new folders of its partitions.

Made by the adapter. The commit itself says where Hive should read each partition, so whatever ends this step
between the two leaves the metastore behind, not the table: the next run makes them agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from lithify.formats.iceberg.compaction.plan import IcebergUnit
from lithify.formats.iceberg.compaction.step import IcebergStep
from lithify.formats.mixed.hive_files import shown
from lithify.formats.mixed.hive_filling import fill_hive
from lithify.formats.mixed.line_commit import LineCommit
from lithify.formats.mixed.units import MixedUnit
from lithify.formats.protocol.results import Block, TaskResult


class HiveStep(IcebergStep):
    """A step of which the extension is a `LineCommit`, and the units are those of a keyed table."""

    def clean(self) -> Sequence[str]:
        """Moves the committed partitions in Hive, then cleans; returns what of both failed."""
        committed = () if self._outcome is None else self._outcome.committed
        folders = {unit.folder for unit in self._keyed_units if unit.group in committed}
        unmoved = fill_hive(self._line.table, folders) if folders else ()
        return (*unmoved, *super().clean())

    def _accept(self, done: Sequence[tuple[IcebergUnit, TaskResult]]) -> Sequence[Block]:
        """Gives finished files the names by which Hive reads them."""
        blocks, storage = super()._accept(done), self._line.table.storage
        folders = {unit.group: unit.hive for unit in self._keyed_units}
        for group, outputs in self._outputs.items():
            data = tuple(shown(file, storage) for file in outputs.data)
            self._outputs[group] = replace(outputs, data=data)
            if not data:  # Hive fails on a folder that is not there
                storage.create_text(f"{folders[group]}/.{self._attempt.prefix}-keep", "")
        return blocks

    @property
    def _line(self) -> LineCommit:
        return cast(LineCommit, self._extension)

    @property
    def _keyed_units(self) -> Iterable[MixedUnit]:
        return self._line.units.values()
