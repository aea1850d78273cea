"""A Glue service for tests: moto's, which keeps databases, tables and their versions as Glue does.

moto takes an update of any version; Glue compares the `VersionId` that a client names with the newest, as its
API reference says. `_Versions` adds that before moto, one update at a time.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.glue.models import glue_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

REGION = "eu-central-1"
KEYS = {"glue.access-key-id": "key", "glue.secret-access-key": "secret", "glue.region": REGION}
_UPDATE = "AWSGlue.UpdateTable"

Start = Callable[[str, list[tuple[str, str]]], Any]


@dataclass(slots=True)
class Glue:
    """The service while it runs.

    Attributes:
        uri: its address.
        updates: the bodies of all requests to update a table, refused ones included.
        failure: the code with which it answers every request from now on.
        loses_answers: whether the next update is carried out and answered with a failure.
    """

    uri: str = ""
    updates: list[Mapping[str, Any]] = field(default_factory=list)
    failure: str = ""
    loses_answers: bool = False

    @property
    def options(self) -> dict[str, str]:
        """How a client of Iceberg opens the catalog."""
        return {**KEYS, "glue.endpoint": self.uri}


@contextmanager
def serving() -> Iterator[Glue]:
    """An empty catalog at a free port of this machine."""
    glue_backends[DEFAULT_ACCOUNT_ID].reset()
    glue = Glue()
    app = _Versions(DomainDispatcherApplication(create_backend_app), glue)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    glue.uri = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield glue
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(slots=True)
class _Versions:
    """Compares versions before moto updates a table; a WSGI application."""

    app: Callable[[dict[str, Any], Start], Iterable[bytes]]
    glue: Glue
    lock: Lock = field(default_factory=Lock)

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        if self.glue.failure:
            return _refused(self.glue.failure, start)
        if environ.get("HTTP_X_AMZ_TARGET") != _UPDATE:
            return self.app(environ, start)
        update = json.loads(body)
        self.glue.updates.append(update)
        with self.lock:
            if "VersionId" in update and update["VersionId"] != _newest(update):
                return _refused("ConcurrentModificationException", start)
            if not self.glue.loses_answers:
                return self.app(environ, start)
            self.glue.loses_answers = False
            b"".join(self.app(environ, lambda *_: None))
            return _refused("InternalServiceException", start)


def _newest(update: Mapping[str, Any]) -> str:
    backend = glue_backends[DEFAULT_ACCOUNT_ID][REGION]
    table = backend.get_table(update["DatabaseName"], update["TableInput"]["Name"])
    return str(table.as_dict()["VersionId"])


def _refused(code: str, start: Start) -> Iterable[bytes]:
    answer = json.dumps({"__type": code, "message": code}).encode()
    status = "500 Internal Server Error" if code.startswith("Internal") else "400 Bad Request"
    start(status, [("Content-Type", "application/x-amz-json-1.1"), ("Content-Length", str(len(answer)))])
    return [answer]
