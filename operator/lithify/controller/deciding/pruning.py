"""Selects the LakeTables that discovery removes because it no longer includes their tables. Pure.

Used by `reconciling.catalogs` after each list of a catalog's tables. A LakeTable is removed only if it is
unchanged since discovery made it, two complete lists in a row lack its table, and either the patterns exclude
the table or an observation of the table itself did not find it. docs/design/0035-discovery.md says why each
of these is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lithify.amounts import count_of
from lithify.controller.deciding.names import label_value
from lithify.controller.deciding.patterns import is_wanted
from lithify.controller.deciding.problems import TableReason
from lithify.controller.deciding.sentences import names_text
from lithify.resources.catalog import Catalog, Discovery, Prune
from lithify.resources.names import ANNOTATION_DISCOVERED, GROUP, LABEL_CATALOG
from lithify.resources.objects import READY, condition_of
from lithify.resources.table import LakeTable, LakeTableSpec
from lithify.settings import MOST_TABLES

ALWAYS_ALLOWED = 5
"""Number of LakeTables that may be removed at once, whatever share of all they are."""
_ALL_PERCENT = 100
_BRANCH = "$branch_"
"""Lists have tables, not their branches."""


class PruneReason(StrEnum):
    """The reason of the condition Pruned."""

    NOTHING_TO_PRUNE = "NothingToPrune"
    PRUNED = "Pruned"
    KEPT = "Kept"
    CHANGED_BY_PEOPLE = "ChangedByPeople"
    LIST_INCOMPLETE = "ListIncomplete"
    NOTHING_LISTED = "NothingListed"
    TOO_MANY = "TooMany"
    UNCONFIRMED = "Unconfirmed"
    REFUSED = "Refused"

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to prune."""
        return self in {PruneReason.NOTHING_TO_PRUNE, PruneReason.PRUNED}


@dataclass(frozen=True, slots=True)
class ListedTables:
    """One list of the tables that discovery includes.

    Attributes:
        names: the tables, as `database.table`.
        wanted: number of included tables; more than `names` if the list was cut.
    """

    names: frozenset[str]
    wanted: int

    @property
    def is_complete(self) -> bool:
        """Whether a table that is missing in it does not exist."""
        return len(self.names) == self.wanted


@dataclass(frozen=True, slots=True)
class Pruning:
    """The decision about LakeTables without a table.

    Attributes:
        reason: of the condition Pruned.
        message: of the same.
        going: the LakeTables to orphan or delete now.
        needs_list: whether a second list of the tables is needed to confirm this one.
    """

    reason: PruneReason
    message: str
    going: tuple[LakeTable, ...] = ()
    needs_list: bool = False


def made_by_discovery(table: LakeTable, catalog: str) -> bool:
    """Whether a LakeTable has the labels that discovery of a Catalog sets."""
    meta = table.metadata
    is_marked = meta.labels.get(LABEL_CATALOG) == label_value(catalog)
    return is_marked and ANNOTATION_DISCOVERED in meta.annotations and table.spec.catalog_ref.name == catalog


def is_unchanged(table: LakeTable) -> bool:
    """Whether a LakeTable with those labels is as discovery made it.

    A label, an owner or an annotation of others counts as a change: a user manages the LakeTable.
    """
    meta, spec = table.metadata, table.spec
    as_made = LakeTableSpec(
        catalog_ref=spec.catalog_ref, identifier=spec.identifier, policy_ref=spec.policy_ref
    )
    return (
        spec == as_made
        and spec.policy_ref.name == meta.annotations.get(ANNOTATION_DISCOVERED)
        and set(meta.labels) == {LABEL_CATALOG}
        and all(name.startswith(f"{GROUP}/") for name in meta.annotations)
        and not meta.owner_references
    )


