"""A real REST catalog server: Iceberg's own, on Jetty, in a JVM of its own, with a JDBC catalog behind it.

What it lacks is in README.md. It keeps its tables' names in SQLite, so they outlive a restart.
"""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from infrastructure.cluster.processes import Program, free_ports
from infrastructure.iceberg import catalogs
from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.iceberg.programs import REST_SERVER
from infrastructure.jvm.process import FOR_TESTS, JavaProgram

_START_SECONDS = 60.0
_MAIN = "org.apache.iceberg.rest.RESTCatalogServer"


class RestCatalogServer:
    """A server on a port of its own; a context manager. It can be killed and started again.

    Args:
        folder: where its database, its log and, if no warehouse is given, its tables are.
        warehouse: where tables are.
        properties: Iceberg's, of the catalog behind it, such as those of the file IO.
    """

    def __init__(
        self, folder: Path, warehouse: str | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_ports(1)[0]
        self.warehouse = warehouse or f"file://{folder / 'warehouse'}"
        self._properties = {
            "rest.port": str(self.port),
            "uri": f"jdbc:sqlite:file:{folder / 'catalog.db'}?busy_timeout=10000",
            "jdbc.schema-version": "V1",
            "warehouse": self.warehouse,
            **(properties or {}),
        }
        self._program: Program | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of its JVM."""
        assert self._program is not None, "the REST catalog does not run"
        return self._program.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it and waits until it answers.

        Raises:
            StartFailed: it ended instead, or did not answer in time.
        """
        program = JavaProgram(_MAIN, REST_SERVER.jars(), heap="256m", jvm_args=FOR_TESTS)
        self._program = Program(
            "the REST catalog",
            program.command(self.folder),
            self.folder / "server.log",
            dict(map(_variable, self._properties.items())),
            append=True,
        )
        self._program.wait_until(self._answers, _START_SECONDS)

    def kill(self) -> None:
        """Ends it in the middle of whatever it does."""
        program, self._program = self._program, None
        if program is not None:
            program.kill()

    def address(
        self, properties: Mapping[str, str] | None = None, through: str | None = None
    ) -> CatalogAddress:
        """The catalog as its clients open it, through a proxy if one is given."""
        return catalogs.rest(through or self.url, properties)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            connection.request("GET", "/v1/config")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def _variable(item: tuple[str, str]) -> tuple[str, str]:
    """A property as the server reads it from its environment."""
    name, value = item
    return "CATALOG_" + name.replace("-", "__").replace(".", "_").upper(), value
