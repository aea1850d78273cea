"""How the rows of a table are ordered and merged, as tasks ship it to executors.

Called by `tasks` and `postponed`.
"""

from __future__ import annotations

from lithify.columns.orders import SequenceField
from lithify.engine.rewrite.changelog import ChangelogSpec
from lithify.engine.rewrite.functions import MergeFunction
from lithify.engine.rewrite.records import RecordLayout, RowKinds
from lithify.engine.rewrite.spec import MergeSpec
from lithify.formats.paimon.primary_key.merge_functions.unordered import NO_ORDER
from lithify.formats.paimon.schema.schema import RETRACTING_KINDS, SEQUENCE_NUMBER, VALUE_KIND, Schema


def merge_spec(
    schema: Schema,
    sequence_fields: tuple[SequenceField, ...],
    function: MergeFunction,
    *,
    drop_deletes: bool,
    changelog: ChangelogSpec | None = None,
) -> MergeSpec:
    """How a table's rows are merged: ordered by the user's sequence fields, then by sequence number.

    Comparisons of NaN are all false, so to Paimon 1.4 it equals every number, and no order can include it.
    """
    layout = RecordLayout(
        key=schema.primary_key,
        sequence=(*sequence_fields, SequenceField(SEQUENCE_NUMBER)),
        kinds=RowKinds(VALUE_KIND, RETRACTING_KINDS),
        nan_problem=NO_ORDER,
    )
    return MergeSpec(layout, function, drop_deletes, changelog)