def prune(
    catalog: Catalog, existing: Iterable[LakeTable], latest: ListedTables, earlier: ListedTables | None
) -> Pruning:
    """Decides which LakeTables go now, and what the Catalog reports about the others.

    Args:
        catalog: the Catalog.
        existing: LakeTables of its namespace, whether discovery made them or not.
        latest: the newest list of its tables, by its present spec.
        earlier: the one before, None if that failed or was made by another spec.
    """
    discovery = catalog.spec.discovery
    if discovery is None:
        return Pruning(PruneReason.NOTHING_TO_PRUNE, "discovery is off")
    made = [table for table in existing if made_by_discovery(table, catalog.metadata.name)]
    if not latest.is_complete:
        return Pruning(
            PruneReason.LIST_INCOMPLETE,
            f"{len(latest.names)} of {count_of(latest.wanted, 'table')} were listed "
            f"({MOST_TABLES.field}), so it is unknown which LakeTables have no table",
        )
    gone = [table for table in made if table.spec.identifier not in latest.names]
    if not gone:
        return Pruning(PruneReason.NOTHING_TO_PRUNE, "each LakeTable that discovery made has its table")
    text = f"{count_of(len(gone), 'LakeTable')} of tables that are dropped or excluded: {_names(gone)}"
    if discovery.prune is Prune.KEEP:
        return Pruning(PruneReason.KEPT, f"{text}; they stay, because spec.discovery.prune is Keep")
    ours = [table for table in gone if is_unchanged(table)]
    if not ours:
        return Pruning(PruneReason.CHANGED_BY_PEOPLE, f"{text}; they stay, because they were changed")
    return _bounded(discovery, len(made), ours, latest) or _confirmed(discovery, ours, earlier, text)


def absent_tables(
    catalog: Catalog, existing: Iterable[LakeTable], latest: ListedTables
) -> tuple[LakeTable, ...]:
    """LakeTables of a Catalog whose tables a complete list lacks, and which no observation has missed yet.

    Made by discovery or by people: an observation tells whether the table is dropped.
    """
    discovery = catalog.spec.discovery
    if discovery is None or not latest.is_complete:
        return ()
    return tuple(
        table
        for table in existing
        if table.spec.catalog_ref.name == catalog.metadata.name
        and is_wanted(table.spec.identifier, discovery.include, discovery.exclude)
        and table.spec.identifier.partition(_BRANCH)[0] not in latest.names
        and not _is_known_gone(table)
    )


def _bounded(
    discovery: Discovery, made: int, ours: Sequence[LakeTable], latest: ListedTables
) -> Pruning | None:
    """Why nothing is pruned although all conditions are met: too many would go at once."""
    percent = discovery.prune_limit_percent
    if percent == _ALL_PERCENT:
        return None
    way_out = "If that is intended, set spec.discovery.pruneLimitPercent to 100 temporarily"
    if not latest.names:
        message = f"no table was found, so {count_of(len(ours), 'LakeTable')} that could go stay. {way_out}"
        return Pruning(PruneReason.NOTHING_LISTED, message)
    if len(ours) > max(ALWAYS_ALLOWED, made * percent // _ALL_PERCENT):
        message = (
            f"{len(ours)} of {count_of(made, 'LakeTable')} would go at once, which is more than {percent}% "
            f"(spec.discovery.pruneLimitPercent), so they stay. {way_out}"
        )
        return Pruning(PruneReason.TOO_MANY, message)
    return None


def _confirmed(
    discovery: Discovery, ours: Sequence[LakeTable], earlier: ListedTables | None, text: str
) -> Pruning:
    """Those that go because all checks agree that their table is dropped or excluded."""
    was_absent = earlier is not None and earlier.is_complete
    absent = [
        table for table in ours if was_absent and earlier and table.spec.identifier not in earlier.names
    ]
    going = tuple(table for table in absent if _is_certain(table, discovery) and not _is_busy(table))
    needs_list = len(absent) < len(ours)
    if going:
        verb = "deleted" if discovery.prune is Prune.DELETE else "orphaned"
        counted = f"{count_of(len(going), 'LakeTable')} of tables that are dropped or excluded"
        said = f"{counted} {verb}: {_names(going)}"
        return Pruning(PruneReason.PRUNED, said, going, needs_list)
    wait = "a second list of the tables" if needs_list else "an observation without the table, or a run's end"
    return Pruning(PruneReason.UNCONFIRMED, f"{text}; waiting for {wait}", needs_list=needs_list)


def _is_certain(table: LakeTable, discovery: Discovery) -> bool:
    """Whether more than lists confirms it: a list may be short because permissions were revoked."""
    if not is_wanted(table.spec.identifier, discovery.include, discovery.exclude):
        return True
    return _is_known_gone(table)


def _is_known_gone(table: LakeTable) -> bool:
    ready = condition_of(table.status.conditions, READY)
    return ready is not None and ready.reason == TableReason.TABLE_NOT_FOUND


def _is_busy(table: LakeTable) -> bool:
    return table.status.active_compaction is not None or table.metadata.deletion_timestamp is not None


def _names(tables: Iterable[LakeTable]) -> str:
    return names_text(table.spec.identifier for table in tables)
