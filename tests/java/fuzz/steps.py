"""Draws what becomes of a table: writes, changes, compactions, and what happens beside these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from java.fuzz.changes import Columns
from java.fuzz.engines import IGNORE, is_stable, takes_deletes
from java.fuzz.history import (
    OUTSIDE,
    Alter,
    Beside,
    Branch,
    Change,
    Compact,
    Expire,
    FastForward,
    JavaCompacts,
    MergeManifests,
    Rescale,
    RollBack,
    Step,
    Tag,
    Write,
)
from java.fuzz.indexes import Indexes
from java.fuzz.options import draw_later, draw_outside

_BUDGETS = [4 << 20, 384 << 20]
_Rare = Expire | RollBack | MergeManifests | Rescale


class Steps:
    """The steps of one history.

    Args:
        random: draws them.
        options: of the table when it is made.
        columns: its columns, which change as the steps do.
        formats: of its files.
        indexes: of its files, which change as the columns do.
        rescales: whether the number of its buckets may change.
    """

    def __init__(
        self,
        random: Random,
        options: Mapping[str, str],
        columns: Columns,
        formats: Sequence[str],
        indexes: Indexes,
        *,
        rescales: bool,
    ) -> None:
        self._random = random
        self._options = options
        self._columns = columns
        self._formats = formats
        self._indexes = indexes
        # Whoever drops a delete first lets rows with lower sequences through, Java as well.
        self._deletes = takes_deletes(options) and (
            "sequence.field" not in self._options or random.random() < 0.4
        )
        self._rescales = rescales
        self._is_rescaled = False
        self._forgets = True
        self._is_outside = OUTSIDE in str(self._options)

    def draw(self) -> list[Step]:
        """All steps, from the first write to a full compaction."""
        random = self._random
        steps: list[Step] = [self._write() for _ in range(random.randint(1, 3))]
        branches = random.random() < 0.1
        for number in range(random.randint(2, 6)):
            if branches and number == 2:
                steps += [self._write(), Branch()]  # Java gives it the schema of its snapshot
            if branches and number == 4:
                steps.append(FastForward())
                self._forgets = False  # Java forgets that the branch still needs what main expires
            steps.append(self._step())
        return [*steps, self._write(), Compact(full=True, budget=random.choice(_BUDGETS))]

    def _step(self) -> Step:
        draw = self._random.random()
        if draw < 0.42:
            return self._write()
        if draw < 0.5:
            return JavaCompacts(full=self._random.random() < 0.3)
        if draw < 0.64:
            return self._alter()
        if draw < 0.66:
            return Tag()
        return self._rare() if draw < 0.72 else self._compact()

    def _rare(self, *, beside: bool = False) -> _Rare:
        """Java deletes no files outside the table's folder while there are copies of the table."""
        random = self._random
        steps: list[_Rare] = [MergeManifests()]
        if self._forgets and not (beside and self._is_outside):
            steps.append(Expire())
            if not self._is_rescaled:
                steps.append(RollBack(random.randint(1, 3)))
        if self._rescales:
            steps.append(Rescale(random.randint(1, 4), replace(self._write(), overwrites=True, rows=15)))
        step = random.choice(steps)
        self._is_rescaled |= isinstance(step, Rescale)  # who rolls back then has buckets of another number
        return step

    def _write(self) -> Write:
        random = self._random
        rows = random.choice([1, 3, 15, 40])
        deletes = random.choices([0.0, 0.1, 0.5, 1.0], [3, 6, 2, 1])[0]
        return Write(
            random.randrange(1 << 32),
            rows,
            deletes if self._deletes else 0.0,
            overwrites=random.random() < 0.03,
            compacts=random.random() < 0.1,
            watermark=random.randrange(1 << 40) if random.random() < 0.05 else None,
        )

    def _alter(self) -> Alter:
        random = self._random
        changes: list[Change] = []
        for _ in range(random.choice([1, 1, 2, 3])):
            changes += self._changes()
            if "rename_column" in changes[-1]:
                break  # Java mistakes another rename beside it for one of the same column
        return Alter((*changes, *self._indexes.follow(changes)))

    def _changes(self) -> list[Change]:
        random = self._random
        draw = random.random()
        if draw < 0.2:
            name, value = draw_later(random)
            if name not in IGNORE or "merge-engine" not in self._options:
                return [{"set_option": [name, value]}]
        if draw < 0.25:
            self._is_outside = True
            drawn = draw_outside(random, self._options)
            self._options = {**self._options, **drawn}
            return [{"set_option": [*pair]} for pair in drawn.items()]
        if draw < 0.3:
            return [{"set_option": ["file.format", random.choice(self._formats)]}]
        return [self._columns.change()]

    def _compact(self) -> Compact:
        random = self._random
        drawn = Compact(
            full=random.random() < 0.4,
            budget=random.choice(_BUDGETS),
            task_bytes=random.choice([None, None, 1, 4000]),
            step_bytes=random.choice([None, None, 1, 20_000]),
            beside=tuple(self._beside()) if random.random() < 0.3 else (),
            early=random.random() < 0.3,
        )
        # The snapshots that are taken back would be some of ours if we had committed before.
        rolls_back = any(isinstance(other, RollBack) for other in drawn.beside)
        return replace(drawn, step_bytes=None) if rolls_back else drawn

    def _beside(self) -> list[Beside]:
        random = self._random
        others: list[Beside] = []
        if ("sequence.field" in self._options and self._deletes) or not is_stable(self._options):
            return others
        for _ in range(random.choice([1, 1, 2])):
            draw = random.random()
            if draw < 0.5:
                others.append(self._write())
            elif draw < 0.7:
                others.append(JavaCompacts(full=draw < 0.65))
            else:
                others.append(self._alter() if draw < 0.85 else self._rare(beside=True))
        return others
