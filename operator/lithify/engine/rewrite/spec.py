"""How one merge is done: built by format adapters, shipped to executors with the task, read by the merge."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.engine.rewrite.changelog import ChangelogSpec
from lithify.engine.rewrite.functions import Deduplicate, MergeFunction
from lithify.engine.rewrite.records import RecordLayout

_NEWEST = Deduplicate()


@dataclass(frozen=True, slots=True)
class MergeSpec:
    """How records are ordered and merged.

    Attributes:
        layout: key and order of the records.
        function: merges the records of a key.
        drop_retractions: whether records that retract their key are left out of the output.
        changelog: how changes are recorded; None if they are not.
    """

    layout: RecordLayout
    function: MergeFunction = _NEWEST
    drop_retractions: bool = False
    changelog: ChangelogSpec | None = None

    @property
    def compared_columns(self) -> tuple[str, ...]:
        """Columns whose values are used, not only passed on; they are read without dictionaries."""
        sequence = (field.name for field in self.layout.sequence)
        return (*self.layout.key, *sequence, *self.function.columns)
