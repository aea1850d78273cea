"""Draws a history of an Iceberg table from a seed: the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from java.fuzz.iceberg.columns import VALUES
from java.fuzz.iceberg.history import (
    Append,
    Branch,
    ChangeColumn,
    Compact,
    Delete,
    EqualityDelete,
    Expire,
    Foreign,
    History,
    Merge,
    Order,
    Repartition,
    RollBack,
    SetProperty,
    SparkRewrites,
    Step,
    Tag,
    Update,
    Upgrade,
    Which,
)

PARTITIONS = (
    *((), (), ("kind",), ("bucket(3, id)",), ("truncate(1, kind)",), ("days(day)",)),
    *(("bucket(2, id)", "kind"), ("truncate(20, id)",), ("months(day)",), ("amount",)),
)
POINTS = (
    "planned",
    "journal-written",
    "tasks-done",
    "late-deletes-read",
    "late-deletes-read",
    "late-deletes-written",
    "manifests-written",
    "prepared",
    "prepared",
    "step-done",
)
_PROPERTIES = {
    "write.delete.granularity": ("partition", "file"),
    "commit.manifest.min-count-to-merge": ("2", "3"),
    "commit.manifest-merge.enabled": ("false",),
    "write.metadata.metrics.default": ("none", "counts", "full", "truncate(3)"),
    "write.metadata.metrics.column.kind": ("none", "full"),
    "write.parquet.compression-codec": ("gzip", "snappy", "uncompressed"),
    "write.metadata.previous-versions-max": ("2",),
    "write.metadata.delete-after-commit.enabled": ("true",),
    "write.metadata.compression-codec": ("gzip",),
    "write.distribution-mode": ("none", "range"),
    "write.target-file-size-bytes": ("2000", "8000"),
    "write.data.path": ("{data}",),
}
_PARQUET = 0.92
"""Share of the histories that have no files of other formats."""
_BESIDE = 0.6
"""Share of the runs beside which others change the table."""
_MOVED = 0.15
"""Share of the histories in which rows change their partition while some of them are deleted by keys."""
_AGAIN = 0.4
"""Share of the changes by keys that concern those of the last equality delete: rows with deleted keys are
added again, and deleted again, so that sequence numbers decide."""
_SHARED = 0.25
"""Share of the histories in which position delete files are about several data files."""
_COLUMN_CHANGES = ("add", "default", "drop", "rename", "promote", "promote", "move", "nest")


def draw(seed: int) -> History:
    """The history of that number."""
    return _Draw(seed).history()


class _Draw:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(f"iceberg {seed}")
        self._minor = Random(
            f"minor runs of iceberg {seed}"
        )  # apart: histories of a seed stay what they were
        self._next_id = 0
        self._deleted: tuple[int, int] | None = None
        self._formats = ["parquet"] if self._random.random() < _PARQUET else ["parquet", "orc", "avro"]

        # Java cannot read defaults of ORC files.
        left_out = {"default"} if len(self._formats) > 1 else set()
        self._column_changes = [each for each in _COLUMN_CHANGES if each not in left_out]

    def history(self) -> History:
        random = self._random
        version = random.choice([1, 2, 2, 3, 3, 3])
        kinds = random.sample(sorted(VALUES), random.choice([0, 1, 2, 4]))
        properties = {
            name: random.choice(values) for name, values in _PROPERTIES.items() if random.random() < 0.12
        }
        if self._minor.random() < _SHARED:
            properties.setdefault("write.delete.granularity", "partition")
        if len(self._formats) > 1:
            properties["write.delete.format.default"] = random.choice(self._formats)
        return History(
            seed=self._seed,
            version=version,
            partitions=random.choice(PARTITIONS),
            columns={f"c{number}": kind for number, kind in enumerate(kinds)},
            properties=properties,
            steps=tuple(self._steps()),
        )

    def _steps(self) -> list[Step]:
        random = self._random
        steps: list[Step] = [self._append() for _ in range(random.randint(2, 5))]
        steps += [self._any() for _ in range(random.randint(4, 9))]
        steps += self._moved_rows() if random.random() < _MOVED else []
        return [*steps, self._compact(), *([self._compact()] if random.random() < 0.2 else [])]

    def _moved_rows(self) -> list[Step]:
        """A new partition spec, and a run that takes all rows to it while keys of some are deleted."""
        how = self._random.choice(["add", "add", "drop", "replace"])
        late = replace(self._delete_many(0), is_global=False, of_table=True)
        moves = replace(self._compact(), full=True, on_branch=False, beside=(("tasks-done", late),))
        return [Repartition(how, self._pick()), moves]

    def _any(self) -> Step:
        return self._compact() if self._random.random() < 0.3 else self._foreign()

    def _foreign(self) -> Foreign:
        turns: list[tuple[Callable[[], Foreign], int]] = [
            (self._append, 7),
            (self._append_again, 3),
            (lambda: Delete(self._which(), self._copies()), 5),
            (lambda: Update(self._which(), self._salt(), self._copies()), 4),
            (self._merge, 3),
            (self._equality_delete, 7),
            (lambda: ChangeColumn(self._random.choice(self._column_changes), self._pick()), 4),
            (lambda: Repartition(self._random.choice(["add", "drop", "replace"]), self._pick()), 2),
            (lambda: Order(self._pick()), 1),
            (self._set_property, 1),
            (lambda: Upgrade(self._random.choice([2, 3, 3])), 2),
            (Tag, 1),
            (lambda: Branch(self._append(), self._which()), 1),
            (lambda: Expire(self._random.choice([1, 1, 2, 4])), 1),
            (lambda: RollBack(self._random.randint(1, 3)), 1),
            (self._spark_rewrites, 2),
        ]
        (turn,) = self._random.choices(*zip(*turns, strict=True))
        return turn()

    def _append(self) -> Append:
        random = self._random
        count = random.choice([1, 3, 10, 25, 60])
        first = self._next_id
        self._next_id += count
        return Append(first, count, self._salt(), random.choice(self._formats))

    def _append_again(self) -> Append:
        """Rows with the keys of the last equality delete, if there was one: they live, and others do not."""
        if self._deleted is None:
            return self._append()
        first, count = self._deleted
        return Append(first, count, self._salt(), self._random.choice(self._formats))

    def _which(self) -> Which:
        modulus = self._random.choice([1, 2, 3, 3, 5, 10, 10, 20])
        return Which(modulus, self._random.randrange(modulus)) if modulus > 1 else Which(4, 1)

    def _some_ids(self) -> tuple[int, int]:
        return self._random.randint(0, max(1, self._next_id)), self._random.choice([1, 4, 12])

    def _merge(self) -> Merge:
        return Merge(*self._some_ids(), self._salt(), self._copies())

    def _equality_delete(self) -> EqualityDelete:
        random = self._random
        if self._deleted is None or random.random() >= _AGAIN:
            self._deleted = self._some_ids()
        return EqualityDelete(
            *self._deleted,
            salt=self._salt(),
            columns=self._pick(),
            appends=random.random() < 0.6,
            is_global=random.random() < 0.3,
            of_table=random.random() < 0.5,
        )

    def _set_property(self) -> SetProperty:
        name = self._random.choice(sorted(_PROPERTIES))
        return SetProperty(name, self._random.choice(_PROPERTIES[name]))

    def _spark_rewrites(self) -> SparkRewrites:
        random = self._random
        procedure = random.choice(
            ["rewrite_data_files", "rewrite_data_files", "rewrite_position_delete_files"]
        )
        options = {"rewrite-all": "true"} if random.random() < 0.6 else {"min-input-files": "2"}
        if procedure == "rewrite_data_files" and random.random() < 0.3:
            options["use-starting-sequence-number"] = "false"
        if procedure == "rewrite_data_files" and random.random() < 0.2:
            options["remove-dangling-deletes"] = "true"
        return SparkRewrites(procedure, options)

    def _compact(self, *, is_beside: bool = False) -> Compact:
        random = self._random
        beside: tuple[tuple[str, Foreign | Compact], ...] = ()
        if not is_beside and random.random() < _BESIDE:
            count = random.choice([1, 1, 2, 3])
            beside = tuple((random.choice(POINTS), self._beside()) for _ in range(count))
        return Compact(
            full=random.random() < 0.5,
            options=self._options(),
            task_bytes=random.choice([None, None, 1, 3000]),
            step_bytes=random.choice([None, None, 1, 6000]),
            budget=random.choice([1 << 20, 384 << 20]),
            joins=random.choice(["", "", "join", "copy"]),
            on_branch=random.random() < 0.15,
            beside=beside,
        )

    def _beside(self) -> Foreign | Compact:
        random = self._random
        if random.random() < 0.08:
            return self._compact(is_beside=True)
        if random.random() < 0.35:
            return self._foreign()
        rows_change: tuple[Callable[[], Foreign], ...] = (
            lambda: Delete(self._many()),
            lambda: Update(self._many(), self._salt()),
            lambda: self._delete_many(self._random.randint(0, max(0, self._next_id - 1))),
        )
        return random.choice(rows_change)()

    def _many(self) -> Which:
        """Rows of most files that a run rewrites."""
        modulus = self._random.choice([2, 3, 4, 5])
        return Which(modulus, self._random.randrange(modulus))

    def _delete_many(self, first: int) -> EqualityDelete:
        """An equality delete of rows that the table has, of more than one file."""
        random = self._random
        self._deleted = first, random.choice([4, 12, 40])
        return EqualityDelete(
            *self._deleted,
            salt=self._salt(),
            columns=self._pick(),
            appends=random.random() < 0.5,
            is_global=random.random() < 0.3,
            of_table=random.random() < 0.8,
        )

    def _options(self) -> dict[str, str]:
        random = self._random
        drawn = {
            "target-file-size-bytes": random.choice(["1500", "4000", "20000"]),
            "min-input-files": random.choice(["1", "2", "2", "3"]),
            "delete-file-threshold": random.choice(["1", "2"]),
            "delete-ratio-threshold": random.choice(["0.01", "0.1", "1.0"]),
            "max-file-group-size-bytes": random.choice(["1", "4000", "9000"]),
            "max-file-group-input-files": random.choice(["1", "2", "3"]),
            "max-files-to-rewrite": random.choice(["1", "3"]),
            "rewrite-job-order": random.choice(["bytes-asc", "bytes-desc", "files-asc", "files-desc"]),
            "lithify.overlap-threshold": "2",
            "lithify.vector-rows-threshold": random.choice(["1", "5"]),
            "min-file-size-bytes": "0",
            "lithify.equality-delete-file-threshold": random.choice(["1", "2"]),
            "lithify.position-delete-file-threshold": "2",
        }
        shares = {
            "min-input-files": 0.85,
            "target-file-size-bytes": 0.4,
            "delete-file-threshold": 0.4,
            "min-file-size-bytes": 0.4,
            "lithify.equality-delete-file-threshold": 0.7,
            "lithify.position-delete-file-threshold": 0.4,
        }
        found = {name: text for name, text in drawn.items() if random.random() < shares.get(name, 0.15)}
        return {**found, **self._minor_options()}

    def _minor_options(self) -> dict[str, str]:
        random = self._minor
        drawn = {
            "lithify.shared-position-delete-file-threshold": random.choice(["1", "2"]),
            "lithify.dead-vector-bytes-threshold": "1",
            "lithify.dangling-delete-threshold": random.choice(["1", "2"]),
        }
        return {name: text for name, text in drawn.items() if random.random() < 0.5}

    def _copies(self) -> bool:
        return self._random.random() < 0.3

    def _salt(self) -> int:
        return self._random.randint(0, 9)

    def _pick(self) -> int:
        return self._random.randint(0, 99)
