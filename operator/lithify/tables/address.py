"""Which table, and which part of it: the two values that every order, request and question nests.

Made by the command line from flags and by the controller from resources; sent to workers by pickle and to
drivers as JSON. A new field that says how a table is reached, or which part of it is meant, goes here and
nowhere else. Opens nothing and imports no adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from lithify.clock import find_zone
from lithify.errors import InvalidOption
from lithify.planning.merge_tree.policy import PickingRule, Strategy
from lithify.settings import TIME_ZONE
from lithify.tables.io.reach import UNBOUNDED, Reach


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Which table, and how to get at it.

    Attributes:
        warehouse: root directory of the catalog (for REST catalogs the name of the warehouse).
        name: `database.table` or `database.table$branch_name`; empty where only the catalog is meant.
        catalog_options: those that the adapter accepts (`metastore`, `uri`, credentials...); never logged.
        overrides: table options that replace the stored ones.
        rule: whose picking rule.
        reach: where the rights of this process may be used.
        format: the format of the table, as `registry` knows it.
        time_zone: name of the time zone of the table's writers, None for this machine's.
        uuid: the expected UUID, checked by `registry.open_table`; None accepts any. Looks ignore it: they
            tell which one they found.
        catalog: which Catalog it is of, as `namespace/name`; empty outside of the operator.
    """

    warehouse: str
    name: str
    catalog_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    overrides: Mapping[str, str] = field(default_factory=dict)
    rule: PickingRule = PickingRule.V1_4
    reach: Reach = UNBOUNDED
    format: str = "paimon"
    time_zone: str | None = None
    uuid: str | None = None
    catalog: str = ""

    def zone(self) -> ZoneInfo | None:
        """The time zone of the table's writers, None for this machine's.

        Raises:
            InvalidOption: there is no zone of that name.
        """
        try:
            return None if self.time_zone is None else find_zone(self.time_zone)
        except ValueError as error:
            raise InvalidOption(TIME_ZONE, str(error)) from error


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of a table, and how much of the work that is due there; empty means all.

    Attributes:
        partitions: each a set of column values; a partition is meant if it has the values of one of them.
        buckets: bucket numbers.
        strategy: minor or full.
        held: fingerprints of groups that could not be compacted before, by path: left out, or counted as
            blocked, while they have these files.
    """

    partitions: tuple[Mapping[str, str], ...] = ()
    buckets: frozenset[int] = frozenset()
    strategy: Strategy = Strategy.MINOR
    held: Mapping[str, str] = field(default_factory=dict)

    def selects(self, spec: Mapping[str, str]) -> bool:
        """Whether a partition with these values is meant."""
        return not self.partitions or any(wanted.items() <= spec.items() for wanted in self.partitions)
