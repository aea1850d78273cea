"""A real Hive metastore, 2.3.10, from PySpark's own jars: a JVM of its own, with its database in memory.

Nothing is built: Java compiles the one class that starts it. Used by tests of catalogs and of Hive's tables.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from hive_metastore.ThriftHiveMetastore import Client
from pyiceberg.catalog.hive import HiveCatalog
from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from infrastructure.cluster.processes import Program, free_ports
from infrastructure.jvm.process import FOR_TESTS, JavaProgram
from infrastructure.oracle.process import spark_jar

_HERE = Path(__file__).resolve().parent
_START_SECONDS = 90.0
_ANSWER_MILLIS = 60_000
_OPENED = ("java.lang", "java.net", "java.nio", "java.util", "java.util.concurrent")


class HiveMetastore:
    """A server on a port of its own; a context manager.

    Args:
        folder: where its log is, and the folder of its warehouse.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_ports(1)[0]
        self.warehouse = f"file://{folder / 'warehouse'}"
        self._program: Program | None = None

    @property
    def uri(self) -> str:
        """Its address."""
        return f"thrift://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        opening = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
        args = [
            *FOR_TESTS,
            *opening,
            f"-Dderby.stream.error.file={self.folder / 'derby.log'}",
            f"-Dlog4j2.configurationFile={_HERE / 'log4j2.properties'}",
        ]
        jars = [spark_jar("derby-*").parent / "*"]
        java = JavaProgram(str(_HERE / "Metastore.java"), jars, heap="256m", jvm_args=args)
        command = [*java.command(self.folder), str(self.port), self.warehouse]
        self._program = Program("the Hive metastore", command, self.folder / "metastore.log")
        self._program.wait_until(self._answers, _START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._program is not None, "the Hive metastore does not run"
        self._program.kill()

    def catalog(self) -> HiveCatalog:
        """The catalog through pyiceberg."""
        return HiveCatalog("writer", uri=self.uri, warehouse=self.warehouse)

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A connection, for what is not about Iceberg."""
        connection = TSocket.TSocket("127.0.0.1", self.port)
        connection.setTimeout(_ANSWER_MILLIS)
        transport = TTransport.TBufferedTransport(connection)
        transport.open()
        try:
            yield Client(TBinaryProtocol.TBinaryProtocol(transport))
        finally:
            transport.close()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False
