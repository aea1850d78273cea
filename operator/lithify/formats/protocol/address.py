"""The address of a table and the selection of a part of it, nested in every order and request.

Made by the command line from flags and by the controller from resources; sent to workers by pickle and to
drivers as JSON. New fields about how a table is reached or which part is selected belong only here.
Opens nothing and imports no adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from lithify.clock import find_zone
from lithify.errors import InvalidOption
from lithify.formats.protocol.strategy import Strategy
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.settings import BUCKETS, TIME_ZONE


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Identifies a table and says how to reach it.

    Attributes:
        warehouse: root directory of the catalog (for REST catalogs, the warehouse's name).
        name: `namespace.table` or `namespace.table$branch_name`; a namespace may have several levels, with
            dots between them, if its format has such; empty for requests about the catalog.
        catalog_options: options that the adapter accepts (`metastore`, `uri`, credentials...); never logged.
        overrides: table options that replace the stored ones.
        reach: paths for which this process may use its own permissions.
        format: name of the table format in `registry`.
        time_zone: name of the time zone of the table's writers, None for this machine's.
        uuid: the expected UUID, checked by `registry.open_table`; None accepts any. Observations
            ignore it and report the UUID that they found.
        catalog: the table's Catalog resource as `namespace/name`; empty outside the operator.
    """

    warehouse: str
    name: str
    catalog_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    overrides: Mapping[str, str] = field(default_factory=dict)
    reach: AccessPolicy = UNBOUNDED
    format: str = "paimon"
    time_zone: str | None = None
    uuid: str | None = None
    catalog: str = ""

    def zone(self) -> ZoneInfo | None:
        """The time zone of the table's writers, None for this machine's.

        Raises:
            InvalidOption: no time zone has that name.
        """
        try:
            return None if self.time_zone is None else find_zone(self.time_zone)
        except ValueError as error:
            raise InvalidOption(TIME_ZONE, str(error)) from error


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a table to compact and the strategy; empty selects the whole table.

    Attributes:
        partitions: sets of column values as users write them; a partition is selected if it matches any of
            them. `partition.PartitionFilter` parses and compares them.
        buckets: numbers of buckets, in formats that divide partitions into such; others refuse them.
        strategy: minor or full.
        held: fingerprints by path of groups that could not be compacted before. While a group still has
            these files, it is left out or counted as blocked.
    """

    partitions: tuple[Mapping[str, str], ...] = ()
    buckets: frozenset[int] = frozenset()
    strategy: Strategy = Strategy.MINOR
    held: Mapping[str, str] = field(default_factory=dict)

    def check_without_buckets(self, table: str, noun: str) -> None:
        """Checks that no buckets are selected, for formats that have none.

        Args:
            table: the table's name.
            noun: what its format divides tables into.

        Raises:
            InvalidOption: some are.
        """
        if self.buckets:
            problem = f"{table} has no buckets: its format divides tables into {noun}s; leave it out"
            raise InvalidOption(BUCKETS, problem)
