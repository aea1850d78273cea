"""HTTP to the servers of catalogs, within bounds: every request ends, and its answer stays small.

Used by adapters whose format library sends its requests through `requests`. No redirects, no compressed
answers, bounded bodies and times, only addresses that this process may connect to. Errors have words of our
own: an answer may come from another service that a Catalog's author could not access otherwise.
"""

from __future__ import annotations

import os
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from lithify.io.guard import admit, is_guarded
from lithify.io.network_words import TIMED_OUT, causes, words_of

CONNECT_SECONDS = 10
SILENCE_SECONDS = 120
LONGEST_SECONDS = 300.0
_CHUNK = 1 << 16


class RefusedAnswer(requests.RequestException):
    """An answer exceeds its bounds; the message is ours."""


class BoundedSession(requests.Session):
    """A session whose requests are bounded.

    Args:
        most: upper bound of an answer in bytes.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        for scheme in ("http://", "https://"):
            self.mount(scheme, _BoundedAdapter(most))
        self.headers["Accept-Encoding"] = "identity"
        if is_guarded():
            # Proxies and .netrc are for the operator's own requests, its certificate authorities for all.
            self.trust_env = False
            self.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """None: redirects are not followed."""
        del resp
        return None


class _BoundedAdapter(HTTPAdapter):
    """Sends requests to servers that this process may connect to, and reads answers whole."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        del stream, timeout
        parts = urlsplit(str(request.url))
        admit(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        deadline = monotonic() + LONGEST_SECONDS
        limits = (CONNECT_SECONDS, SILENCE_SECONDS)
        response = super().send(
            request, stream=True, timeout=limits, verify=verify, cert=cert, proxies=proxies
        )
        with response:
            if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise RefusedAnswer("it compresses its answer, unasked")
            body = self._read(response.raw, deadline)
        # What `requests` would have read, without its bounds.
        response._content = body  # noqa: SLF001
        response._content_consumed = True  # noqa: SLF001
        return response

    def _read(self, stream: Any, deadline: float) -> bytes:
        chunks, size = [], 0
        while chunk := stream.read1(_CHUNK, decode_content=False):
            chunks.append(chunk)
            size += len(chunk)
            if size > self._most:
                raise RefusedAnswer(f"its answer is larger than {self._most >> 20} MiB")
            if monotonic() > deadline:
                raise RefusedAnswer(f"its answer takes longer than {LONGEST_SECONDS:g} s")
        return b"".join(chunks)


def in_our_words(error: BaseException) -> str:
    """Describes why there is no answer, by the classes of the causes; never by the answer."""
    if isinstance(error, RefusedAnswer):
        return str(error)
    chain = causes(error)
    if any(isinstance(one, requests.Timeout) for one in chain):
        return TIMED_OUT
    return words_of(error) or f"its answer is no HTTP that could be read ({type(chain[-1]).__name__})"
