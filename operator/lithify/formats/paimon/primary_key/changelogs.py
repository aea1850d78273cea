"""How a table's changelog is recorded: from its options, for each rewrite and upgrade.

Called by `planning` and `tasks`; `support` refuses tables whose changelog Paimon or this release cannot
produce.
"""

from __future__ import annotations

from lithify.engine.rewrite.changelog import ChangelogSpec
from lithify.engine.rewrite.functions import MergeFunction
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.changelog_options import (
    ChangelogOptions,
    ChangelogProducer,
    compared_columns,
)
from lithify.formats.paimon.options.merging.field_options import field_options
from lithify.formats.paimon.planning.merge_tree.plan import Unit
from lithify.formats.paimon.primary_key.lookups import first_known_run, looks_up
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.formats.paimon.primary_key.merge_functions.lookup import Lookup
from lithify.formats.paimon.primary_key.merge_functions.partial_update import PartialUpdate
from lithify.formats.paimon.primary_key.merge_functions.superseding import Superseding
from lithify.formats.paimon.primary_key.previous_records import (
    KINDS,
    FirstRecords,
    LookedUpRecords,
    TopLevelRecords,
)
from lithify.formats.paimon.schema.schema import Schema


def changelog_of_rewrite(
    changelog: ChangelogOptions, function: MergeFunction, unit: Unit, schema: Schema
) -> ChangelogSpec | None:
    """How the changes by one rewrite or upgrade are recorded; None if they are not.

    Args:
        changelog: the table's options.
        function: the function of the rewrite.
        unit: its unit.
        schema: the table's newest schema.
    """
    first_upper = len(unit.levels.level0)
    compared = compared_columns(schema, changelog) if changelog.deduplicates else None
    match changelog.producer:
        case ChangelogProducer.FULL_COMPACTION if unit.output_level == unit.levels.max_level:
            return ChangelogSpec(TopLevelRecords(_top_run(unit)), KINDS, compared)
        case ChangelogProducer.LOOKUP if looks_up(function):
            if isinstance(function, FirstRow):
                return ChangelogSpec(FirstRecords(first_upper), None)
            previous = LookedUpRecords(first_upper, first_known_run(unit))
            return ChangelogSpec(previous, KINDS, compared, _rebuilt(schema), _ordered_by(function))
    return None


def _rebuilt(schema: Schema) -> frozenset[str]:
    """The array columns without duplicates: Paimon collects them into a new array in every merge."""
    names = (column.name for column in schema.columns if column.type.root == "ARRAY")
    return frozenset(name for name in names if field_options(schema.options, name).distinct)


def _ordered_by(function: MergeFunction) -> dict[str, tuple[str, ...]]:
    """The sequence fields of aggregated columns: without a value in one of them, a record does not count."""
    merging = function.function if isinstance(function, Lookup | Superseding) else function
    groups = merging.groups if isinstance(merging, PartialUpdate) else ()
    return {name: group.fields for group in groups for name in group.aggregates}


def _top_run(unit: Unit) -> int:
    runs = enumerate(unit.levels.runs)
    return next((number for number, run in runs if run.level == unit.levels.max_level), -1)


def check_levels(unit: Unit, changelog: ChangelogOptions, num_levels: int) -> None:
    """Checks that a full compaction of a bucket reaches the level that the table's options call the top.

    Raises:
        UnsupportedTable: files are above that level since `num-levels` was lowered. Paimon then writes no
            changelog, or fails.
    """
    is_grown = unit.levels.number_of_levels > num_levels
    if is_grown and changelog.producer is ChangelogProducer.FULL_COMPACTION:
        highest = unit.levels.highest_non_empty
        reason = (
            f"files of level {highest} with num-levels = {num_levels}: Paimon writes no changelog then; "
            f"set num-levels to {highest + 1} again"
        )
        raise UnsupportedTable(unit.bucket.path, (reason,))
