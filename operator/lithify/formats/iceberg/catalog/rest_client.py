"""pyiceberg's client of REST catalogs, with bounds, and without what it would load or trust.

Called by `rest`. Requests go through `io.bounded_http`. Of the options that a server sends only those reach
the client that `options` lists: neither another address for our credentials, nor classes, nor file access.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from pyiceberg.catalog.rest import DEFAULT_ENDPOINTS, Capability, Endpoint, Endpoints, RestCatalog
from pyiceberg.catalog.rest.auth import AuthManagerAdapter
from pyiceberg.exceptions import RESTError
from requests import RequestException, Response

from lithify.columns.json_texts import parse_object
from lithify.errors import CatalogUnavailable, LithifyError, NotAllowed, NotFound, StorageError
from lithify.formats.iceberg.catalog.options import CATALOG_OPTIONS
from lithify.io.bounded_http import BoundedSession, in_our_words
from lithify.io.small_files import MOST_TEXT

_UNAUTHORIZED = (401, 419)
_FORBIDDEN = 403
_MISSING = 404
_CONFLICT = 409
_UNDECIDED = (408, 429, 499)
"""Statuses by which a server or a proxy says that it has not waited: the request may be carried out."""
_SEPARATOR = "\x1f"


class RestClient(RestCatalog):
    """A REST catalog's client: its addresses, credentials and requests.

    Attributes:
        sent: the options that the server sends for all tables.

    Args:
        options: checked options of the catalog, with `uri` and `warehouse`.
        asks_for_keys: whether the server is asked for credentials for the files of tables.

    Raises:
        NotAllowed: the server refuses the credentials.
        CatalogUnavailable: it gives no answer, or none of a REST catalog.
    """

    def __init__(self, options: Mapping[str, str], *, asks_for_keys: bool) -> None:
        self._asks_for_keys = asks_for_keys
        self.sent: dict[str, str] = {}
        try:
            super().__init__("lithify", **options)
        except LithifyError:
            raise
        except (RequestException, RESTError, ValueError, TypeError) as error:
            raise self._unanswered(error) from None

    def ask(
        self,
        method: str,
        endpoint: str,
        parts: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Response:
        """Sends a request, with fresh credentials if the server no longer accepts the present ones.

        Raises:
            CatalogUnavailable: there is no answer.
        """
        url = self.url(endpoint, prefixed=True, **parts)
        try:
            response = self._session.request(method, url, json=body, params=params)
            if response.status_code in _UNAUTHORIZED:
                self._refresh_token()
                response = self._session.request(method, url, json=body, params=params)
        except LithifyError:
            raise
        except (RequestException, RESTError, ValueError) as error:
            raise self._unanswered(error) from None
        return response

    def get(
        self, endpoint: str, parts: Mapping[str, str], params: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        """The JSON object at an endpoint.

        Raises:
            NotFound: there is none. NotAllowed, StorageError, CatalogUnavailable: see `check`.
        """
        response = self.ask("GET", endpoint, parts, params=params)
        self.check(response, " ".join(parts.values()))
        return self.parsed(response)

    def check(self, response: Response, name: str) -> None:
        """Turns the status of an answer into an error; texts of the server are not repeated.

        Raises:
            NotAllowed: the credentials are refused.
            NotFound: what was asked for does not exist.
            StorageError: the server refuses the request.
            CatalogUnavailable: the server failed.
        """
        status = response.status_code
        if 200 <= status < 300:
            return
        if status in (*_UNAUTHORIZED, _FORBIDDEN):
            raise NotAllowed(self.uri, f"HTTP {status}")
        if status == _MISSING:
            raise NotFound("table or namespace", name.replace(_SEPARATOR, "."), f"{self.uri} has none")
        if 300 <= status < 400:
            raise StorageError(
                self.uri, f"HTTP {status}: redirects are not followed, name the address itself"
            )
        if status < 500 and status not in _UNDECIDED:
            raise StorageError(self.uri, f"the catalog refuses the request (HTTP {status})")
        raise CatalogUnavailable(self.uri, f"the catalog fails (HTTP {status})")

    def parsed(self, response: Response) -> Mapping[str, Any]:
        """The JSON object of an answer.

        Raises:
            CatalogUnavailable: it is none.
        """
        try:
            return parse_object(response.content.decode())
        except ValueError:
            raise CatalogUnavailable(self.uri, "its answer is no JSON object") from None

    def parts_of(self, namespace: tuple[str, ...], table: str = "") -> dict[str, str]:
        """The parts of a URL for a namespace or table, encoded."""
        if not table:
            return {"namespace": self._encode_namespace_path(namespace)}
        return {**self._split_identifier_for_path((*namespace, table))}

    def plain_namespace(self, namespace: tuple[str, ...]) -> str:
        """A namespace as the value of a URL's parameter, which `requests` encodes."""
        return unquote(self._namespace_separator).join(namespace)

    @property
    def has_credentials_endpoint(self) -> bool:
        """Whether the server gives credentials without the whole table."""
        return Capability.V1_LOAD_CREDENTIALS in self._supported_endpoints

    def _unanswered(self, error: Exception) -> LithifyError:
        if isinstance(error, RESTError):
            return NotAllowed(self.uri, f"the token endpoint refuses ({type(error).__name__})")
        return CatalogUnavailable(self.uri, f"the catalog gives no answer ({in_our_words(error)})")

    def _create_session(self) -> BoundedSession:
        session = BoundedSession(MOST_TEXT)
        self._config_headers(session)
        if not self._asks_for_keys:
            del session.headers["X-Iceberg-Access-Delegation"]
        if "credential" in self.properties or "token" in self.properties:
            self._auth_manager = self._create_legacy_oauth2_auth_manager(session)
            session.auth = AuthManagerAdapter(self._auth_manager)
        return session

    def _refresh_token(self) -> None:
        if self._session.auth is not None:
            super()._refresh_token()

    def _warn_oauth_tokens_deprecation(self) -> None:
        """Silent: Java's clients have the same default address of tokens, and documents keep it."""

    def _fetch_config(self) -> None:
        """Asks the server for its options; the client's own win, unless the server overrides them."""
        warehouse = self.properties.get("warehouse")
        params = {"warehouse": warehouse} if warehouse else {}
        with self._create_session() as session:
            response = session.get(self.url(Endpoints.get_config, prefixed=False), params=params)
        self.check(response, warehouse or self.uri)
        found = self.parsed(response)
        defaults, overrides = (CATALOG_OPTIONS.sent(found.get(key)) for key in ("defaults", "overrides"))
        self.sent = {**defaults, **overrides}
        self.properties = {**defaults, **self.properties, **overrides}
        separator = unquote(self.properties.get("namespace-separator", _SEPARATOR))
        self._namespace_separator = quote(separator, safe="")
        named = found.get("endpoints")
        texts = [text for text in named if isinstance(text, str)] if isinstance(named, list) else []
        self._supported_endpoints = set(map(Endpoint.from_string, texts)) or set(DEFAULT_ENDPOINTS)


def is_conflict(response: Response) -> bool:
    """Whether a requirement of an update did not hold."""
    return response.status_code == _CONFLICT
