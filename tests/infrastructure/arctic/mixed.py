"""Tables of today's layout, mixed-format since 0.5.1: Arctic's writers, and commits in the form of Amoro's.

Used by tests as `Arctic` is, with the same methods. Amoro's own classes of these versions are not on Maven
Central. What Arctic 0.4.1 cannot do to such tables is the commit: its Iceberg knows no statistics files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import Actions, Files, KeyedFile, MixedState, Optimized, Row
from infrastructure.arctic.programs import MIXED
from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.jvm.process import FOR_TESTS, JavaProcess, JavaProgram


@dataclass(frozen=True, slots=True)
class MixedTable:
    """A keyed table of today's layout, in any catalog of Iceberg.

    Attributes:
        catalog: where it is.
        name: of the base store, `db.t`; the change store is `db.t_change_`.
        columns: their Iceberg types by their names.
        key: the columns of the primary key.
        partition: names of columns, or transforms of them: `day(ts)`, `bucket(4, id)`.
        has_line_in_property: whether commits keep the line where versions until 0.6.0 do.
    """

    catalog: CatalogAddress
    name: str
    columns: Mapping[str, str]
    key: Sequence[str]
    partition: Sequence[str] = ()
    has_line_in_property: bool = False

    def args(self) -> dict[str, Any]:
        """How requests name this table."""
        catalog = {"name": self.catalog.name, "properties": dict(self.catalog.spark)}
        return {"catalog": catalog, "table": self.name}


class MixedTables:
    """A running JVM that commits to mixed-format tables, and the Arctic that writes and reads their files."""

    def __init__(self, arctic: Arctic, process: JavaProcess) -> None:
        self._arctic = arctic
        self._process = process

    @classmethod
    def start(cls, arctic: Arctic, heap: str = "256m", jvm_args: Sequence[str] = FOR_TESTS) -> Self:
        """Starts the JVM, after a build if this machine has none."""
        program = JavaProgram("dev.lithify.mixed.Main", MIXED.jars(), heap, jvm_args=jvm_args)
        return cls(arctic, JavaProcess(program))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kills the JVM that commits."""
        self._process.close()

    def call(self, op: str, table: MixedTable, **args: Any) -> Any:
        """Any operation of the committing side by its name."""
        return self._process.call(op, {**table.args(), **args})

    # Tables

    def create(self, table: MixedTable, properties: Mapping[str, str] | None = None) -> MixedTable:
        """Makes both stores and their namespace, and returns the table."""
        columns = [{"name": name, "type": kind} for name, kind in table.columns.items()]
        what = {"columns": columns, "key": list(table.key), "partition": list(table.partition)}
        self.call("create", table, **what, properties=dict(properties or {}))
        return table

    def state(self, table: MixedTable) -> MixedState:
        """The newest metadata of both stores, and the line as Amoro reads it."""
        found = self.call("state", table)
        return MixedState(found["base"], found["change"], table.key, found["line"])

    def set_properties(self, table: MixedTable, properties: Mapping[str, str]) -> None:
        """Sets properties of both stores."""
        self.call("set_properties", table, properties=dict(properties))

    def files(self, table: MixedTable) -> Files:
        """The live files of both stores."""
        return self._arctic.files(self.state(table))

    def line(self, table: MixedTable) -> dict[str, int]:
        """The line by partition."""
        return dict(self.state(table).line)

    def expire_change_files(self, table: MixedTable, paths: Sequence[str]) -> None:
        """Removes files from the change store, as the clean-up of consumed ones does."""
        self.call("expire_change_files", table, files=list(paths))

    # Writing

    def begin_transaction(self, table: MixedTable) -> int:
        """A transaction id as batch writers take it: the sequence number of an empty append."""
        return int(self.call("begin_transaction", table))

    def write_change(
        self,
        table: MixedTable,
        rows: Actions | None = None,
        transaction_id: int = 0,
        *,
        parquet: Path | None = None,
    ) -> tuple[KeyedFile, ...]:
        """Writes rows with their actions, as `Arctic` does."""
        state = self.state(table)
        files = self._arctic.write_change(state, rows, transaction_id, parquet=parquet, commit=False)
        self.call("append", table, store="change", files=_described(files))
        return files

    def write_base(
        self,
        table: MixedTable,
        rows: Sequence[Row] | None = None,
        transaction_id: int = 0,
        *,
        parquet: Path | None = None,
        plain_names: bool = False,
    ) -> tuple[KeyedFile, ...]:
        """Appends rows to base, as `Arctic` does."""
        files = self._arctic.write_base(
            self.state(table), rows, transaction_id, parquet=parquet, plain_names=plain_names, commit=False
        )
        self.call("append", table, store="base", files=_described(files))
        return files

    def delete_positions(
        self,
        table: MixedTable,
        deletes: Mapping[str, Sequence[int]],
        transaction_id: int = 0,
        *,
        node: int | None = None,
        plain_names: bool = False,
    ) -> tuple[KeyedFile, ...]:
        """Deletes rows of base files by their positions, as `Arctic` does."""
        files = self._arctic.delete_positions(
            self.state(table), deletes, transaction_id, node=node, plain_names=plain_names, commit=False
        )
        self.call("delete_positions", table, files=_described(files))
        return files

    # Reading

    def read(self, table: MixedTable) -> list[list[Any]]:
        """All rows, merged on read by the reader of Arctic 0.4.1.

        It differs from today's in position deletes of nodes above their base files.
        """
        return self._arctic.read(self.state(table))

    def read_base(self, table: MixedTable) -> list[list[Any]]:
        """The rows of the base store alone, by Iceberg's reader."""
        return self._arctic.read_base(self.state(table))

    # Optimizing

    def rewrite(self, table: MixedTable, partitions: Sequence[str] | None = None) -> Optimized:
        """Rewrites base and unmerged changes to base files, and moves the line."""
        return self._commit(table, self._arctic.rewrite(self.state(table), partitions, commit=False))

    def minor(self, table: MixedTable, partitions: Sequence[str] | None = None) -> Optimized:
        """Moves insert files to base and turns deletes into position deletes, and moves the line."""
        return self._commit(table, self._arctic.minor(self.state(table), partitions, commit=False))

    def _commit(self, table: MixedTable, made: Optimized) -> Optimized:
        changed = {
            name: _described(getattr(made, name))
            for name in ("added", "removed", "added_deletes", "removed_deletes")
        }
        self.call("overwrite", table, **changed, line=dict(made.line), as_property=table.has_line_in_property)
        return made


def _described(files: Sequence[KeyedFile]) -> list[dict[str, Any]]:
    return [asdict(file) for file in files]
