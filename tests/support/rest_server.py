"""A REST catalog for tests: a real HTTP server over a local warehouse, with what a compaction asks for.

Config, table, data token, newest snapshot and commit, as Paimon's REST specification has them, of tables and
their branches (`t$branch_b`). All that it
knows it reads from the warehouse's files, so whatever Java commits there directly is a commit to it as well.

A test may put steps into `steps`: each handles one commit, in their order, and is given the real commit to
call or not. `canned` has replies to all requests whose path ends with a word. `received` keeps the bodies of
all commits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Self
from urllib.parse import parse_qs, unquote_plus, urlsplit

Reply = tuple[int, Mapping[str, Any] | str]
"""An HTTP status, and a JSON object or any text."""
Step = Callable[[Callable[[], Reply]], Reply]

WAREHOUSE = "stones"
TOKEN = "open sesame"
FAILURE: Reply = (500, {"message": "the server has a bad day", "code": 500})
_UNKNOWN_TO_1_4 = ("uuid", "writerVersion")
_COUNTS = ("recordCount", "fileSizeInBytes", "fileCount", "lastFileCreationTime")
_FOREVER = 4_000_000_000_000


class RestServer:
    """The catalog, from `with` to its end.

    Args:
        folder: the warehouse's directory.
        is_old: whether it is built on Paimon 1.4, which knows no UUIDs of snapshots: it neither compares that
            of the base nor keeps that of the new one.
        gives_tokens: whether clients are told to ask it for tokens to get at the files.
        knows_branches: whether it tells branches from their tables.
        table_fields: what it tells about tables beside what it has to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        is_old: bool = False,
        gives_tokens: bool = False,
        knows_branches: bool = True,
        table_fields: Mapping[str, Any] | None = None,
    ) -> None:
        self.steps: list[Step] = []
        self.canned: dict[str, Reply] = {}
        self.received: list[dict[str, Any]] = []
        self._folder = folder
        self._is_old = is_old
        self._gives_tokens = gives_tokens
        self._knows_branches = knows_branches
        self._table_fields = table_fields or {}
        self._committed: dict[Path, dict[str, Any]] = {}
        self._committing = Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.catalog = self
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join()

    def stop(self) -> None:
        """From now on connections are refused."""
        self._http.shutdown()
        self._http.server_close()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def options(self) -> dict[str, str]:
        """The catalog options of a client."""
        return {"metastore": "rest", "uri": self.uri, "token.provider": "bear", "token": TOKEN}

    def answer(self, method: str, url: str, authorization: str | None, body: str) -> Reply:
        """What any request gets."""
        if authorization != f"Bearer {TOKEN}":
            return 401, {"message": "No auth for this resource", "code": 401}
        parts = urlsplit(url)
        if (reply := self.canned.get(parts.path.rpartition("/")[2])) is not None:
            return reply
        match [method, *(unquote_plus(part) for part in parts.path.strip("/").split("/"))]:
            case ["GET", "v1", "config"] if parse_qs(parts.query).get("warehouse") == [WAREHOUSE]:
                overrides = {"data-token.enabled": str(self._gives_tokens).lower()}
                return 200, {"defaults": {"prefix": "quarry"}, "overrides": overrides}
            case ["GET", "v1", "quarry", "databases"]:
                return 200, {"databases": _names(self._folder, "*.db"), "nextPageToken": None}
            case ["GET", "v1", "quarry", "databases", database, "tables"]:
                tables = _names(self._folder / f"{database}.db", "*")
                return 200, {"tables": tables, "nextPageToken": None}
            case [_, "v1", "quarry", "databases", database, "tables", name, *rest]:
                table, _, branch = name.partition("$branch_")
                folder = self._folder / f"{database}.db" / table
                home = folder / "branch" / f"branch-{branch}" if branch and self._knows_branches else folder
                if not home.is_dir():
                    return _not_found("TABLE", name)
                return self._answer_of_table(folder, home, [method, *rest], body)
        return _not_found("UNKNOWN", parts.path)

    def _answer_of_table(self, folder: Path, home: Path, request: list[str], body: str) -> Reply:
        match request:
            case ["GET"]:
                return 200, {**_table(folder, _newest(home, "schema")), **self._table_fields}
            case ["GET", "token"]:
                return 200, {"token": {}, "expiresAtMillis": _FOREVER}
            case ["GET", "snapshot"]:
                newest = self._newest_snapshot(home)
                counts = dict.fromkeys(_COUNTS, 0)
                found = {"snapshot": {"snapshot": newest, **counts}}
                return (200, found) if newest else _not_found("SNAPSHOT", home.name)
            case ["POST", "commit"]:
                commit = json.loads(body)
                self.received.append(commit)
                step = self.steps.pop(0) if self.steps else lambda commit: commit()
                return step(lambda: self._commit(folder, home, commit))
        return _not_found("UNKNOWN", "/".join(request))

    def _commit(self, folder: Path, home: Path, commit: Mapping[str, Any]) -> Reply:
        if commit["tableId"] != _table_id(folder):
            return _not_found("TABLE", folder.name)
        with self._committing:
            base = self._newest_snapshot(home)
            if not self._is_old and base.get("uuid") != commit["baseSnapshotUuid"]:
                return 200, {"success": False}
            dropped = _UNKNOWN_TO_1_4 if self._is_old else ()
            snapshot = {key: value for key, value in commit["snapshot"].items() if key not in dropped}
            success = _create(home / "snapshot" / f"snapshot-{snapshot['id']}", json.dumps(snapshot))
            if success:
                self._committed[home] = snapshot
            return 200, {"success": success}

    def _newest_snapshot(self, home: Path) -> dict[str, Any]:
        """The newest file, or what it has committed itself if that is newer."""
        known = _newest(home, "snapshot"), self._committed.get(home, {})
        return max(known, key=lambda snapshot: int(snapshot.get("id", 0)))


class _Server(ThreadingHTTPServer):
    catalog: RestServer


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        authorization = self.headers.get("Authorization")
        with suppress(ConnectionError):
            status, answer = self.server.catalog.answer(self.command, self.path, authorization, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def _names(folder: Path, pattern: str) -> list[str]:
    return [path.name.removesuffix(".db") for path in folder.glob(pattern)]


def _not_found(kind: str, name: str) -> Reply:
    return 404, {"resourceType": kind, "resourceName": name, "message": f"no {kind} {name}", "code": 404}


def _table(folder: Path, schema: Mapping[str, Any]) -> dict[str, Any]:
    parts = ("fields", "partitionKeys", "primaryKeys", "options", "comment")
    return {
        "id": _table_id(folder),
        "name": folder.name,
        "path": f"file:{folder}",
        "isExternal": False,
        "schemaId": schema["id"],
        "schema": {part: schema.get(part) for part in parts},
    }


def _table_id(folder: Path) -> str:
    return f"id-of-{folder.name}"


def _create(path: Path, text: str) -> bool:
    """Writes a file in one go unless it exists."""
    temporary = path.parent / ".server"
    temporary.write_text(text)
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True


def _newest(folder: Path, kind: str) -> dict[str, Any]:
    """The newest snapshot or schema file of a table; empty if there is none."""
    paths = (folder / kind).glob(f"{kind}-*")
    newest = max(paths, key=lambda path: int(path.name.removeprefix(f"{kind}-")), default=None)
    return json.loads(newest.read_text()) if newest else {}
