"""A Hive metastore of one table over Thrift: locks that expire when tests say so, and a pointer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from socketserver import StreamRequestHandler, ThreadingTCPServer

from hive_metastore import ThriftHiveMetastore
from hive_metastore.ttypes import (
    CheckLockRequest,
    EnvironmentContext,
    LockRequest,
    LockResponse,
    LockState,
    MetaException,
    NoSuchLockException,
    NoSuchObjectException,
    Table,
    UnlockRequest,
)
from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

LOCATION = "metadata_location"


@dataclass
class Metastore:
    """The state, and how a server answers.

    Attributes:
        database: the table's database, in small letters as metastores store it.
        table: its name.
        location: the place of its newest metadata.
        compares: whether `expected_parameter_key` is heeded: those of 2.3.10 and from 4.0 on do.
        locks: ids of the locks that are held or waited for, by the names that they were asked for.
    """

    database: str = "sales"
    table: str = "orders"
    location: str = "v1"
    compares: bool = False
    locks: dict[int, tuple[str, str]] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    def expire_locks(self) -> None:
        """Forgets locks, as a metastore does that heard nothing of their holders for too long."""
        self.locks.clear()

    def commit(self, location: str) -> None:
        """Others commit, who hold the lock."""
        assert not self.locks, "somebody else holds the lock"
        self.location = location

    def get_table(self, dbname: str, tbl_name: str) -> Table:
        """Names are compared without regard to case."""
        if (dbname.lower(), tbl_name.lower()) != (self.database, self.table):
            raise NoSuchObjectException(message="no such table")
        parameters = {"table_type": "ICEBERG", LOCATION: self.location}
        return Table(dbName=self.database, tableName=self.table, parameters=parameters)

    def lock(self, rqst: LockRequest) -> LockResponse:
        """Acquired if nobody holds one of the same name; releases of 2.x compare names with their case."""
        [component] = rqst.component
        name, number = (component.dbname, component.tablename), next(self._ids)
        self.locks[number] = name
        return self.check_lock(CheckLockRequest(lockid=number))

    def check_lock(self, rqst: CheckLockRequest) -> LockResponse:
        """Raises if the lock has expired."""
        if rqst.lockid not in self.locks:
            raise NoSuchLockException(message="no such lock")
        name = self.locks[rqst.lockid]
        first = min(number for number, each in self.locks.items() if each == name)
        state = LockState.ACQUIRED if first == rqst.lockid else LockState.WAITING
        return LockResponse(lockid=rqst.lockid, state=state)

    def unlock(self, rqst: UnlockRequest) -> None:
        """Raises if the lock has expired."""
        if self.locks.pop(rqst.lockid, None) is None:
            raise NoSuchLockException(message="no such lock")

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Table, environment_context: EnvironmentContext
    ) -> None:
        """Replaces the pointer without checking who holds the lock."""
        self.get_table(dbname, tbl_name)
        expected = environment_context.properties.get("expected_parameter_value")
        if self.compares and expected != self.location:
            raise MetaException(message="the table has been modified")
        self.location = new_tbl.parameters[LOCATION]


@contextmanager
def serving(metastore: Metastore) -> Iterator[str]:
    """Serves a metastore; yields its address."""
    processor = ThriftHiveMetastore.Processor(metastore)

    class Connection(StreamRequestHandler):
        def handle(self) -> None:
            stream = TSocket.TSocket()
            stream.setHandle(self.request)
            protocol = TBinaryProtocol.TBinaryProtocol(TTransport.TBufferedTransport(stream))
            with suppress(TTransport.TTransportException):  # the client has closed it
                while True:
                    processor.process(protocol, protocol)

    with _Server(("127.0.0.1", 0), Connection) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"thrift://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Server(ThreadingTCPServer):
    daemon_threads = True
