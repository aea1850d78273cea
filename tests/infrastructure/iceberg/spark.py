"""Spark with Iceberg as Python sees it: one method per operation of README.md. Rows come as Arrow tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

import pyarrow as pa
import pyarrow.ipc

from infrastructure.iceberg import classes
from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.iceberg.model import (
    Committed,
    EqualityDeletes,
    PlannedExpiry,
    PlannedGroup,
    PositionDeletes,
    RewriteResult,
    ScanTask,
    TableState,
    Timed,
    WhatSnapshot,
)
from infrastructure.iceberg.programs import SPARK
from infrastructure.jvm.process import FOR_TESTS, JavaProcess, JavaProgram

_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action",
    "sun.util.calendar",
)  # fmt: skip
_OPENING = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED),
)
"""What Spark reaches into, as `spark-submit` opens it."""
_CONF = {
    "spark.app.name": "iceberg-oracle",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
SMALL = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Tests have small tables: compiling queries takes longer than it saves."""


def program(
    cores: int = 2,
    heap: str = "1g",
    jvm_args: Sequence[str] = FOR_TESTS,
    conf: Mapping[str, str] = SMALL,
) -> JavaProgram:
    """What is started: Spark is configured by properties of the JVM."""
    settings = {**_CONF, **conf, "spark.master": f"local[{cores}]"}
    args = [*jvm_args, *_OPENING, *(f"-D{name}={value}" for name, value in settings.items())]
    return JavaProgram("dev.lithify.iceberg.Main", SPARK.jars(), heap, jvm_args=args)


class SparkIceberg:
    """A running Spark. Calls from several threads wait for each other."""

    def __init__(self, process: JavaProcess) -> None:
        self._process = process
        self._scratch = tempfile.TemporaryDirectory(prefix="lithify-iceberg-")
        self._results = 0

    @classmethod
    def start(
        cls,
        cores: int = 2,
        heap: str = "1g",
        jvm_args: Sequence[str] = FOR_TESTS,
        conf: Mapping[str, str] = SMALL,
    ) -> Self:
        """Starts the JVM, after a build if this machine has none. Benchmarks want other args, and no conf."""
        started = program(cores, heap, (*classes.arguments(), *jvm_args), conf)
        return cls(JavaProcess(started))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kills the JVM."""
        self._process.close()
        self._scratch.cleanup()

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self._process.pid

    def call(self, op: str, **args: Any) -> Any:
        """Any operation by its name; arguments that are None are left out."""
        return self._process.call(op, {name: value for name, value in args.items() if value is not None})

    def timed(self, op: str, **args: Any) -> Timed:
        """Any operation by its name, and how long it took."""
        request = {"op": op, **{name: value for name, value in args.items() if value is not None}}
        return Timed(**self.call("timed", request=request))

    def add_catalog(self, address: CatalogAddress) -> CatalogAddress:
        """Makes a catalog known by its name, and returns it."""
        self.call("catalog", name=address.name, properties=dict(address.spark))
        return address

    # SQL

    def sql(self, statement: str) -> pa.Table:
        """The rows of a query, in their order, or of what a command says."""
        self._results += 1
        path = Path(self._scratch.name) / f"{self._results}.arrow"
        self.call("sql", statement=statement, into=str(path))
        try:
            with pa.memory_map(str(path)) as source:
                return pa.ipc.open_stream(source.read_buffer()).read_all()
        finally:
            path.unlink()

    def run(self, *statements: str) -> None:
        """Commands, one after the other."""
        for statement in statements:
            self.call("sql", statement=statement)

    # Metadata and plans

    def state(self, table: str) -> TableState:
        """The table's current metadata."""
        return TableState(**self.call("metadata", table=table))

    def scan(self, table: str, **what: Unpack[WhatSnapshot]) -> list[ScanTask]:
        """The data files that a scan reads, each with the delete files that apply to it."""
        return [ScanTask.of(task) for task in self.call("scan", table=table, **what)]

    def plan_expiry(self, table: str, *, may_be_incremental: bool = True) -> PlannedExpiry:
        """What Java's expiry of snapshots would do now, by the table's properties."""
        return PlannedExpiry(**self.call("plan_expiry", table=table, may_be_incremental=may_be_incremental))

    def plan_rewrite(
        self, table: str, options: Mapping[str, str] | None = None, **what: Unpack[WhatSnapshot]
    ) -> list[PlannedGroup]:
        """The groups of files that Java would rewrite, in its order."""
        return [
            PlannedGroup(**group) for group in self.call("plan_rewrite", table=table, options=options, **what)
        ]

    # Commits

    def rewrite(
        self,
        table: str,
        options: Mapping[str, str] | None = None,
        where: str | None = None,
        *,
        z_order: Sequence[str] = (),
        is_sorted: bool = False,
    ) -> RewriteResult:
        """Java's `rewrite_data_files`."""
        how = {"where": where, "z_order": list(z_order), "sorted": is_sorted}
        return RewriteResult(**self.call("rewrite", table=table, options=options, **how))

    def row_delta(
        self,
        table: str,
        append: str | None = None,
        equality: Iterable[EqualityDeletes] = (),
        positions: Iterable[PositionDeletes] = (),
        branch: str | None = None,
        *,
        per_file: bool = True,
    ) -> Committed:
        """One snapshot of rows, equality deletes and position deletes, as Flink commits them.

        Up to version 2, position deletes of a partition are in one file unless `per_file`; from 3 on, they
        are vectors, also where a data file has one already.
        """
        made = self.call(
            "row_delta",
            table=table,
            append=append,
            equality=[each.args() for each in equality],
            positions=[each.args() for each in positions] or None,
            branch=branch,
            per_file=per_file,
        )
        return Committed.of(made)

    def add_column(self, table: str, name: str, kind: str, default: Any, write_default: Any = None) -> int:
        """Adds a column with a default (version 3), and returns the schema's id.

        The type is in Spark's words, defaults are in Iceberg's JSON form: for the rows that are there, and,
        if another one is given, for rows that are written without the column.
        """
        what = {"name": name, "type": kind, "default": default, "write_default": write_default}
        return int(self.call("add_column", table=table, **what))

    def append_files(
        self,
        table: str,
        files: Iterable[Path | str],
        partition: str | None = None,
        spec_id: int | None = None,
        branch: str | None = None,
    ) -> Committed:
        """Commits Parquet files that are there; a partition is given as in paths: `day=2024-01-01/n=3`."""
        args = {"partition": partition, "spec_id": spec_id}
        given = [{"path": str(path), **args} for path in files]
        return Committed.of(self.call("append_files", table=table, files=given, branch=branch))

    def rewrite_files(
        self,
        table: str,
        files: Sequence[str],
        rows: str,
        start_snapshot_id: int,
        *,
        use_starting_sequence_number: bool = True,
    ) -> Committed:
        """Replaces files by the rows of a query, in the way in which `rewrite_data_files` commits."""
        made = self.call(
            "rewrite_files",
            table=table,
            files=list(files),
            rows=rows,
            start_snapshot_id=start_snapshot_id,
            use_starting_sequence_number=use_starting_sequence_number,
        )
        return Committed.of(made)
