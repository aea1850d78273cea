"""A REST catalog of Iceberg for tests: a real HTTP server over metadata that it keeps in memory.

Config, tokens, listings, tables, credentials and commits, as the specification of Iceberg's REST catalogs has
them. A test may put steps into `steps`: each handles one commit and is given the real commit to call or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

Reply = tuple[int, Mapping[str, Any]]
Step = Callable[[Callable[[], Reply]], Reply]

SECRET = "id:open sesame"
_MISSING: Reply = (404, {"error": {"message": "the server's own words", "code": 404}})


class IcebergRestServer:
    """The catalog, from `with` to its end.

    Attributes:
        tables: metadata by namespace and name.
        sent: options in the answer to `config`.
        config: options in the answer about a table.
        credentials: gives the storage credentials of an answer; None sends none.
        steps: handle commits, in their order.
        tokens: the tokens that were issued; the last one is valid, or none of them.
        asked: method and path of all requests.
        rejects: number of following requests whose token is refused.
    """

    def __init__(self, tables: Mapping[tuple[str, ...], Mapping[str, Any]]) -> None:
        self.tables = {name: dict(metadata) for name, metadata in tables.items()}
        self.sent: dict[str, Any] = {"defaults": {}, "overrides": {}}
        self.config: dict[str, str] = {}
        self.credentials: Callable[[], Mapping[str, str]] | None = None
        self.steps: list[Step] = []
        self.tokens: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.rejects = 0
        self._lock = Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.catalog = self
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def uri(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def options(self) -> dict[str, str]:
        """How Lithify opens it."""
        return {"metastore": "rest", "uri": self.uri, "credential": SECRET}

    def answer(
        self, method: str, path: str, query: Mapping[str, list[str]], body: bytes, token: str
    ) -> Reply:
        """The answer to a request."""
        self.asked.append((method, path))
        if path == "/v1/oauth/tokens":
            self.tokens.append(f"token-{len(self.tokens)}")
            return 200, {"access_token": self.tokens[-1], "token_type": "bearer", "expires_in": 3600}
        if self.rejects or token != f"Bearer {self.tokens[-1] if self.tokens else ''}":
            self.rejects = max(0, self.rejects - 1)
            return 401, {"error": {"message": "no", "code": 401}}
        if path == "/v1/config":
            return 200, self.sent
        return self._of_namespace(method, path.removeprefix("/v1/").strip("/"), query, body)

    def _of_namespace(self, method: str, path: str, query: Mapping[str, list[str]], body: bytes) -> Reply:
        parts = [unquote(part) for part in path.split("/")]
        if parts == ["namespaces"]:
            parent = tuple(query["parent"][0].split("\x1f")) if "parent" in query else ()
            depth = len(parent) + 1
            found = {
                name[:depth] for name in self.tables if name[: len(parent)] == parent and len(name) > depth
            }
            return 200, {"namespaces": [list(each) for each in sorted(found)]}
        namespace = tuple(parts[1].split("\x1f"))
        if parts[2:] == ["tables"]:
            named = [name for name in self.tables if name[:-1] == namespace]
            return 200, {"identifiers": [{"namespace": list(n[:-1]), "name": n[-1]} for n in named]}
        name = (*namespace, parts[3])
        if name not in self.tables:
            return _MISSING
        if parts[4:] == ["credentials"]:
            return 200, {"storage-credentials": self._credentials(name)}
        return self._commit(name, json.loads(body)) if method == "POST" else self._table(name)

    def _table(self, name: tuple[str, ...]) -> Reply:
        metadata = self.tables[name]
        place = f"{metadata['location']}/metadata/{metadata['last-updated-ms']}.metadata.json"
        answer = {"metadata-location": place, "metadata": metadata, "config": self.config}
        return 200, {**answer, "storage-credentials": self._credentials(name)}

    def _credentials(self, name: tuple[str, ...]) -> list[Mapping[str, Any]]:
        if self.credentials is None:
            return []
        return [
            {"prefix": "s3://", "config": {"s3.access-key-id": "wrong", "s3.secret-access-key": "wrong"}},
            {"prefix": self.tables[name]["location"], "config": self.credentials()},
        ]

    def _commit(self, name: tuple[str, ...], request: Mapping[str, Any]) -> Reply:
        with self._lock:
            step = self.steps.pop(0) if self.steps else lambda commit: commit()
            return step(lambda: self._applied(name, request))

    def _applied(self, name: tuple[str, ...], request: Mapping[str, Any]) -> Reply:
        metadata = self.tables[name]
        for requirement in request["requirements"]:
            if not _holds(requirement, metadata):
                return 409, {"error": {"message": "outrun", "code": 409}}
        self.tables[name] = _updated(metadata, request["updates"])
        return self._table(name)


def _holds(requirement: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    if requirement["type"] == "assert-table-uuid":
        return bool(requirement["uuid"] == metadata["table-uuid"])
    for what in ("current-schema-id", "default-spec-id"):
        if requirement["type"] == f"assert-{what}":
            return bool(requirement[what] == metadata[what])
    assert requirement["type"] == "assert-ref-snapshot-id"
    found = metadata["refs"].get(requirement["ref"], {}).get("snapshot-id")
    return bool(found == requirement["snapshot-id"])


def _updated(metadata: Mapping[str, Any], updates: list[Mapping[str, Any]]) -> dict[str, Any]:
    found = {**metadata, "snapshots": [*metadata["snapshots"]], "refs": {**metadata["refs"]}}
    if all(update["action"] != "add-snapshot" for update in updates):
        found["last-updated-ms"] += 1
    for update in updates:
        if update["action"] == "add-snapshot":
            snapshot = update["snapshot"]
            assert snapshot["sequence-number"] == found["last-sequence-number"] + 1
            found["snapshots"].append(snapshot)
            found["last-sequence-number"] = snapshot["sequence-number"]
            found["last-updated-ms"] = max(found["last-updated-ms"] + 1, snapshot["timestamp-ms"])
        elif update["action"] == "set-snapshot-ref":
            reference = {key: value for key, value in update.items() if key not in ("action", "ref-name")}
            found["refs"][update["ref-name"]] = reference
            if update["ref-name"] == "main":
                found["current-snapshot-id"] = update["snapshot-id"]
        elif update["action"] == "remove-snapshot-ref":
            del found["refs"][update["ref-name"]]
        elif update["action"] == "remove-snapshots":
            gone = {*update["snapshot-ids"]}
            found["snapshots"] = [each for each in found["snapshots"] if each["snapshot-id"] not in gone]
    return found


class _Server(ThreadingHTTPServer):
    catalog: IcebergRestServer
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Silent: some clients give up in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        token = self.headers.get("Authorization", "")
        status, found = self.server.catalog.answer(
            self.command, parts.path, parse_qs(parts.query), body, token
        )
        text = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_HEAD = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Silent."""
