"""Google Cloud Storage for the tests: fake-gcs-server, whose objects are in memory and end with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection

from infrastructure.objectstore.binaries import GCS_PROGRAMS
from infrastructure.objectstore.store_server import StoreServer

TOKEN = "test-oauth2-token"  # of a server that only tests can reach


class GcsServer(StoreServer):
    """A server that takes one token."""

    kind = "GCS"
    secret = TOKEN
    health = "/_internal/healthcheck"

    def command(self) -> Sequence[str]:
        """How it is started."""
        return (str(GCS_PROGRAMS.built() / "gcs-server"), "--listen", f"{self.address}:{self.port}")

    def environment(self) -> Mapping[str, str]:
        """With which variables."""
        return {"ACCESS_TOKEN": TOKEN}

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Catalog options that reach it, through another endpoint if one is given."""
        return {"gcs.service.host": endpoint or self.endpoint, "gcs.oauth2.token": TOKEN}

    def create_bucket(self, name: str) -> str:
        """Makes an empty bucket and returns its URL."""
        connection = HTTPConnection(self.address, self.port, timeout=10)
        body, headers = json.dumps({"name": name}), {"Content-Type": "application/json"}
        connection.request("POST", "/storage/v1/b?project=tests", body, headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        connection.close()
        return f"gs://{name}"
