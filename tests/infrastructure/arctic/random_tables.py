"""Random small keyed tables: what writers and Arctic's own optimizer may do to one, step after step.

Used by tests that compare what a table reads as, before and after each step or with a model. Which steps a
history has follows from its number alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from infrastructure.arctic.model import Actions, Files, KeyedFile, Optimized, Row

COLUMNS = {"id": "long", "p": "string", "v": "int"}
"""Of each table; the key is `id`."""
_KEYS = 12
_PARTITIONS = ("a", "b")
_BUCKETS = (1, 2, 4, 8)
_ACTIONS = (("INSERT",), ("DELETE",), ("UPDATE_BEFORE", "UPDATE_AFTER"), ("DELETE", "INSERT"))
"""What writers say of one row at a time; the last is an upsert, as Flink writes it."""
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Writer(Protocol[T_contra]):
    """What changes tables: Arctic those of 0.4, `MixedTables` those of today's layout."""

    def set_properties(self, table: T_contra, properties: Mapping[str, str]) -> None: ...

    def files(self, table: T_contra) -> Files: ...

    def begin_transaction(self, table: T_contra) -> int: ...

    def write_change(
        self, table: T_contra, rows: Actions, transaction_id: int = 0
    ) -> tuple[KeyedFile, ...]: ...

    def write_base(
        self,
        table: T_contra,
        rows: Sequence[Row],
        transaction_id: int = 0,
        *,
        plain_names: bool = False,
    ) -> tuple[KeyedFile, ...]: ...

    def delete_positions(
        self,
        table: T_contra,
        deletes: Mapping[str, Sequence[int]],
        transaction_id: int = 0,
        *,
        plain_names: bool = False,
    ) -> tuple[KeyedFile, ...]: ...

    def line(self, table: T_contra) -> dict[str, int]: ...

    def expire_change_files(self, table: T_contra, paths: Sequence[str]) -> None: ...

    def minor(self, table: T_contra) -> Optimized: ...

    def rewrite(self, table: T_contra) -> Optimized: ...


@dataclass(slots=True)
class RandomHistory(Generic[T]):
    """One table and its source of chance.

    Attributes:
        writer: changes the table.
        table: by `p` if it is partitioned.
        chance: of this history.
        has_plain_positions: whether position deletes may have plain names, which readers of both generations
            understand differently.
        begun: transaction ids that were taken and have not been used, so that commits come out of order.
        is_beside: whether a run of somebody else's is under way.
    """

    writer: Writer[T]
    table: T
    chance: random.Random
    has_plain_positions: bool
    begun: list[int] = field(default_factory=list)
    is_beside: bool = False

    @classmethod
    def start(
        cls,
        writer: Writer[T],
        create: Callable[[Sequence[str], Mapping[str, str]], T],
        seed: int,
        *,
        has_plain_positions: bool = True,
    ) -> Self:
        """An empty table, made from its partition fields and properties; half of them are partitioned."""
        chance = random.Random(seed)
        partition = ["p"] if chance.random() < 0.5 else []
        return cls(writer, create(partition, _buckets(chance)), chance, has_plain_positions)

    def changing(self, steps: int) -> Iterator[str]:
        """Plays steps that change rows, and gives the name of each once it is done."""
        for _ in range(steps):
            step = self.chance.choice(_CHANGES)
            step(self)
            yield step.__name__

    def optimize(self) -> str:
        """Lets Arctic's executor run once: no row may change."""
        step = self.chance.choice((RandomHistory.minor, RandomHistory.rewrite))
        step(self)
        return step.__name__

    def beside(self) -> str:
        """Takes one step beside a run of somebody else's, and gives its name.

        What it writes has no older transaction than the run's, so neither ids that were taken earlier nor
        plain names: the order of such rows and of merged deletes would follow from who commits first.
        """
        waiting, self.begun, self.is_beside = self.begun, [], True
        step = self.chance.choice((*_CHANGES, RandomHistory.minor, RandomHistory.rewrite))
        step(self)
        self.begun, self.is_beside = [*waiting, *self.begun], False
        return step.__name__

    # Steps

    def begin(self) -> None:
        """Takes a transaction id for later."""
        self.begun.append(self.writer.begin_transaction(self.table))

    def write_changes(self) -> None:
        """Writes inserts, deletes and updates, of Flink or of a batch that began earlier."""
        rows = [row for _ in range(self.chance.randint(1, 8)) for row in self._change()]
        self.writer.write_change(self.table, rows, self._transaction() if self.chance.random() < 0.4 else 0)

    def write_base(self) -> None:
        """Appends rows to base, by Arctic's writer or by another one of Iceberg's."""
        rows = [self._row(self.chance.randrange(_KEYS)) for _ in range(self.chance.randint(1, 5))]
        plain = not self.is_beside and self.chance.random() < 0.3
        self.writer.write_base(self.table, rows, 0 if plain else self._transaction(), plain_names=plain)

    def delete_positions(self) -> None:
        """Deletes some rows of a base file, in its node or under a plain name."""
        files = [file for file in self.writer.files(self.table).base if file.content == "DATA"]
        if files:
            file = self.chance.choice(files)
            count = self.chance.randint(1, file.records)
            positions = sorted(self.chance.sample(range(file.records), count))
            plain = self.has_plain_positions and self.chance.random() < 0.3
            deletes = {file.path: positions}
            self.writer.delete_positions(self.table, deletes, file.transaction_id, plain_names=plain)

    def change_buckets(self) -> None:
        """Files written from now on are of nodes of other depths."""
        self.writer.set_properties(self.table, _buckets(self.chance))

    def expire_consumed(self) -> None:
        """Removes the change files up to the line, of which readers need none."""
        line = self.writer.line(self.table)
        files = self.writer.files(self.table).change
        consumed = [file.path for file in files if (file.sequence or 0) <= line.get(file.partition, -1)]
        if consumed:
            self.writer.expire_change_files(self.table, consumed)

    def minor(self) -> None:
        """Arctic's minor, of all partitions."""
        self.writer.minor(self.table)

    def rewrite(self) -> None:
        """A rewrite of all partitions to base files."""
        self.writer.rewrite(self.table)

    def _change(self) -> list[list[object]]:
        row = self._row(self.chance.randrange(_KEYS))
        actions = self.chance.choice(_ACTIONS)
        return [[action, *row[:2], self.chance.randrange(1000)] for action in actions]

    def _row(self, key: int) -> list[object]:
        at_home = _PARTITIONS[key % len(_PARTITIONS)]
        partition = at_home if self.chance.random() < 0.8 else self.chance.choice(_PARTITIONS)
        return [key, partition, self.chance.randrange(1000)]

    def _transaction(self) -> int:
        if self.begun and self.chance.random() < 0.6:
            return self.begun.pop(self.chance.randrange(len(self.begun)))
        return self.writer.begin_transaction(self.table)


def _buckets(chance: random.Random) -> dict[str, str]:
    stores = ("base", "change")
    return {f"{store}.file-index.hash-bucket": str(chance.choice(_BUCKETS)) for store in stores}


_CHANGES: tuple[Callable[[RandomHistory[Any]], None], ...] = (
    RandomHistory.begin,
    RandomHistory.write_changes,
    RandomHistory.write_changes,
    RandomHistory.write_changes,
    RandomHistory.write_base,
    RandomHistory.write_base,
    RandomHistory.delete_positions,
    RandomHistory.change_buckets,
    RandomHistory.expire_consumed,
)
