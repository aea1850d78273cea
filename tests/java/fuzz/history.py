"""Histories of tables as plain data, to be drawn, played, cut down and printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

OUTSIDE = "{outside}"
Change: TypeAlias = Mapping[str, Any]
"""A schema change as the oracle takes it."""


@dataclass(frozen=True, slots=True)
class Write:
    """Java commits random rows.

    Attributes:
        seed: of the rows.
        rows: how many.
        deletes: which share of them are deletes.
        overwrites: whether they replace all rows of the partitions that they are in.
        compacts: whether the writer compacts before it commits.
        watermark: what the commit says of the time that its rows have come to.
    """

    seed: int
    rows: int
    deletes: float
    overwrites: bool = False
    compacts: bool = False
    watermark: int | None = None


@dataclass(frozen=True, slots=True)
class JavaCompacts:
    """Java compacts, with a low trigger if it is a minor compaction."""

    full: bool


@dataclass(frozen=True, slots=True)
class Alter:
    """Java changes the schema, all at once."""

    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Rescale:
    """Java gives a table another number of buckets, and overwrites all of it, as it then must."""

    buckets: int
    write: Write


@dataclass(frozen=True, slots=True)
class MergeManifests:
    """Java rewrites the manifests into few."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """Java rolls the table back by some snapshots, if there are so many."""

    by: int


@dataclass(frozen=True, slots=True)
class Expire:
    """Java expires all snapshots but the newest, with the files that nothing else refers to."""


@dataclass(frozen=True, slots=True)
class Tag:
    """Java tags the newest snapshot."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Java makes a branch from a tag of the newest snapshot; the steps that follow are the branch's."""


@dataclass(frozen=True, slots=True)
class FastForward:
    """Java gives the main branch the snapshots of the other one; the steps that follow are on main again."""


@dataclass(frozen=True, slots=True)
class Consume:
    """A streaming reader with a consumer id reads on.

    Attributes:
        plans: how many snapshots it reads at most, None for all.
    """

    plans: int | None


Beside: TypeAlias = Write | JavaCompacts | Alter | Rescale | MergeManifests | RollBack | Expire


@dataclass(frozen=True, slots=True)
class Compact:
    """We compact.

    Attributes:
        full: whether fully.
        budget: memory of a merge, in bytes.
        task_bytes: about how much a task reads; None for the usual.
        step_bytes: what a commit takes at most; None for everything.
        beside: what Java commits after our tasks have run, and before we commit.
        early: whether Java does so before our tasks run.
    """

    full: bool
    budget: int
    task_bytes: int | None = None
    step_bytes: int | None = None
    beside: tuple[Beside, ...] = ()
    early: bool = False


Step: TypeAlias = Beside | Tag | Branch | FastForward | Consume | Compact


def with_beside(steps: Sequence[Step]) -> list[Step]:
    """All steps, those beside our compactions, too."""
    return [*steps, *(other for step in steps if isinstance(step, Compact) for other in step.beside)]


@dataclass(frozen=True, slots=True)
class History:
    """A table and what becomes of it.

    Attributes:
        seed: it was drawn from, and its keys are.
        partition: partition columns, their types and the values that they take.
        moving: those of them that are not part of the key, so that rows move between partitions.
        key: key columns and their types.
        values: the other columns and their types.
        options: of the table; `OUTSIDE` stands for a folder that is not the table's.
        key_values: how many different keys there are, at most.
        steps: in their order.
    """

    seed: int
    partition: Mapping[str, tuple[str, tuple[Any, ...]]]
    moving: tuple[str, ...]
    key: Mapping[str, str]
    values: Mapping[str, str]
    options: Mapping[str, str]
    key_values: int
    steps: tuple[Step, ...]

    @property
    def has_orc(self) -> bool:
        """Whether any file may be ORC."""
        return "orc" in f"{[*self.options.values()]} {self.steps}"

    @property
    def is_postponed(self) -> bool:
        """Whether compactions choose the buckets of rows."""
        return self.options.get("bucket") == "-2"

    @property
    def aggregates(self) -> bool:
        """Whether rows depend on which records are merged with each other first."""
        return self.options.get("merge-engine") == "aggregation"

    def __str__(self) -> str:
        partition = (f"{name} {kind} of {values}" for name, (kind, values) in self.partition.items())
        columns = (f"{name} {kind}" for name, kind in {**self.key, **self.values}.items())
        return "\n  ".join(
            [
                f"history {self.seed}: {self.key_values} keys",
                f"partitioned by {', '.join(partition)}" if self.partition else "not partitioned",
                *([f"{', '.join(self.moving)} not in the key"] if self.moving else []),
                f"key {', '.join(self.key)} of {', '.join(columns)}",
                *(f"{name} = {value}" for name, value in self.options.items()),
                *(f"{number}. {step}" for number, step in enumerate(self.steps)),
            ]
        )
