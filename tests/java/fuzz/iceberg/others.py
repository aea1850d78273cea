"""What others do to a table of a history, through Spark; steps that the table does not allow are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from infrastructure.iceberg.model import EqualityDeletes, TableState
from infrastructure.iceberg.tables import SparkTable
from infrastructure.jvm.process import OracleError
from java.fuzz.iceberg.columns import DEFAULTS, EQUALITY, FIXED, PROMOTIONS, VALUES, columns_of, rows, value
from java.fuzz.iceberg.history import (
    Append,
    Branch,
    ChangeColumn,
    Delete,
    EqualityDelete,
    Expire,
    Foreign,
    Merge,
    Order,
    Repartition,
    RollBack,
    SetProperty,
    SparkRewrites,
    Tag,
    Update,
    Upgrade,
)

BRANCH = "side"
_FORMAT = "write.format.default"
_ORDERS = (
    "WRITE ORDERED BY id",
    "WRITE UNORDERED",
    "WRITE LOCALLY ORDERED BY kind DESC NULLS LAST, id",
    "WRITE ORDERED BY bucket(4, id), day",
)
_FIELDS = ("bucket(2, id)", "kind", "days(day)", "truncate(2, kind)", "truncate(30, id)")
_NEW_TYPES = (
    "INT",
    "FLOAT",
    "STRING",
    "DECIMAL(10,2)",
    "STRUCT<x:INT,y:STRING>",
    "TIMESTAMP",
    "ARRAY<STRING>",
)


class Others:
    """Everybody else at one table.

    Args:
        table: the table.
        folder: a folder for data beside the table's.
    """

    def __init__(self, table: SparkTable, folder: str) -> None:
        self._table = table
        self._folder = folder
        self._modes: dict[str, bool] = {}
        self._tags = 0

    def take(self, step: Foreign) -> None:
        """Takes a step."""
        match step:
            case Append():
                self._append(step)
            case Delete():
                self._in_mode("delete", step.copies, f"DELETE FROM {self._table.name} WHERE {step.which.sql}")
            case Update():
                self._update(step)
            case Merge():
                self._merge(step)
            case EqualityDelete():
                self._equality_delete(step)
            case ChangeColumn():
                self._attempt(lambda: self._change_column(step))
            case Repartition():
                self._attempt(lambda: self._repartition(step))
            case SparkRewrites():
                self._rewrite(step)
            case _:
                self._administer(step)

    def _administer(self, step: Foreign) -> None:
        table = self._table
        match step:
            case Order(pick):
                self._attempt(lambda: table.alter(_ORDERS[pick % len(_ORDERS)]))
            case SetProperty(name, text):
                table.alter(f"SET TBLPROPERTIES ('{name}' = '{text.format(data=self._folder)}')")
            case Upgrade(version) if version > self.version:
                table.upgrade(version)
            case Tag() if self._state.snapshot_id is not None:
                self._tags += 1
                table.alter(f"CREATE TAG tag{self._tags}")
            case Branch() if self._state.snapshot_id is not None and not self.has_branch:
                self._make_branch(step)
            case Expire(keep):
                table.expire_snapshots(keep)
            case RollBack(by):
                self._roll_back(by)
            case _:
                pass

    @property
    def version(self) -> int:
        """The table's format version."""
        return int(self._state.metadata["format-version"])

    @property
    def has_branch(self) -> bool:
        """Whether there is a branch besides main."""
        return BRANCH in (self._state.metadata.get("refs") or {})

    @property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns by now."""
        return columns_of(_current(self._state))

    @property
    def _state(self) -> TableState:
        return self._table.spark.state(self._table.name)

    def _rows(self, first: int, count: int, salt: int) -> str:
        return rows(self.columns, first, count, salt)

    def _append(self, step: Append, at: str = "") -> None:
        insert = f"INSERT INTO {self._table.name}{at} {self._rows(step.first, step.count, step.salt)}"
        if step.format == "parquet":
            self._table.run(insert)
            return
        self._table.alter(f"SET TBLPROPERTIES ('{_FORMAT}' = '{step.format}')")
        self._table.run(insert)
        self._table.alter(f"UNSET TBLPROPERTIES ('{_FORMAT}')")

    def _in_mode(self, what: str, copies: bool, statement: str) -> None:
        copies = copies or self.version == 1
        if self._modes.get(what) is not copies:
            mode = "copy-on-write" if copies else "merge-on-read"
            self._table.alter(f"SET TBLPROPERTIES ('write.{what}.mode' = '{mode}')")
            self._modes[what] = copies
        self._table.run(statement)

    def _update(self, step: Update) -> None:
        name, kind = self._value_column(step.salt)
        changed = value(name, kind, step.salt + 10)
        statement = f"UPDATE {self._table.name} SET {name} = {changed} WHERE {step.which.sql}"
        self._in_mode("update", step.copies, statement)

    def _merge(self, step: Merge) -> None:
        name, _ = self._value_column(step.salt)
        self._in_mode(
            "merge",
            step.copies,
            f"MERGE INTO {self._table.name} t USING ({self._rows(step.first, step.count, step.salt)}) s "
            f"ON t.id = s.id WHEN MATCHED AND s.id % 3 = 0 THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET t.{name} = s.{name} WHEN NOT MATCHED THEN INSERT *",
        )

    def _value_column(self, pick: int) -> tuple[str, str]:
        found = [(name, kind) for name, kind in self.columns.items() if name != "id" and kind in VALUES]
        return found[pick % len(found)]

    def _equality_delete(self, step: EqualityDelete) -> None:
        if self.version == 1:
            return
        columns, chosen = self.columns, EQUALITY[step.columns % len(EQUALITY)]
        compared = [name for name in chosen if _is_compared(columns.get(name))] or ["id"]
        query = self._rows(step.first, step.count, step.salt)
        rows = f"SELECT * FROM {self._table.name} WHERE id >= {step.first} AND id < {step.first + step.count}"
        spec = self._unpartitioned if step.is_global else None
        gone = EqualityDeletes(compared, rows if step.of_table else query, spec_id=spec)
        append = query if step.appends else None
        self._table.spark.row_delta(self._table.name, append=append, equality=[gone])

    @property
    def _unpartitioned(self) -> int | None:
        specs = self._state.metadata["partition-specs"]
        return next((each["spec-id"] for each in specs if not each["fields"]), None)

    def _change_column(self, step: ChangeColumn) -> None:
        columns = self.columns
        free = [name for name in columns if name not in FIXED] or ["amount"]
        name = free[step.pick % len(free)]
        fresh = f"n{len(self._state.metadata['schemas'])}"
        match step.how:
            case "add":
                self._table.alter(f"ADD COLUMN {fresh} {_NEW_TYPES[step.pick % len(_NEW_TYPES)]}")
            case "default" if self.version > 2:
                kind, default = [*DEFAULTS.values()][step.pick % len(DEFAULTS)]
                self._table.spark.add_column(self._table.name, fresh, kind, default)
            case "drop":
                self._table.alter(f"DROP COLUMN {name}")
            case "rename":
                self._table.alter(f"RENAME COLUMN {name} TO {fresh}")
            case "promote":
                self._promote(columns, step.pick)
            case "move":
                self._table.alter(f"ALTER COLUMN {name} {'FIRST' if step.pick % 2 else 'AFTER day'}")
            case "nest":
                structs = [each for each, kind in columns.items() if kind.startswith("STRUCT")]
                if structs:
                    self._table.alter(f"ADD COLUMN {structs[0]}.{fresh} INT")

    def _promote(self, columns: Mapping[str, str], pick: int) -> None:
        found = [name for name, kind in columns.items() if kind in PROMOTIONS]
        if found:
            name = found[pick % len(found)]
            self._table.alter(f"ALTER COLUMN {name} TYPE {PROMOTIONS[columns[name]]}")

    def _repartition(self, step: Repartition) -> None:
        fields = _spec_fields(self._state)
        added = _FIELDS[step.pick % len(_FIELDS)]
        old = fields[step.pick % len(fields)] if fields else None
        if step.how == "add" or old is None:
            self._table.alter(f"ADD PARTITION FIELD {added}")
        elif step.how == "drop":
            self._table.alter(f"DROP PARTITION FIELD {old}")
        else:
            self._table.alter(f"REPLACE PARTITION FIELD {old} WITH {added}")

    def _make_branch(self, step: Branch) -> None:
        self._table.alter(f"CREATE BRANCH {BRANCH}")
        self._append(step.append, f".branch_{BRANCH}")
        deleted = f"DELETE FROM {self._table.name}.branch_{BRANCH} WHERE {step.delete.sql}"
        self._in_mode("delete", copies=False, statement=deleted)

    def _roll_back(self, by: int) -> None:
        state = self._state
        parents = {
            each["snapshot-id"]: each.get("parent-snapshot-id") for each in state.metadata["snapshots"]
        }
        found = state.snapshot_id
        for _ in range(by):
            found = parents.get(found) if found is not None else None
        if found is not None and found in parents:
            self._table.rollback(found)

    def _rewrite(self, step: SparkRewrites) -> None:
        if self._state.snapshot_id is None:
            return
        pairs = ", ".join(f"'{name}', '{text}'" for name, text in step.options.items())
        catalog, name = self._table.catalog.name, self._table.identifier
        options = f", options => map({pairs})" if pairs else ""
        self._table.spark.sql(f"CALL {catalog}.system.{step.procedure}(table => '{name}'{options})")

    @staticmethod
    def _attempt(step: Callable[[], object]) -> None:
        """Takes a step in metadata alone, unless Spark refuses it: a column may be needed by a spec."""
        try:
            step()
        except OracleError:
            return


def _is_compared(kind: str | None) -> bool:
    """Whether equality deletes may compare a column: not if it is nested or gone.

    Nor floats, which have NaN here: Java applies deletes of NaN to some files only, see `test_known_faults`.
    """
    return kind is not None and "<" not in kind and kind not in ("FLOAT", "DOUBLE")


def _current(state: TableState) -> Mapping[str, Any]:
    metadata = state.metadata
    wanted = metadata["current-schema-id"]
    found: Mapping[str, Any] = next(each for each in metadata["schemas"] if each["schema-id"] == wanted)
    return found


def _spec_fields(state: TableState) -> list[str]:
    metadata = state.metadata
    wanted = metadata["default-spec-id"]
    spec = next(each for each in metadata["partition-specs"] if each["spec-id"] == wanted)
    return [each["name"] for each in spec["fields"] if each["transform"] != "void"]
