"""Random small keyed tables: what writers and Arctic's own optimizer may do to one, step after step.

Used by tests that compare what a table reads as, before and after each step or with a model. Which steps a
history has follows from its number alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable

_KEYS = 12
_PARTITIONS = ("a", "b")
_BUCKETS = (1, 2, 4, 8)


@dataclass(slots=True)
class RandomHistory:
    """One table and its source of chance.

    Attributes:
        arctic: makes and changes the table.
        table: with the key `id`, by `p` if it is partitioned.
        chance: of this history.
        begun: transaction ids that were taken and have not been used, so that commits come out of order.
    """

    arctic: Arctic
    table: KeyedTable
    chance: random.Random
    begun: list[int] = field(default_factory=list)

    @classmethod
    def start(cls, arctic: Arctic, folder: Path, seed: int) -> RandomHistory:
        """An empty table; half of them are partitioned, and nodes of both stores differ."""
        chance = random.Random(seed)
        columns = {"id": "long", "p": "string", "v": "int"}
        table = KeyedTable(folder / f"t{seed}", columns, ["id"], ["p"] if chance.random() < 0.5 else ())
        history = cls(arctic, table, chance)
        arctic.create(table, history._buckets())
        return history

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

    # Steps

    def begin(self) -> None:
        """Takes a transaction id for later."""
        self.begun.append(self.arctic.begin_transaction(self.table))

    def write_changes(self) -> None:
        """Writes inserts, deletes and updates, of Flink or of a batch that began earlier."""
        rows = [row for _ in range(self.chance.randint(1, 8)) for row in self._change()]
        self.arctic.write_change(self.table, rows, self._transaction() if self.chance.random() < 0.4 else 0)

    def write_base(self) -> None:
        """Appends rows to base, by Arctic's writer or by another one of Iceberg's."""
        rows = [self._row(self.chance.randrange(_KEYS)) for _ in range(self.chance.randint(1, 5))]
        plain = self.chance.random() < 0.3
        self.arctic.write_base(self.table, rows, 0 if plain else self._transaction(), plain_names=plain)

    def delete_positions(self) -> None:
        """Deletes some rows of a base file, in its node or under a plain name."""
        files = [file for file in self.arctic.files(self.table).base if file.content == "DATA"]
        if files:
            file = self.chance.choice(files)
            count = self.chance.randint(1, file.records)
            positions = sorted(self.chance.sample(range(file.records), count))
            plain = self.chance.random() < 0.3
            deletes = {file.path: positions}
            self.arctic.delete_positions(self.table, deletes, file.transaction_id, plain_names=plain)

    def change_buckets(self) -> None:
        """Files written from now on are of nodes of other depths."""
        self.arctic.set_properties(self.table, self._buckets())

    def minor(self) -> None:
        """Arctic's minor, of all partitions."""
        self.arctic.minor(self.table)

    def rewrite(self) -> None:
        """A rewrite of all partitions to base files."""
        self.arctic.rewrite(self.table)

    def _change(self) -> list[list[object]]:
        row = self._row(self.chance.randrange(_KEYS))
        if self.chance.random() < 0.3:
            return [["UPDATE_BEFORE", *row], ["UPDATE_AFTER", *row[:2], self.chance.randrange(1000)]]
        return [[self.chance.choice(("INSERT", "INSERT", "DELETE")), *row]]

    def _row(self, key: int) -> list[object]:
        at_home = _PARTITIONS[key % len(_PARTITIONS)]
        partition = at_home if self.chance.random() < 0.8 else self.chance.choice(_PARTITIONS)
        return [key, partition, self.chance.randrange(1000)]

    def _transaction(self) -> int:
        if self.begun and self.chance.random() < 0.6:
            return self.begun.pop(self.chance.randrange(len(self.begun)))
        return self.arctic.begin_transaction(self.table)

    def _buckets(self) -> dict[str, str]:
        stores = ("base", "change")
        return {f"{store}.file-index.hash-bucket": str(self.chance.choice(_BUCKETS)) for store in stores}


Step = Callable[[RandomHistory], None]
_CHANGES: tuple[Step, ...] = (
    RandomHistory.begin,
    RandomHistory.write_changes,
    RandomHistory.write_changes,
    RandomHistory.write_changes,
    RandomHistory.write_base,
    RandomHistory.write_base,
    RandomHistory.delete_positions,
    RandomHistory.change_buckets,
)
