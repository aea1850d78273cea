"""The annotations of a driver's own pod, by plain HTTP: messages to the operator, and requests of it.

Used by `environment` and `exchange`. A driver needs two requests of the API server, so it has no client.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

from lithify.contract.outcome import Progress, write_progress
from lithify.resources.names import ANNOTATION_PROGRESS

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_SECONDS = 5.0
_REFUSED = 300
"""Lowest status code that means that a request was not served."""


@dataclass(frozen=True, slots=True)
class PodAddress:
    """A pod at its API server.

    Attributes:
        host: of the API server.
        port: of the API server.
        namespace: the pod's.
        name: the pod's.
        account: folder with `token` and `ca.crt`; without the latter, plain HTTP is spoken.
    """

    host: str
    port: int
    namespace: str
    name: str
    account: Path = SERVICE_ACCOUNT

    def annotate(self, progress: Progress) -> None:
        """Writes the progress into the pod's annotation.

        Raises:
            OSError, http.client.HTTPException: the request failed; the response's status is ignored.
        """
        self.patch({ANNOTATION_PROGRESS: write_progress(progress)})

    def patch(self, annotations: Mapping[str, str]) -> bool:
        """Sets annotations; returns whether the server accepted the request.

        Raises:
            OSError, http.client.HTTPException: the server was not reached.
        """
        status, _ = self._request("PATCH", json.dumps({"metadata": {"annotations": dict(annotations)}}))
        return status < _REFUSED

    def annotations(self) -> Mapping[str, str]:
        """The pod's annotations; empty if the server refuses the request.

        Raises:
            OSError, http.client.HTTPException: the server was not reached.
            ValueError: the response is not a pod.
        """
        status, text = self._request("GET")
        found = json.loads(text).get("metadata", {}).get("annotations") if status < _REFUSED else None
        return found if isinstance(found, dict) else {}

    def _request(self, method: str, body: str | None = None) -> tuple[int, bytes]:
        headers = {
            "Authorization": f"Bearer {(self.account / 'token').read_text().strip()}",
            "Content-Type": "application/merge-patch+json",
        }
        connection = self._connect()
        try:
            path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _connect(self) -> HTTPConnection:
        authority = self.account / "ca.crt"
        if not authority.exists():
            return HTTPConnection(self.host, self.port, timeout=_TIMEOUT_SECONDS)
        trust = ssl.create_default_context(cafile=str(authority))
        return HTTPSConnection(self.host, self.port, timeout=_TIMEOUT_SECONDS, context=trust)
