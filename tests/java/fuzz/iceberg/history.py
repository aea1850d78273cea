"""Histories of Iceberg tables as plain data, to be drawn, played, cut down and printed.

Steps name columns, fields and snapshots by numbers: which ones these are depends on what came before, and
what cannot be done to the table by then is left out. So every part of a history is a history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Which:
    """Rows of which the id leaves a rest."""

    modulus: int
    rest: int

    def __contains__(self, number: int) -> bool:
        return number % self.modulus == self.rest

    @property
    def sql(self) -> str:
        """As a condition."""
        return f"id % {self.modulus} = {self.rest}"


@dataclass(frozen=True, slots=True)
class Append:
    """Spark inserts rows with ids from a first one on; `salt` makes their values."""

    first: int
    count: int
    salt: int
    format: str = "parquet"


@dataclass(frozen=True, slots=True)
class Delete:
    """Spark deletes rows, in the mode that it is told."""

    which: Which
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """Spark updates rows."""

    which: Which
    salt: int
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """Spark merges rows into the table by id: some are deleted, others updated or inserted."""

    first: int
    count: int
    salt: int
    copies: bool = False


@dataclass(frozen=True, slots=True)
class EqualityDelete:
    """A commit as Flink makes it.

    Attributes:
        first: id of the first deleted row.
        count: number of deleted keys.
        salt: of the values of deleted keys, and of rows that are added.
        columns: number of the set of columns that are compared.
        appends: whether the keys are added again.
        is_global: whether the delete applies to all partitions, where a spec allows that.
        of_table: whether the values are those of rows of the table, where it has such ids.
    """

    first: int
    count: int
    salt: int
    columns: int = 0
    appends: bool = True
    is_global: bool = False
    of_table: bool = False


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """Spark changes a column: `how` is add, default, drop, rename, promote, move or nest."""

    how: str
    pick: int


@dataclass(frozen=True, slots=True)
class Repartition:
    """Spark adds, drops or replaces a partition field."""

    how: str
    pick: int


@dataclass(frozen=True, slots=True)
class Order:
    """Spark sets the sort order; rows that it writes later are sorted so."""

    pick: int


@dataclass(frozen=True, slots=True)
class SetProperty:
    """Spark sets a property of the table."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Spark upgrades the table to a format version, unless it has it."""

    version: int


@dataclass(frozen=True, slots=True)
class Tag:
    """Spark tags the newest snapshot."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Spark makes a branch of the newest snapshot, and writes rows to it."""

    append: Append
    delete: Which


@dataclass(frozen=True, slots=True)
class Expire:
    """Spark expires all snapshots but some."""

    keep: int


@dataclass(frozen=True, slots=True)
class RollBack:
    """Spark rolls the main branch back by some snapshots, if there are so many."""

    by: int


@dataclass(frozen=True, slots=True)
class SparkRewrites:
    """Spark rewrites data files, or position deletes."""

    procedure: str
    options: Mapping[str, str] = field(default_factory=dict)


Foreign: TypeAlias = (
    Append
    | Delete
    | Update
    | Merge
    | EqualityDelete
    | ChangeColumn
    | Repartition
    | Order
    | SetProperty
    | Upgrade
    | Tag
    | Branch
    | Expire
    | RollBack
    | SparkRewrites
)
"""What others do to a table."""


@dataclass(frozen=True, slots=True)
class Compact:
    """We compact.

    Attributes:
        full: whether fully.
        options: of the run.
        task_bytes: about how much a task reads; None for the usual.
        step_bytes: what a commit takes at most; None for everything.
        budget: memory of a task, in bytes.
        joins: how small files are handled: as always, or joined or copied however small they are.
        on_branch: whether the branch is compacted, if there is one.
        beside: what others do at points of the run: when it comes to one for the first time, the second...
    """

    full: bool
    options: Mapping[str, str] = field(default_factory=dict)
    task_bytes: int | None = None
    step_bytes: int | None = None
    budget: int = 384 << 20
    joins: str = ""
    on_branch: bool = False
    beside: tuple[tuple[str, Foreign | Compact], ...] = ()


Step: TypeAlias = Foreign | Compact


@dataclass(frozen=True, slots=True)
class History:
    """A table and what becomes of it.

    Attributes:
        seed: that it was drawn from.
        version: format version of the new table.
        partitions: the transforms of its partition spec, as SQL has them.
        columns: its columns besides `id`, `day`, `kind` and `amount`, and their types.
        properties: its table properties.
        steps: in their order.
    """

    seed: int
    version: int
    partitions: tuple[str, ...]
    columns: Mapping[str, str]
    properties: Mapping[str, str]
    steps: tuple[Step, ...]

    @property
    def is_parquet(self) -> bool:
        """Whether no file has another format."""
        formats = {step.format for step in self.steps if isinstance(step, Append)}
        return formats <= {"parquet"} and "write.delete.format.default" not in self.properties

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        return "\n  ".join(
            [
                f"history {self.seed}: version {self.version}, partitioned by {self.partitions or 'nothing'}",
                f"more columns: {columns or 'none'}",
                *(f"{name} = {value}" for name, value in self.properties.items()),
                *(f"{number}. {step}" for number, step in enumerate(self.steps)),
            ]
        )
