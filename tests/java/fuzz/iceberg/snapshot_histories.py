"""Random histories of snapshots: commits, deletes, rewrites, rollbacks, and branches and tags that expire.

Each expiry is compared with what Java's would have done: the same metadata, and the same files are left. What
Spark reads of every snapshot, branch and tag that stays must be what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from infrastructure.iceberg.tables import SparkTable
from infrastructure.jvm.process import OracleError
from support.iceberg_expiry import BothExpiries, answers, expire_both, metadata_of, set_ages
from support.iceberg_runs import run

_PROPERTIES = {"commit.manifest.min-count-to-merge": "3"}
_MINUTE = 60_000


class SnapshotHistory:
    """A random history, played as it is drawn.

    Args:
        seed: what is drawn.
        table: a table that does not exist yet.
    """

    def __init__(self, seed: int, table: SparkTable) -> None:
        self._random = random = Random(seed)
        self._table = table
        self.version = random.choice([1, 2, 2, 3, 3])
        self._names = 0
        self._first = 0
        merging = random.choice([{}, _PROPERTIES])
        copies = {"write.delete.mode": "copy-on-write"} if self.version == 1 else {}
        table.create(self.version, random.choice(["none", "bucket"]), {**merging, **copies})
        self.expired = 0
        self.log: list[str] = []

    def play(self, steps: int) -> None:
        """Plays a number of steps, and an expiry at the end."""
        turns: list[tuple[Callable[[], object], float]] = [
            (self._append, 8),
            (self._delete, 4),
            (self._upsert, 2 if self.version > 1 else 0),
            (self._java_rewrites, 1),
            (self._compact, 1.5),
            (self._rewrite_manifests, 1),
            (self._tag, 3),
            (self._branch, 3),
            (self._write_to_branch, 4),
            (self._drop, 1),
            (self._fast_forward, 0.5),
            (self._roll_back, 1.5),
            (self._cherry_pick, 1),
            (self._statistics, 2),
            (self._expire, 2.5),
        ]
        self._append()
        for turn in self._random.choices(*zip(*turns, strict=True), k=steps):
            self.log.append(turn.__name__)
            turn()
        self._expire()

    @property
    def _refs(self) -> dict[str, Any]:
        return dict(metadata_of(self._table).get("refs") or {})

    def _named(self, kind: str) -> list[str]:
        return sorted(name for name, each in self._refs.items() if each["type"] == kind and name != "main")

    @property
    def _snapshots(self) -> list[int]:
        return [each["snapshot-id"] for each in metadata_of(self._table)["snapshots"]]

    def _append(self, branch: str | None = None) -> None:
        count = self._random.choice([2, 10])
        self._table.append(self._first, count, branch)
        self._first += count

    def _delete(self, branch: str | None = None) -> None:
        self._table.delete(f"id % 7 = {self._random.randrange(7)}", branch)

    def _upsert(self) -> None:
        self._table.upsert(max(0, self._first - 5), 4)

    def _java_rewrites(self) -> None:
        self._table.spark.rewrite(self._table.name, {"rewrite-all": "true"})

    def _compact(self) -> None:
        run(self._table)

    def _rewrite_manifests(self) -> None:
        self._attempt(lambda: self._table.procedure("rewrite_manifests"))

    def _kept(self) -> str:
        random = self._random
        return random.choice(["", f" RETAIN {random.choice([1, 3, 6])} MINUTES"])

    def _tag(self) -> None:
        self._names += 1
        at = f" AS OF VERSION {self._random.choice(self._snapshots)}"
        self._table.alter(f"CREATE TAG t{self._names}{at}{self._kept()}")

    def _branch(self) -> None:
        if len(self._named("branch")) > 2:
            return
        self._names += 1
        random = self._random
        least, minutes = random.choice([1, 2, 3]), random.choice([1, 2, 4])
        retained = random.choice(
            [
                "",
                f" WITH SNAPSHOT RETENTION {least} SNAPSHOTS",
                f" WITH SNAPSHOT RETENTION {minutes} MINUTES",
                f" WITH SNAPSHOT RETENTION {least} SNAPSHOTS {minutes} MINUTES",
            ]
        )
        at = f" AS OF VERSION {random.choice(self._snapshots)}"
        self._table.alter(f"CREATE BRANCH b{self._names}{at}{self._kept()}{retained}")

    def _write_to_branch(self) -> None:
        branches = self._named("branch")
        if branches:
            self._random.choice([self._append, self._delete])(self._random.choice(branches))

    def _drop(self) -> None:
        kind = self._random.choice(["branch", "tag"])
        found = self._named(kind)
        if found:
            self._table.alter(f"DROP {kind.upper()} {self._random.choice(found)}")

    def _fast_forward(self) -> None:
        branches = self._named("branch")
        if branches:
            self._attempt(lambda: self._call("fast_forward", f"'main', '{self._random.choice(branches)}'"))

    def _roll_back(self) -> None:
        self._attempt(lambda: self._table.rollback(self._random.choice(self._snapshots)))

    def _cherry_pick(self) -> None:
        number = self._random.choice(self._snapshots)
        self._attempt(lambda: self._table.procedure("cherrypick_snapshot", f"snapshot_id => {number}"))

    def _statistics(self) -> None:
        self._attempt(lambda: self._table.procedure("compute_table_stats"))
        if self._random.random() < 0.5:
            self._attempt(lambda: self._table.procedure("compute_partition_stats"))

    def _call(self, name: str, arguments: str) -> None:
        catalog, table = self._table.catalog.name, self._table.identifier
        self._table.run(f"CALL {catalog}.system.{name}('{table}', {arguments})")

    def _attempt(self, step: Callable[[], object]) -> None:
        """Takes a step unless Spark refuses it: a snapshot may be no ancestor, or empty."""
        try:
            step()
        except OracleError:
            self.log.append("refused")

    def _expire(self) -> None:
        random, table = self._random, self._table
        age, least = random.choice([0, 0, 1, 3]) * _MINUTE, random.choice([1, 1, 1, 2, 3])
        table.alter(
            f"SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms' = '{age}', "
            f"'history.expire.min-snapshots-to-keep' = '{least}')"
        )
        self._age()
        before = answers(table)
        both = expire_both(table)
        check_files(both)
        after = answers(table)
        assert after == {name: rows for name, rows in before.items() if name in after}
        self.expired += both.done.figures["snapshots"]

    def _age(self) -> None:
        """Spaces the commits by minutes; now and then clocks of writers disagree."""
        count = len(self._snapshots)
        ages = [count - at - 0.5 for at in range(count)]
        if self._random.random() < 0.2:
            self._random.shuffle(ages)
        set_ages(self._table, ages)


def check_files(both: BothExpiries) -> None:
    """Checks that the files went that Java deletes by reachability, and at least those of its short cut.

    That also deletes Puffin files of which one vector was removed and another one is live: a fault of Java.
    """
    assert both.gone == both.by_java
    assert all(path.endswith(".puffin") for path in both.by_short_cut - both.gone)
    files = [count for name, count in both.done.figures.items() if name not in ("snapshots", "references")]
    assert sum(files) == len(both.gone)
