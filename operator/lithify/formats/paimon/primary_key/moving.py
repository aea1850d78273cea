"""Turns the results of tasks that move postponed rows into changes to commit.

Made by `step`; `compaction.outputs` has the results of all other tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from lithify.errors import UnsupportedTable
from lithify.formats.paimon.commit.conflict_check import Change
from lithify.formats.paimon.commit.moves import MovedRows
from lithify.formats.paimon.compaction.outputs import Outputs
from lithify.formats.paimon.compaction.plan import BucketUnit
from lithify.formats.paimon.primary_key.postponed import PostponedUnit
from lithify.formats.paimon.primary_key.postponed_task import MovedFile


class MovingOutputs(Outputs):
    """Results of a step's tasks; those of postponed rows are under their postponed bucket."""

    def _change(self, unit: BucketUnit) -> Change:
        return self._moved(unit) if isinstance(unit, PostponedUnit) else super()._change(unit)

    def _moved(self, unit: PostponedUnit) -> MovedRows:
        outputs, view = self.of(unit.bucket), self._plan.view
        if outputs.changelog or outputs.index:
            raise UnsupportedTable(unit.bucket.path, ("changelog and index files of postponed rows",))
        files: Sequence[MovedFile] = outputs.data
        return MovedRows(
            bucket=unit.bucket,
            removed=tuple(view.entries(unit.bucket, unit.inputs)),
            moved=tuple((each.bucket, each.file) for each in files),
            count=unit.count,
            highest=dict(unit.highest),
        )
