"""The HTTP client for REST catalogs, with bounds: every request ends and its response stays small.

Replaces pypaimon's client when this module is imported, by `connecting` and by `s3_file_io`, which executors
load. No redirects, bounded bodies and times, and no text of the server in any error: it may be another
service that a Catalog's author could not access otherwise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import requests
from pypaimon.api import client as pypaimon_client
from pypaimon.api import rest_api
from pypaimon.api.api_response import ConfigResponse, ErrorResponse
from pypaimon.api.rest_exception import BadRequestException, RESTException
from pypaimon.common.json_util import JSON
from requests.adapters import HTTPAdapter

from lithify.errors import LithifyError
from lithify.formats.paimon.access.catalog_options import CATALOG_OPTIONS
from lithify.formats.paimon.access.rest_answers import check_answer
from lithify.io.guard import admit, is_guarded
from lithify.io.network_words import TIMED_OUT, causes, words_of

LARGEST_BODY = 16 << 20
"""Upper bound of a response in bytes."""

_CONNECT_SECONDS = 10
_SILENCE_SECONDS = 120
_LONGEST_SECONDS = 300.0
_PAUSES = (1.0, 2.0, 4.0)
"""Seconds before a read is retried after the server was overloaded."""
_BUSY = (429, 503)
_MOST_PAGES = 10_000
_CHUNK = 1 << 16
_PAGE = "pageToken"
_KINDS = frozenset({ErrorResponse.RESOURCE_TYPE_TABLE, ErrorResponse.RESOURCE_TYPE_SNAPSHOT})
"""Kinds of objects that an error may report as missing, where the difference matters."""


class BoundedClient(pypaimon_client.HttpClient):  # type: ignore[misc]  # pypaimon is untyped
    """A catalog server's client; raises pypaimon's exceptions with messages of our own."""

    def __init__(self, uri: str, user_agent_value: str | None = None) -> None:
        super().__init__(uri, user_agent_value)
        self._pages = 0
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, _GuardedAdapter())
        self.session.headers["Accept-Encoding"] = "identity"
        if is_guarded():
            # Proxies and .netrc are for the operator's own requests, its certificate authorities for all.
            self.session.trust_env = False
            self.session.verify = _authorities() or True

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
            raise RESTException(_in_our_words(error)) from None
        if not 200 <= status < 300:
            self._refuse(status, body)
        return None if response_type is None else _parsed(body, response_type, url)

    def _ask(
        self, method: str, url: str, data: str | None, headers: Mapping[str, str] | None
    ) -> tuple[int, bytes]:
        deadline = monotonic() + _LONGEST_SECONDS
        with self.session.request(
            method=method,
            url=url,
            data=data.encode() if data else None,
            headers=dict(headers or {}),
            timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS),
            allow_redirects=False,
            stream=True,
        ) as response:
            if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise RESTException("it compresses its answer, unasked")
            return response.status_code, _read(response.raw, deadline)

    def _refuse(self, status: int, body: bytes) -> None:
        """Raises the exception for a status or for the code in a response."""
        kind, code = _said(body)
        code = code or status
        if 300 <= code < 400:
            raise BadRequestException(f"HTTP {status}: redirects are not followed, name the address itself")
        said = f"HTTP {status}" if code == status else f"HTTP {status}, code {code}"
        self.error_handler.accept(ErrorResponse(kind, "", said, code), self.DEFAULT_REQUEST_ID)


class _GuardedAdapter(HTTPAdapter):
    """Sends requests to servers that this process may connect to."""

    def send(self, request: requests.PreparedRequest, *arguments: Any, **named: Any) -> requests.Response:
        parts = urlsplit(str(request.url))
        admit(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        return super().send(request, *arguments, **named)


def _authorities() -> str | None:
    return os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")


def _read(stream: Any, deadline: float) -> bytes:
    chunks, size = [], 0
    while chunk := stream.read1(_CHUNK, decode_content=False):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST_BODY:
            raise RESTException(f"its answer is larger than {LARGEST_BODY >> 20} MiB")
        if monotonic() > deadline:
            raise RESTException(f"its answer takes longer than {_LONGEST_SECONDS:g} s")
    return b"".join(chunks)


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


def _in_our_words(error: BaseException) -> str:
    """Describes a connection error by the classes of its causes; never by the response."""
    chain = causes(error)
    if any(isinstance(one, requests.Timeout) for one in chain):
        return TIMED_OUT
    return words_of(error) or f"its answer is no HTTP that could be read ({type(chain[-1]).__name__})"


rest_api.HttpClient = BoundedClient
