"""The changes of a step on a table without a primary key; `compaction.outputs` has what all steps do."""

from __future__ import annotations

from collections.abc import Collection

from lithify.engine.attempts.names import writer_id
from lithify.formats.paimon.compaction.outputs import Outputs
from lithify.formats.paimon.compaction.plan import BucketUnit
from lithify.formats.paimon.deletion_vectors.maintaining import NO_VECTORS, VectorChange
from lithify.formats.paimon.deletion_vectors.sharing import SharedVectorChange, without_files
from lithify.formats.paimon.names.file_names import index_file_name


class PackingOutputs(Outputs):
    """Results of a step's tasks on a table without a primary key."""

    def _vectors(self, unit: BucketUnit, rewritten: Collection[str]) -> VectorChange | SharedVectorChange:
        """The index files of a unit's partition without the vectors of rewritten files; writes them."""
        options = self._table.options.vectors
        if options is None:
            return NO_VECTORS
        view, writer = self._plan.view, writer_id(self._prefix, 0)
        return without_files(
            self._table.storage,
            self._table.index_folder(unit.bucket),
            (index_file_name(writer, number) for number in self._numbers),
            view.vectors(unit.bucket),
            rewritten,
            {name for name, _ in view.names(unit.bucket)}.difference(rewritten),
            options.index_file_size,
        )
