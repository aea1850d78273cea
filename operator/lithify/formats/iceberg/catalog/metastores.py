"""What catalogs of metastores share: names of metadata files, and the parameters that mark tables.

Called by `hive`, `glue` and `sql`, each of which swaps the pointer in its own way. Needs no connection.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from pyiceberg.exceptions import NoSuchNamespaceError

from lithify.errors import NotFound, UnsupportedTable
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.names import TableName

LOCATION = "metadata_location"
"""The parameter with the place of the newest metadata."""
_PREVIOUS = "previous_metadata_location"
_NUMBERED = re.compile(r"(?P<number>[0-9]{1,9})-.*")


class NamesOf(Protocol):
    """pyiceberg's client of a catalog, as far as it lists names."""

    def list_namespaces(self, namespace: Any = ()) -> Sequence[tuple[str, ...]]:
        """The namespaces below another one."""
        ...

    def list_tables(self, namespace: Any) -> Sequence[tuple[str, ...]]:
        """The tables of a namespace."""
        ...


class MetastoreTables(ABC):
    """What catalogs of metastores do alike: names of metadata files, as Java has them, and lists of names."""

    owns_files = False
    _client: NamesOf

    @abstractmethod
    def _answering(self) -> AbstractContextManager[None]:
        """Turns errors of the client into ours."""

    def next_location(self, base: Pointer, folder: str, nonce: str) -> str:
        """The place of the next metadata file: the number after the base's, and a UUID."""
        found = _NUMBERED.fullmatch(base.location.rpartition("/")[2])
        number = int(found["number"]) + 1 if found else 0
        return f"{folder}/{number:05d}-{nonce}.metadata.json"

    def namespaces(self, parent: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The databases, which have one level."""
        with self._answering():
            return [] if parent else self._client.list_namespaces()

    def tables(self, namespace: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The Iceberg tables of a namespace; none if there is no such namespace."""
        with self._answering():
            try:
                return self._client.list_tables(namespace)
            except NoSuchNamespaceError:
                return []


def pointer_in(parameters: Mapping[str, str], name: TableName, service: str, version: Any = None) -> Pointer:
    """The pointer in the parameters of a metastore's table.

    Raises:
        UnsupportedTable: they are those of a table of another format.
    """
    if parameters.get("table_type", "").lower() != "iceberg" or not parameters.get(LOCATION):
        raise UnsupportedTable(str(name), (f"it is a table of {service}, not of Iceberg",))
    return Pointer(parameters[LOCATION], version=version)


def moved(parameters: Mapping[str, str], base: Pointer, location: str) -> dict[str, str]:
    """The parameters with the pointer at another place."""
    return {**parameters, LOCATION: location, _PREVIOUS: base.location}


def database_of(name: TableName, service: str) -> str:
    """The database of a table.

    Raises:
        NotFound: the name has more levels than the service.
    """
    if len(name.namespace) > 1:
        raise NotFound("namespace", ".".join(name.namespace), f"{service} has databases of one level")
    return name.namespace[0]
