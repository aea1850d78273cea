"""REST catalogs: their server writes metadata files and decides which of two commits is first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lithify.errors import CatalogUnavailable, NotFound
from lithify.formats.iceberg.catalog.model import Json, Pointer
from lithify.formats.iceberg.catalog.names import TableName
from lithify.formats.iceberg.catalog.rest_client import RestClient, is_conflict
from lithify.io.locations import store_of

_TABLE = "namespaces/{namespace}/tables/{table}"
_TABLES = "namespaces/{namespace}/tables"
_NAMESPACES = "namespaces"
_MOST_PAGES = 10_000


class RestTables:
    """The tables of a REST catalog; implements `ServerCatalog`.

    Args:
        client: its client.
    """

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def load(self, name: TableName) -> Pointer:
        """The newest metadata of a table, whole: the server sends all snapshots."""
        found = self._client.get(_TABLE, self._parts(name), {"snapshots": "all"})
        metadata = found.get("metadata")
        if not isinstance(metadata, dict):
            raise CatalogUnavailable(self._client.uri, "its answer has no metadata of a table")
        location = found.get("metadata-location")
        config = {**self._client.sent, **_texts(found.get("config")), **_keys_for(found, metadata)}
        return Pointer(location if isinstance(location, str) else "", metadata, config)

    def credentials(self, name: TableName, location: str) -> Mapping[str, str]:
        """New options for the files of a table, credentials included."""
        if self._client.has_credentials_endpoint:
            found = self._client.get(f"{_TABLE}/credentials", self._parts(name))
            return _keys_for(found, {"location": location})
        return self.load(name).config

    def update(self, name: TableName, requirements: Sequence[Json], updates: Sequence[Json]) -> bool:
        """Applies updates if all requirements hold; returns whether they did."""
        identifier = {"namespace": list(name.namespace), "name": name.table}
        body = {"identifier": identifier, "requirements": [*requirements], "updates": [*updates]}
        response = self._client.ask("POST", _TABLE, self._parts(name), body)
        if is_conflict(response):
            return False
        self._client.check(response, str(name))
        return True

    def namespaces(self, parent: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The namespaces right below another one."""
        params = {"parent": self._client.plain_namespace(parent)} if parent else {}
        return [tuple(each) for each in self._pages(_NAMESPACES, "namespaces", {}, params) if _is_names(each)]

    def tables(self, namespace: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The tables of a namespace."""
        parts = self._client.parts_of(namespace)
        try:
            found = self._pages(_TABLES, "identifiers", parts, {})
        except NotFound:  # dropped meanwhile
            return []
        return [(*each["namespace"], each["name"]) for each in found if _is_identifier(each)]

    def _parts(self, name: TableName) -> Mapping[str, str]:
        return self._client.parts_of(name.namespace, name.table)

    def _pages(
        self, endpoint: str, key: str, parts: Mapping[str, str], params: Mapping[str, str]
    ) -> list[Any]:
        found: list[Any] = []
        token: str | None = None
        size = self._client.properties.get("rest-page-size")
        for _ in range(_MOST_PAGES):
            more = {"pageToken": token} if token else {"pageToken": "", "pageSize": size} if size else {}
            page = self._client.get(endpoint, parts, {**params, **more})
            listed = page.get(key)
            found += listed if isinstance(listed, list) else []
            token = page.get("next-page-token")
            if not isinstance(token, str) or not token:
                return found
        raise CatalogUnavailable(self._client.uri, f"its list has more than {_MOST_PAGES} pages")


def _keys_for(found: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, str]:
    """The credentials whose prefix fits the table's location best, as Java's S3FileIO chooses them."""
    location = str(metadata.get("location", ""))
    listed = found.get("storage-credentials")
    fitting = [
        each
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict) and location.startswith(_scheme_free(str(each.get("prefix", "")), location))
    ]
    best = max(fitting, key=lambda each: len(str(each.get("prefix", ""))), default={})
    return _texts(best.get("config"))


def _scheme_free(prefix: str, location: str) -> str:
    """A prefix with the location's spelling of its store: `s3://` and `s3a://` are the same."""
    _, separator, rest = prefix.partition("://")
    own = location.partition("://")[0]
    is_same = separator and store_of(prefix) is not None and store_of(prefix) is store_of(location)
    return f"{own}://{rest}" if is_same else prefix


def _texts(sent: object) -> dict[str, str]:
    """The options among what a server sends."""
    if not isinstance(sent, dict):
        return {}
    return {name: value for name, value in sent.items() if isinstance(name, str) and isinstance(value, str)}


def _is_names(each: object) -> bool:
    return isinstance(each, list) and bool(each) and all(isinstance(level, str) for level in each)


def _is_identifier(each: object) -> bool:
    return isinstance(each, dict) and _is_names(each.get("namespace")) and isinstance(each.get("name"), str)
