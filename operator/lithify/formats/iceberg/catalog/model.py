"""What catalogs say about tables, and the two Protocols of catalogs. Imports no client library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lithify.formats.iceberg.catalog.names import TableName

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pointer:
    """The newest metadata of a table, as its catalog knows it.

    Attributes:
        location: the metadata file.
        metadata: its content, if the catalog sends it; None if the file has to be read.
        config: options for the table's files that a server sends, credentials included; never logged.
        version: the catalog's own mark of this state, for its swap.
    """

    location: str
    metadata: Json | None = None
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    version: Any = None


class Catalog(Protocol):
    """What all catalogs answer. Every method raises `CatalogUnavailable` if there is no answer."""

    def load(self, name: TableName) -> Pointer:
        """The newest metadata of a table.

        Raises:
            NotFound: the table or its namespace does not exist.
            NotAllowed: the credentials are refused.
        """
        ...

    def namespaces(self, parent: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The namespaces right below another one; of the catalog if `parent` is empty."""
        ...

    def tables(self, namespace: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The tables of a namespace, as namespace and name; empty if it was dropped meanwhile."""
        ...


class PointerCatalog(Catalog, Protocol):
    """A catalog that holds a pointer to the newest metadata file."""

    def next_location(self, base: Pointer, folder: str, nonce: str) -> str:
        """Where the next metadata file is written, by a UUID, in the table's folder of metadata."""
        ...

    def swap(
        self, name: TableName, base: Pointer, location: str, text: str, is_wanted: Callable[[], bool]
    ) -> bool:
        """Makes a metadata file the newest one if `base` still is; returns whether it did.

        Args:
            name: the table.
            base: what the file replaces.
            location: the file, written already unless `owns_files`.
            text: its content.
            is_wanted: asked last, right before the swap.

        Raises:
            CatalogUnavailable: there is no answer; the swap may have happened.
            StorageError: it certainly has not happened.
        """
        ...

    @property
    def owns_files(self) -> bool:
        """Whether creating the file is the swap itself, so that nobody may write it before."""
        ...


class ServerCatalog(Catalog, Protocol):
    """A catalog whose server applies changes and writes metadata files itself."""

    def update(self, name: TableName, requirements: Sequence[Json], updates: Sequence[Json]) -> bool:
        """Applies updates if all requirements hold; returns whether they did.

        Raises:
            CatalogUnavailable: there is no answer, or the server failed; the updates may be applied.
            StorageError: they certainly are not.
        """
        ...
