"""What Java does to the table of a history, or to a copy of it; called by `playing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from java.fuzz.history import (
    OUTSIDE,
    Alter,
    Beside,
    Change,
    Expire,
    History,
    JavaCompacts,
    MergeManifests,
    Rescale,
    RollBack,
    Write,
)
from java.fuzz.memory import Memory
from java.fuzz.moving import bucket_of, with_moves
from java.fuzz.outside import Outside
from java.fuzz.postponing import is_waiting, real_buckets
from java.fuzz.streaming import Kept, is_decoupled
from lithify.formats.paimon.file_indexes.model import SUFFIX
from support.comparing.rows import Value, create, draw_keys, draw_row, positive, values_of
from support.tables import expire, stray_files

_TRIGGER = "num-sorted-run.compaction-trigger"
_CHANGELOGS = 1000


class Java:
    """Java's steps.

    Args:
        history: whose steps they are.
        oracle: takes them.
        memory: is told what cannot be read any more.
        outside: stands for `OUTSIDE`.

    Attributes:
        left: files that Java does not need any more and has not deleted.
    """

    def __init__(self, history: History, oracle: Oracle, memory: Memory, outside: Path) -> None:
        self._history = history
        self._oracle = oracle
        self._memory = memory
        self._outside = outside
        keys = draw_keys(Random(history.seed), history, history.key_values)
        # Java reads a batch of an ORC file that has only zeros as if all had the sign of the first. Its
        # partial updates store a key twice; a delete that changes a group leaves the sign that is read.
        has_one_zero = history.has_orc or history.options.get("merge-engine") == "partial-update"
        positives = dict.fromkeys(tuple(map(positive, key)) for key in keys)
        self._keys = [*positives] if has_one_zero else keys
        self.left: set[str] = set()

    def create(self, table: Table) -> None:
        """Makes the table."""
        history = self._history
        create(self._oracle, table, history, self._placed(history.options), history.moving)

    def now(self, table: Table) -> History:
        """The history with the names and options that its table has by now."""
        schema = self._oracle.schema(table)
        key = [name for name in schema["primaryKeys"] if name not in self._history.partition]
        kinds = self._history.key.values()
        return replace(self._history, key=dict(zip(key, kinds, strict=True)), options=schema["options"])

    def _levels(self, table: Table) -> dict[str, str]:
        """The number of levels, where records are looked up or full compactions have a changelog.

        With others, Java would take too low a level for the top later: it would write no changelog, or move
        first rows there without looking whether there are earlier ones.
        """
        options = self.now(table).options
        if options.get("changelog-producer") not in ("full-compaction", "lookup"):
            return {}
        return {"num-levels": options.get("num-levels", str(int(options.get(_TRIGGER, "5")) + 1))}

    def take(self, table: Table, step: Beside) -> None:
        """Takes a step."""
        oracle = self._oracle
        match step:
            case Write():
                self._write(table, step)
            case JavaCompacts(full):
                self.compact(table, {_TRIGGER: "3", **self._levels(table)}, full=full)
            case Alter(changes):
                self._alter(table, changes)
            case Rescale(buckets, write):
                oracle.alter_table(table, {"set_option": ["bucket", str(buckets)]})
                self._write(table, write)
            case MergeManifests():
                oracle.compact_manifests(table)
            case Expire():
                self._expire(table)
            case RollBack(by):
                self._roll_back(table, by)

    def compact(self, table: Table, options: Mapping[str, str], *, full: bool) -> None:
        """Compacts as a dedicated job does, which moves postponed rows to their buckets before."""
        oracle, buckets = self._oracle, real_buckets(self.now(table).options)
        if buckets and any(is_waiting(file) for file in oracle.files(table)):
            oracle.move_postponed(table, options={"write-only": "true"})
        oracle.compact(table, full=full, options={**options, **buckets})

    def round(self, table: Table, *, full: bool) -> None:
        """One round of the compaction manager of each bucket."""
        buckets = real_buckets(self.now(table).options)
        self._oracle.manager_round(table, full=full, commit=True, options=buckets)

    def _expire(self, table: Table) -> None:
        before = stray_files(self._oracle, table)
        if is_decoupled(self.now(table).options):
            kept = Kept(self._oracle, table)
            expire(self._oracle, table, outlived_by=_CHANGELOGS)
            kept.check()
        else:
            expire(self._oracle, table)
        # Java deletes a changelog file, and leaves the index beside it.
        left = stray_files(self._oracle, table) - before
        self.left |= {name for name in left if name.endswith(SUFFIX)}
        self._memory.forget_snapshots()

    def _roll_back(self, table: Table, by: int) -> None:
        numbers = [snapshot["id"] for snapshot in self._oracle.snapshots(table)]
        if by < len(numbers):
            before = stray_files(self._oracle, table)
            self._oracle.rollback_to(table, snapshot_id=numbers[-1 - by])
            self.left |= stray_files(self._oracle, table) - before
            self._memory.forget(table, after=numbers[-1 - by])

    def _alter(self, table: Table, changes: Sequence[Change]) -> None:
        options = dict(change["set_option"] for change in changes if "set_option" in change)
        others = [change for change in changes if "set_option" not in change]
        placed = [{"set_option": [*option]} for option in self._placed(options).items()]
        sequence = self.now(table).options.get("sequence.field")
        self._oracle.alter_table(table, *others, *placed)
        if "ignore-delete" in options or self.now(table).options.get("sequence.field") != sequence:
            self._memory.forget_everything()

    def _placed(self, options: Mapping[str, str]) -> dict[str, str]:
        return {name: value.replace(OUTSIDE, str(self._outside)) for name, value in options.items()}

    def _write(self, table: Table, step: Write) -> None:
        how: dict[str, Any] = {"options": {"write-only": "false"}} if step.compacts else {}
        if step.overwrites:
            how["overwrite_partition"] = {}
        if step.watermark is not None:
            how["watermark"] = step.watermark
        rows, buckets = self._rows(table, step)
        if self._history.moving:
            how["buckets"] = buckets
        if not step.overwrites:
            self._oracle.write(table, rows, **how)
            return
        before, outside = stray_files(self._oracle, table), Outside(self._outside)
        known = outside.files
        self._oracle.write(table, rows, **how)
        # An overwrite commits no changelog, and leaves the files of it that were written.
        self.left |= stray_files(self._oracle, table) - before
        self.left |= {path.name for path in outside.strays(self._oracle, table, known)}

    def _rows(self, table: Table, step: Write) -> tuple[list[Row], list[int]]:
        """Rows, and the bucket of each in a table whose rows move."""
        random, now = Random(step.seed), self.now(table)
        values = values_of(self._oracle, table, now)
        if self._history.has_orc:
            values = {name: _positive(value) for name, value in values.items()}
        rows = [draw_row(random, now, self._keys, values, step.deletes) for _ in range(step.rows)]
        rows = [*with_moves(random, rows, now, [*values])] if now.moving else rows
        buckets = [bucket_of(row, now, [*values]) for row in rows]
        told_by = now.options.get("rowkind.field")
        if told_by is not None:
            rows = [_told(row, 1 + [*values].index(told_by)) for row in rows]
        return rows, buckets


def _positive(value: Value) -> Value:
    return lambda random: positive(value(random))


def _told(row: Row, place: int) -> Row:
    """A row whose kind is in one of its columns."""
    return ["+I", *row[1:place], row[0], *row[place + 1 :]]
