"""The HTTP client for REST catalogs, with bounds: every request ends and its response stays small.

Replaces pypaimon's client when this module is imported, by `connecting` and by `object_file_io`, which
executors load. Requests go through `io.bounded_http`; no text of the server is in any error: it may be
another service that a Catalog's author could not access otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import sleep
from typing import Any

from pypaimon.api import client as pypaimon_client
from pypaimon.api import rest_api
from pypaimon.api.api_response import ConfigResponse, ErrorResponse
from pypaimon.api.rest_exception import BadRequestException, RESTException
from pypaimon.common.json_util import JSON

from lithify.errors import LithifyError
from lithify.formats.paimon.access.catalog_options import CATALOG_OPTIONS
from lithify.formats.paimon.access.rest_answers import check_answer
from lithify.io.bounded_http import BoundedSession, in_our_words

LARGEST_BODY = 16 << 20
"""Upper bound of a response in bytes."""

_PAUSES = (1.0, 2.0, 4.0)
"""Seconds before a read is retried after the server was overloaded."""
_BUSY = (429, 503)
_MOST_PAGES = 10_000
_PAGE = "pageToken"
_KEPT_HEADERS = ("Accept", "User-Agent")
_KINDS = frozenset({ErrorResponse.RESOURCE_TYPE_TABLE, ErrorResponse.RESOURCE_TYPE_SNAPSHOT})
"""Kinds of objects that an error may report as missing, where the difference matters."""


class BoundedClient(pypaimon_client.HttpClient):  # type: ignore[misc]  # pypaimon is untyped
    """A catalog server's client; raises pypaimon's exceptions with messages of our own."""

    session: BoundedSession

    def __init__(self, uri: str, user_agent_value: str | None = None) -> None:
        super().__init__(uri, user_agent_value)
        self._pages = 0
        headers = self.session.headers
        self.session = BoundedSession(LARGEST_BODY)
        self.session.headers.update({name: headers[name] for name in _KEPT_HEADERS})

    def get_with_params(self, path: str, query_params: dict[str, str], *arguments: Any) -> Any:
        """Sends a GET; lists come in pages, whose number is bounded."""
        self._pages = self._pages + 1 if _PAGE in query_params else 0
        if self._pages > _MOST_PAGES:
            raise RESTException(f"its list has more than {_MOST_PAGES} pages")
        return super().get_with_params(path, query_params, *arguments)

    def _execute_request(
        self,
        method: str,
        url: str,
        data: str | None = None,
        headers: Mapping[str, str] | None = None,
        response_type: type | None = None,
    ) -> Any:
        try:
            status, body = self._ask(method, url, data, headers)
            for pause in _PAUSES if method == "GET" else ():
                if status not in _BUSY:
                    break
                sleep(pause)
                status, body = self._ask(method, url, data, headers)
        except (LithifyError, RESTException):
            raise
        except Exception as error:  # noqa: BLE001  # of several libraries
            # Their messages may quote the response: `BadStatusLine` does with its first line.
            raise RESTException(in_our_words(error)) from None
        if not 200 <= status < 300:
            self._refuse(status, body)
        return None if response_type is None else _parsed(body, response_type, url)

    def _ask(
        self, method: str, url: str, data: str | None, headers: Mapping[str, str] | None
    ) -> tuple[int, bytes]:
        response = self.session.request(
            method=method,
            url=url,
            data=data.encode() if data else None,
            headers=dict(headers or {}),
            allow_redirects=False,
        )
        return response.status_code, response.content

    def _refuse(self, status: int, body: bytes) -> None:
        """Raises the exception for a status or for the code in a response."""
        kind, code = _said(body)
        code = code or status
        if 300 <= code < 400:
            raise BadRequestException(f"HTTP {status}: redirects are not followed, name the address itself")
        said = f"HTTP {status}" if code == status else f"HTTP {status}, code {code}"
        self.error_handler.accept(ErrorResponse(kind, "", said, code), self.DEFAULT_REQUEST_ID)


def _said(body: bytes) -> tuple[str, int | None]:
    """The kind of object in a catalog's error, and its code; empty if the response is not a catalog's."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "", None
    if not isinstance(found, dict):
        return "", None
    kind, code = found.get("resourceType"), found.get("code")
    is_known = isinstance(kind, str) and kind in _KINDS
    return str(kind) if is_known else "", code if isinstance(code, int) and 400 <= code < 600 else None


def _parsed(body: bytes, response_type: type, url: str) -> Any:
    try:
        text = body.decode()
        check_answer(json.loads(text), response_type, url)
        found = JSON.from_json(text, response_type)
        if isinstance(found, ConfigResponse):
            found.defaults = CATALOG_OPTIONS.sent(found.defaults)
            found.overrides = CATALOG_OPTIONS.sent(found.overrides)
    except LithifyError:
        raise
    except Exception:  # noqa: BLE001  # pypaimon takes whatever is there for what it expects
        raise RESTException("its answer is not what Paimon's REST catalogs answer") from None
    return found


rest_api.HttpClient = BoundedClient
