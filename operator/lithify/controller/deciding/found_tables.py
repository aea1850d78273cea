"""The Catalog's conditions about tables that are gone, and about those that are not supported. Pure.

Called by `references` for the Catalog's status.
"""

from __future__ import annotations

from collections.abc import Mapping

from lithify.amounts import count_of
from lithify.controller.deciding.condition_builder import ConditionBuilder
from lithify.controller.deciding.pruning import Pruning
from lithify.controller.deciding.sentences import names_text
from lithify.resources.catalog import Catalog
from lithify.resources.objects import without_condition

PRUNED = "Pruned"
ALL_SUPPORTED = "AllSupported"


def say_pruned(conditions: ConditionBuilder, catalog: Catalog, pruning: Pruning | None) -> None:
    """Whether each LakeTable that discovery made has its table; unchanged while that is unknown."""
    if catalog.spec.discovery is None:
        conditions.conditions = without_condition(conditions.conditions, PRUNED)
    elif pruning is not None:
        say = conditions.true if pruning.reason.is_done else conditions.false
        say(PRUNED, pruning.reason, pruning.message)


def say_supported(conditions: ConditionBuilder, unsupported: Mapping[str, str]) -> None:
    """Names all unsupported tables in one condition; they are no failure of the catalog."""
    if not unsupported:
        conditions.conditions = without_condition(conditions.conditions, ALL_SUPPORTED)
        return
    first = min(unsupported)
    conditions.false(
        ALL_SUPPORTED,
        "UnsupportedTables",
        f"{count_of(len(unsupported), 'table')} cannot be compacted: {names_text(unsupported)}. "
        f"{first}: {unsupported[first]}",
    )
