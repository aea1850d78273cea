"""Arctic as Python sees it: one method per operation of README.md. Used by the tests of keyed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from infrastructure.arctic.model import (
    Actions,
    FileMeta,
    Files,
    KeyedFile,
    KeyedTable,
    MixedState,
    Node,
    Optimized,
    ParsedName,
    Row,
    Timed,
    keyed_files,
)
from infrastructure.arctic.programs import CORE
from infrastructure.jvm.process import FOR_TESTS, JavaProcess, JavaProgram

AnyTable = KeyedTable | MixedState
_OPENING = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
)
"""What Hadoop's and Arctic's log-ins reach into."""


class Arctic:
    """A running JVM with Arctic. Calls from several threads wait for each other."""

    def __init__(self, process: JavaProcess) -> None:
        self._process = process

    @classmethod
    def start(cls, heap: str = "512m", jvm_args: Sequence[str] = FOR_TESTS) -> Self:
        """Starts the JVM, after a build if this machine has none. Benchmarks want other args."""
        args = [*jvm_args, *_OPENING]
        return cls(JavaProcess(JavaProgram("dev.lithify.arctic.Main", CORE.jars(), heap, jvm_args=args)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kills the JVM."""
        self._process.close()

    def call(self, op: str, **args: Any) -> Any:
        """Any operation by its name; arguments that are None are left out."""
        return self._process.call(op, {name: value for name, value in args.items() if value is not None})

    def timed(self, op: str, **args: Any) -> Timed:
        """Any operation by its name, and how long it took."""
        request = {"op": op, **{name: value for name, value in args.items() if value is not None}}
        return Timed(**self.call("timed", request=request))

    # Tables

    def create(self, table: KeyedTable, properties: Mapping[str, str] | None = None) -> KeyedTable:
        """Makes the table, and returns it. Columns of the key are required, all others optional."""
        columns = [{"name": name, "type": kind} for name, kind in table.columns.items()]
        how = {"columns": columns, "partition": list(table.partition), "properties": dict(properties or {})}
        self.call("create", **table.args(), **how)
        return table

    def set_properties(self, table: KeyedTable, properties: Mapping[str, str]) -> None:
        """Sets properties of both stores."""
        self.call("set_properties", **table.args(), properties=dict(properties))

    def files(self, table: AnyTable) -> Files:
        """The live files of both stores."""
        found = self.call("files", **table.args())
        return Files(keyed_files(found["base"]), keyed_files(found["change"]))

    def line(self, table: AnyTable) -> dict[str, int]:
        """The line by partition: change files up to this sequence number are in base."""
        return dict(self.call("line", **table.args()))

    def expire_change_files(self, table: KeyedTable, paths: Sequence[str]) -> None:
        """Removes files from the change store, as the clean-up of consumed ones does."""
        self.call("expire_change_files", **table.args(), files=list(paths))

    def roll_back_base(self, table: KeyedTable) -> None:
        """Makes the parent of the newest snapshot of the base store the current one."""
        self.call("roll_back_base", **table.args())

    # Writing

    def begin_transaction(self, table: KeyedTable) -> int:
        """A transaction id as batch writers take it: the sequence number of an empty append."""
        return int(self.call("begin_transaction", **table.args()))

    def write_change(
        self,
        table: AnyTable,
        rows: Actions | None = None,
        transaction_id: int = 0,
        *,
        parquet: Path | None = None,
        commit: bool = True,
    ) -> tuple[KeyedFile, ...]:
        """Writes rows with their actions; 0 is Flink's transaction id, for the commit's sequence number.

        Rows may be in a Parquet file instead, with the column `_action`.
        """
        how = {"rows": rows, "parquet": parquet and str(parquet), "transaction_id": transaction_id}
        return keyed_files(self.call("write_change", **table.args(), **how, commit=commit))

    def write_base(
        self,
        table: AnyTable,
        rows: Sequence[Row] | None = None,
        transaction_id: int = 0,
        *,
        parquet: Path | None = None,
        plain_names: bool = False,
        commit: bool = True,
    ) -> tuple[KeyedFile, ...]:
        """Appends rows to base, by Arctic's writer, or in files with the plain names of Iceberg."""
        how = {"rows": rows, "parquet": parquet and str(parquet), "transaction_id": transaction_id}
        made = self.call("write_base", **table.args(), **how, plain_names=plain_names, commit=commit)
        return keyed_files(made)

    def overwrite_base(
        self,
        table: KeyedTable,
        rows: Sequence[Row],
        transaction_id: int,
        where: tuple[str, str] | None = None,
    ) -> tuple[KeyedFile, ...]:
        """A batch INSERT OVERWRITE of all rows, or of a string partition; it moves the line, too."""
        selected = {} if where is None else {"column": where[0], "value": where[1]}
        how = {"rows": rows, "transaction_id": transaction_id, **selected}
        return keyed_files(self.call("overwrite_base", **table.args(), **how))

    def delete_positions(
        self,
        table: AnyTable,
        deletes: Mapping[str, Sequence[int]],
        transaction_id: int = 0,
        *,
        node: int | None = None,
        plain_names: bool = False,
        commit: bool = True,
    ) -> tuple[KeyedFile, ...]:
        """Deletes rows of base files by their positions, as the minor does, or under plain names."""
        each = [{"file": file, "positions": list(positions)} for file, positions in deletes.items()]
        how = {"deletes": each, "transaction_id": transaction_id, "node": node}
        made = self.call("delete_positions", **table.args(), **how, plain_names=plain_names, commit=commit)
        return keyed_files(made)

    # Reading

    def read(self, table: AnyTable) -> list[list[Any]]:
        """All rows, merged on read by Arctic's own reader."""
        return list(self.call("read", **table.args()))

    def read_into(self, table: AnyTable, path: Path) -> int:
        """Writes the same rows into a Parquet file, and returns their number."""
        return int(self.call("read", **table.args(), into=str(path)))

    def read_base(self, table: AnyTable) -> list[list[Any]]:
        """The rows of the base store alone, by Iceberg's reader."""
        return list(self.call("read_base", **table.args()))

    # Optimizing

    def rewrite(
        self, table: AnyTable, partitions: Sequence[str] | None = None, *, commit: bool = True
    ) -> Optimized:
        """Rewrites base and unmerged changes to base files, and moves the line."""
        return Optimized.of(self.call("rewrite", **table.args(), partitions=partitions, commit=commit))

    def minor(
        self, table: AnyTable, partitions: Sequence[str] | None = None, *, commit: bool = True
    ) -> Optimized:
        """Moves insert files to base and turns deletes into position deletes, and moves the line."""
        return Optimized.of(self.call("minor", **table.args(), partitions=partitions, commit=commit))

    # Pure functions

    def hash_keys(self, columns: Mapping[str, str], rows: Sequence[Row], buckets: int = 1) -> list[list[int]]:
        """For each row of the key's columns its hash, and the id of its node among the buckets."""
        each = [{"name": name, "type": kind} for name, kind in columns.items()]
        return list(self.call("hash_keys", columns=each, key=list(columns), rows=rows, buckets=buckets))

    def parse_names(self, names: Sequence[str], sequence: int) -> list[ParsedName]:
        """What names say in either store, for an entry of a sequence number."""
        parsed = self.call("parse_names", names=list(names), sequence=sequence)
        return [
            ParsedName(FileMeta(**each["base"]), FileMeta(**each["change"]), each["is_arctic"])
            for each in parsed
        ]

    def nodes(self, ids: Sequence[int]) -> list[Node]:
        """Nodes of the tree by their ids."""
        return [Node(**node) for node in self.call("nodes", ids=list(ids))]

    def below(self, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """Of each pair of nodes, whether the first is the second or below it."""
        return list(self.call("related", pairs=[list(pair) for pair in pairs]))
