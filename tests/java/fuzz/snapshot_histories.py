"""Random histories of snapshots: commits, compactions, tags, branches, consumers, rollbacks, and expiries.

Old partitions expire, too. Expiries and rollbacks are also done by Java, on a copy, and the same files must
be left. What Java reads of every snapshot, tag and branch that stays must be what it was. In some histories
changelogs outlive their snapshots, and streams of what stays of them are compared, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from support.expired_partitions import expire_partitions_of_both
from support.expired_snapshots import (
    ALL,
    Rules,
    answers,
    expire_both,
    expire_both_by_options,
    numbers,
    set_ages,
    set_consumer,
)
from support.rolled_back_tables import roll_back_both
from support.runs import run_inline

KEYED: Mapping[str, Mapping[str, str]] = {
    "no changelog": {},
    "changelog of inputs": {"changelog-producer": "input"},
    "changelog of lookups": {"changelog-producer": "lookup"},
    "changelog of full compactions": {"changelog-producer": "full-compaction"},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "vectors beside data": {"deletion-vectors.enabled": "true", "index-file-in-data-file-dir": "true"},
    "file indexes": {"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"},
    "dynamic buckets": {"bucket": "-1"},
    "postponed buckets": {"bucket": "-2", "postpone.default-bucket-num": "2"},
}
UNKEYED: Mapping[str, Mapping[str, str]] = {
    "append": {"bucket": "-1", "compaction.min.file-num": "2"},
    "append with vectors": {
        "bucket": "-1",
        "compaction.min.file-num": "2",
        "deletion-vectors.enabled": "true",
    },
}
STREAMED = (
    "no changelog",
    "changelog of inputs",
    "changelog of lookups",
    "changelog of full compactions",
    "append",
)
"""The kinds whose changelogs are compared as Java streams them."""
_COLUMNS = {"p": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
_PARTITIONS = ("2020-01-01", "2020-02-01", "2999-01-01")


class SnapshotHistory:
    """A random history, played as it is drawn.

    Args:
        seed: what is drawn.
        oracle: plays Java.
        folder: an empty folder.
    """

    def __init__(self, seed: int, oracle: Oracle, folder: Path) -> None:
        self._random = random = Random(seed)
        self._oracle, self._folder = oracle, folder
        self._table = Table(folder / "table", "db.t")
        kinds = {**KEYED, **UNKEYED}
        self.kind = random.choice(sorted(kinds))
        self._is_keyed = self.kind in KEYED
        self._is_partitioned = random.random() < 0.6
        self._is_dynamic = kinds[self.kind].get("bucket") == "-1" and self._is_keyed
        self._is_outlived = random.random() < 0.5
        self._branches: list[str] = []
        self._copies = 0
        self.expired = 0
        options = {"bucket": "2", "write-only": "true", "num-sorted-run.compaction-trigger": "2"}
        merging = random.choice([{}, {"manifest.merge-min-count": "2"}])
        oracle.create_table(
            self._table,
            _COLUMNS,
            primary_key=(["p", "id"] if self._is_partitioned else ["id"]) if self._is_keyed else [],
            partition_keys=["p"] if self._is_partitioned else [],
            options={**options, **merging, **kinds[self.kind]},
        )

    def play(self, steps: int) -> None:
        """Plays a number of steps, and an expiry at the end."""
        self._write()
        for turn in self._random.choices(*zip(*self._turns(), strict=True), k=steps):
            turn()
        self._expire()

    def _turns(self) -> list[tuple[Callable[[], None], float]]:
        return [
            (self._write, 12),
            (self._delete, 3),
            (self._overwrite, 1),
            (self._java_compacts, 4),
            (self._compact, 3),
            (self._compact_manifests, 1),
            (self._tag, 4),
            (self._untag, 1),
            (self._branch, 1),
            (self._write_to_branch, 2),
            (self._fast_forward, 0.2),
            (self._roll_back, 0.5),
            (self._consume, 1),
            (self._expire, 4),
            (self._expire_partitions, 0.7),
        ]

    def _rows(self) -> list[Row]:
        random = self._random
        return [
            ["+I", random.choice(_PARTITIONS), random.randrange(30), f"v{random.randrange(1000)}"]
            for _ in range(random.choice([1, 5, 20]))
        ]

    def _write(self, table: Table | None = None) -> None:
        rows, how = self._rows(), {}
        if self._is_dynamic:
            how["buckets"] = [row[2] % 2 for row in rows]
        self._oracle.write(table or self._table, rows, **how)

    def _delete(self) -> None:
        if self._is_keyed:
            rows, how = self._rows(), {}
            if self._is_dynamic:
                how["buckets"] = [row[2] % 2 for row in rows]
            self._oracle.write(self._table, [["-D", *row[1:]] for row in rows], **how)
        elif self.kind == "append with vectors":
            below = self._random.randrange(30)
            self._oracle.delete(self._table, {"column": "id", "op": "less_than", "literal": below})

    def _overwrite(self) -> None:
        if self._is_dynamic:
            return
        where = {"p": self._random.choice(_PARTITIONS)} if self._is_partitioned else {}
        rows = [row for row in self._rows() if not where or row[1] == where["p"]]
        self._oracle.write(self._table, rows, overwrite_partition=where)

    def _java_compacts(self, table: Table | None = None) -> None:
        if self.kind == "postponed buckets":
            self._oracle.move_postponed(table or self._table)
        else:
            self._oracle.compact(table or self._table, full=self._random.random() < 0.6)

    def _compact(self) -> None:
        run_inline(self._table, full=self._random.random() < 0.6)

    def _compact_manifests(self) -> None:
        self._oracle.compact_manifests(self._table)

    def _tag(self) -> None:
        number = self._random.choice(numbers(self._table))
        name = f"t{self._random.randrange(1000)}-{number}"
        if name not in self._oracle.tags(self._table):
            self._oracle.create_tag(self._table, name, number)

    def _untag(self) -> None:
        """Deletes a tag that no branch began with: Java would break the branch."""
        tags = [tag for tag in self._oracle.tags(self._table) if f"of-{tag}" not in self._branches]
        if tags:
            self._oracle.delete_tag(self._table, self._random.choice(tags))

    def _branch(self) -> None:
        kept = {int(tag.rpartition("-")[2]): tag for tag in self._oracle.tags(self._table)}
        # Java copies the snapshot of the tag, which must not have expired.
        tags = [tag for number, tag in kept.items() if number in numbers(self._table)]
        if tags and len(self._branches) < 2:
            tag = self._random.choice(tags)
            if f"of-{tag}" not in self._branches:
                self._oracle.create_branch(self._table, f"of-{tag}", tag)
                self._branches.append(f"of-{tag}")

    def _write_to_branch(self) -> None:
        if self._branches:
            branch = self._table.branch(self._random.choice(self._branches))
            self._write(branch)
            if self._random.random() < 0.5:
                self._java_compacts(branch)

    def _fast_forward(self) -> None:
        """Not beside changelogs: Java never expires those of snapshots that come back before them."""
        if self._branches and not self._is_outlived:
            self._oracle.fast_forward(self._table, self._random.choice(self._branches))

    def _roll_back(self) -> None:
        if not self._branches:
            self._copies += 1
            twin = self._folder / f"java-{self._copies}"
            roll_back_both(self._oracle, self._table, self._random.choice(numbers(self._table)[-3:]), twin)
            shutil.rmtree(twin)

    def _consume(self) -> None:
        there = numbers(self._table)
        at = self._random.randrange(there[0], there[-1] + 2)
        set_consumer(self._table, self._random.choice("cd"), at, self._random.choice([0, 2.5, 9.5]))

    def _expire(self) -> None:
        table = self._table
        self._age()
        before = self._answers()
        self._copies += 1
        twin = self._folder / f"java-{self._copies}"
        if self._is_outlived:
            self._expire_outlived(twin)
        else:
            self.expired += expire_both(self._oracle, table, self._rules(), twin)
        after = self._answers()
        assert after == {name: rows for name, rows in before.items() if name in after}
        assert all(name.startswith("snapshot ") for name in before.keys() - after.keys())
        shutil.rmtree(twin)

    def _expire_outlived(self, twin: Path) -> None:
        expire_both_by_options(self._oracle, self._table, self._options(), twin)
        kept = [int(path.name[10:]) for path in (self._table.folder / "changelog").glob("changelog-*")]
        if kept and self.kind in STREAMED:
            tables = (self._table, Table(twin, self._table.name))
            ours, theirs = (self._oracle.changelog(each, from_snapshot=min(kept)) for each in tables)
            assert ours == theirs

    def _options(self) -> dict[str, str]:
        """As `_rules`, and changelogs that are kept longer; now and then consumers expire."""
        random, rules = self._random, self._rules()
        longer = random.choice(["more", "at least more", "longer"])
        least = rules.least + (random.choice([1, 3]) if longer == "at least more" else 0)
        most = rules.least + 3 if longer == "more" else max(rules.most, least)
        minutes = rules.minutes + (random.choice([2, 6]) if longer == "longer" else 0)
        found = {
            "snapshot.num-retained.min": str(rules.least),
            "snapshot.num-retained.max": str(most),
            "snapshot.time-retained": f"{rules.minutes} min",
            "snapshot.expire.limit": str(rules.limit),
            "changelog.num-retained.min": str(least),
            "changelog.num-retained.max": str(most + random.choice([1, 4]) if longer == "more" else most),
            "changelog.time-retained": f"{minutes} min",
            "consumer.changelog-only": random.choice(["true", "false"]),
        }
        return {**found, **random.choice([{}, {"consumer.expiration-time": "5 min"}])}

    def _expire_partitions(self) -> None:
        if self._is_partitioned:
            batch = self._random.choice([{}, {"partition.expiration-batch-size": "1"}])
            most = self._random.choice(["1", "100"])
            self._copies += 1
            twin = self._folder / f"java-{self._copies}"
            expire_partitions_of_both(
                self._oracle,
                self._table,
                {"partition.expiration-time": "3 d", "partition.expiration-max-num": most, **batch},
                twin,
            )
            shutil.rmtree(twin)

    def _answers(self) -> dict[str, Any]:
        return answers(self._oracle, self._table)

    def _age(self) -> None:
        """Spaces the commits by minutes; now and then clocks of writers disagree."""
        there = numbers(self._table)
        ages = [len(there) - at + 0.5 for at in range(len(there))]
        if self._random.random() < 0.2:
            self._random.shuffle(ages)
        set_ages(self._table, dict(zip(there, ages, strict=True)))

    def _rules(self) -> Rules:
        random = self._random
        least = random.choice([1, 1, 2, 4])
        return Rules(
            least=least,
            most=random.choice([least, least + 1, least + 3, ALL]),
            minutes=random.choice([0, 1, 2, 3, 5]),
            limit=random.choice([1, 3, 10, ALL]),
        )
