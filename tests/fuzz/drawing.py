"""Draws a history from a seed: the same for the same seed, and nothing that Java or Lithify would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from differential.rows import AVRO_VALUES, EVERY_VALUE, ORC_VALUES, VALUES, without_nan
from fuzz.changes import Columns
from fuzz.history import Alter, Beside, Branch, Change, Compact, Expire, History, JavaCompacts, Step, Write
from fuzz.options import FORMATS, draw_later, draw_options
from fuzz.types import Atom

_NO_PARTITION = ("BYTES", "BINARY(3)", "VARIANT")
_BUDGETS = [4 << 20, 384 << 20]


def draw(seed: int) -> History:
    """The history of that number."""
    return _Draw(seed).history()


class _Draw:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = random = Random(seed)
        formats, weights = zip(*FORMATS, strict=True)
        self._formats: Sequence[str] = random.choices(formats, weights)[0]
        self._options = draw_options(random, self._formats)
        self._atoms = _atoms(self._formats)
        self._columns = Columns(random, self._atoms, self._formats)

    def history(self) -> History:
        random = self._random
        key = {f"k{n}": self._atom(but=("VARIANT",)) for n in range(random.choice([1, 1, 1, 2, 3]))}
        for _ in range(random.choice([0, 1, 2, 2, 3, 5, 8])):
            self._columns.add()
        partition = self._partition() if random.random() < 0.3 else {}
        fixed = self._refer_to_columns(list(key))
        values = {name: str(kind) for name, kind in self._columns.now.items()}
        if "rowkind.field" in self._options:
            values["kind"] = "STRING"
        return History(
            seed=self._seed,
            partition=partition,
            key=key,
            values=values,
            options=dict(self._options),
            key_values=random.choice([2, 10, 40, 150]),
            steps=tuple(self._steps(fixed)),
        )

    def _atom(self, but: Sequence[str] = ()) -> str:
        kinds = [kind for kind in self._atoms if not kind.startswith(tuple(but) or "-")]
        return self._random.choice(["INT", "STRING", *kinds])

    def _partition(self) -> dict[str, tuple[str, tuple[Any, ...]]]:
        random = self._random
        partition: dict[str, tuple[str, tuple[Any, ...]]] = {}
        for number in range(random.choice([1, 1, 2])):
            kind = self._atom(but=_NO_PARTITION)
            drawn = {
                str(value): value for value in (without_nan(EVERY_VALUE[kind])(random) for _ in range(3))
            }
            pool = [*drawn.values()][: random.randint(1, 3)]
            if kind == "STRING" and random.random() < 0.3:
                pool.append(random.choice(["", " ", "a/b", "x=%"]))
            partition[f"p{number}"] = (kind, tuple(pool))
        zoned = any("LOCAL" in kind for kind, _ in partition.values())
        if not zoned and random.random() < 0.3:
            self._options["partition.legacy-name"] = "false"
        return partition

    def _refer_to_columns(self, key: list[str]) -> set[str]:
        """Options that name columns; returns those columns, which stay as they are."""
        random, fixed = self._random, set[str]()
        plain = [
            name
            for name, kind in self._columns.now.items()
            if isinstance(kind, Atom) and str(kind) != "VARIANT"
        ]
        if plain and random.random() < 0.3:
            fixed |= {*random.sample(plain, min(len(plain), random.choice([1, 1, 2])))}
            self._options["sequence.field"] = ",".join(sorted(fixed))
            self._options["sequence.field.sort-order"] = random.choice(["ascending", "descending"])
        if random.random() < 0.1:
            self._options["rowkind.field"] = "kind"
        if self._options["bucket"] != "-1" and len(key) > 1 and random.random() < 0.3:
            self._options["bucket-key"] = ",".join(random.sample(key, random.randint(1, len(key) - 1)))
        return fixed

    def _steps(self, fixed: set[str]) -> list[Step]:
        random = self._random
        steps: list[Step] = [self._write() for _ in range(random.randint(1, 3))]
        branches = random.random() < 0.1
        for number in range(random.randint(2, 6)):
            if branches and number == 2:
                steps += [self._write(), Branch()]  # Java gives it the schema of its snapshot
            steps.append(self._step(fixed))
        return [*steps, self._write(), Compact(full=True, budget=random.choice(_BUDGETS))]

    def _step(self, fixed: set[str]) -> Step:
        draw = self._random.random()
        if draw < 0.45:
            return self._write()
        if draw < 0.55:
            return JavaCompacts(full=self._random.random() < 0.3)
        if draw < 0.7:
            return self._alter(fixed)
        if draw < 0.73:
            return Expire()
        return self._compact(fixed)

    def _write(self) -> Write:
        random = self._random
        rows = random.choice([1, 3, 15, 40])
        return Write(random.randrange(1 << 32), rows, random.choices([0.0, 0.1, 0.5, 1.0], [3, 6, 2, 1])[0])

    def _alter(self, fixed: set[str]) -> Alter:
        random = self._random
        changes: list[Change] = []
        for _ in range(random.choice([1, 1, 2, 3])):
            if random.random() < 0.2:
                changes.append({"set_option": [*draw_later(random)]})
            elif random.random() < 0.1:
                changes.append({"set_option": ["file.format", random.choice(self._formats)]})
            else:
                changes.append(self._columns.change(fixed))
            if "rename_column" in changes[-1]:
                break  # Java mistakes another rename beside it for one of the same column
        return Alter(tuple(changes))

    def _compact(self, fixed: set[str]) -> Compact:
        random = self._random
        return Compact(
            full=random.random() < 0.4,
            budget=random.choice(_BUDGETS),
            task_bytes=random.choice([None, None, 1, 4000]),
            step_bytes=random.choice([None, None, 1, 20_000]),
            beside=tuple(self._beside(fixed)) if random.random() < 0.3 else (),
        )

    def _beside(self, fixed: set[str]) -> list[Beside]:
        random = self._random
        others: list[Beside] = []
        if "sequence.field" in self._options:
            return others  # a delete that is gone already does not hide what is written with a lower sequence
        for _ in range(random.choice([1, 1, 2])):
            draw = random.random()
            others.append(
                self._write()
                if draw < 0.5
                else JavaCompacts(draw < 0.7)
                if draw < 0.8
                else self._alter(fixed)
            )
        return others


def _atoms(formats: Sequence[str]) -> list[str]:
    """Types that files of all these formats can hold."""
    if "orc" in formats:
        return sorted(ORC_VALUES)
    return sorted(AVRO_VALUES if "avro" in formats else VALUES)
