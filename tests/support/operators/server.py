"""The real API server as these tests talk to it: plain requests, and a record of all that happens.

`kubectl proxy` does the authentication, whatever the cluster asks for. A `Story` watches, so every version of
an object is seen, however short its time, and nobody has to poll.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from socket import SHUT_RDWR
from threading import Condition, Event, Thread
from time import monotonic
from typing import Any, Self
from urllib.parse import urlencode

from infrastructure.cluster.fixtures import Cluster

Object = dict[str, Any]

COMPACTIONS, TABLES, POLICIES, CATALOGS = "compactions", "laketables", "compactionpolicies", "catalogs"
OWN = (COMPACTIONS, TABLES, POLICIES, CATALOGS)
PODS, EVENTS, SECRETS, LEASES = "pods", "events", "secrets", "leases"
PATIENCE = 240.0
"""Seconds that anything may take on a machine that does much else."""
_AGAIN_SECONDS = 0.2


class Refused(Exception):
    """The API server did not do what it was asked; `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Server:
    """One namespace of the API server."""

    port: int
    namespace: str

    def get(self, kind: str, name: str) -> Object:
        """An object."""
        return self._ask("GET", f"{self._path(kind)}/{name}")

    def list(self, kind: str) -> list[Object]:
        """All objects of a kind."""
        return list(self._ask("GET", self._path(kind))["items"])

    def create(self, kind: str, body: Mapping[str, Any]) -> Object:
        """Creates an object."""
        return self._ask("POST", self._path(kind), body)

    def patch(self, kind: str, name: str, patch: Mapping[str, Any], *, sub: str = "") -> Object:
        """Merges a patch into an object, or into its subresource."""
        return self._ask("PATCH", f"{self._path(kind)}/{name}{sub}", patch)

    def delete(self, kind: str, name: str = "", *, grace: int | None = None) -> None:
        """Deletes an object, or all of a kind; one that is gone already is no mistake."""
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        try:
            self._ask("DELETE", f"{self._path(kind)}/{name}".rstrip("/") + query)
        except Refused as problem:
            if problem.status != 404:
                raise

    def release(self, kind: str, name: str) -> None:
        """Removes the finalizers of an object; one that is gone already is no mistake."""
        try:
            self.patch(kind, name, {"metadata": {"finalizers": None}})
        except Refused as problem:
            if problem.status != 404:
                raise

    def post(self, kind: str, name: str, sub: str, body: Mapping[str, Any]) -> Object:
        """Creates a subresource of an object."""
        return self._ask("POST", f"{self._path(kind)}/{name}/{sub}", body)

    @contextmanager
    def watching(self, kind: str) -> Iterator[tuple[HTTPConnection, Iterator[Object], list[Object]]]:
        """What there is, and the events from then on; the connection is for ending them."""
        found = self._ask("GET", self._path(kind))
        query = urlencode({"watch": "true", "resourceVersion": found["metadata"]["resourceVersion"]})
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", f"{self._path(kind)}?{query}")
        answer = connection.getresponse()
        try:
            yield connection, (json.loads(line) for line in answer), list(found["items"])
        finally:
            connection.close()

    def _path(self, kind: str) -> str:
        groups = {PODS: "api/v1", EVENTS: "api/v1", SECRETS: "api/v1", LEASES: "apis/coordination.k8s.io/v1"}
        return f"/{groups.get(kind, 'apis/lithify.dev/v1alpha1')}/namespaces/{self.namespace}/{kind}"

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Object:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": kind})
            answer = connection.getresponse()
            found: Object = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status >= 400:
            raise Refused(answer.status, found.get("message", ""))
        return found


@contextmanager
def proxied(cluster: Cluster) -> Iterator[int]:
    """Runs `kubectl proxy`; gives its port."""
    kubectl = cluster.kubectl
    command = [str(kubectl.program), f"--kubeconfig={cluster.kubeconfig}", "proxy", "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as proxy:
        try:
            assert proxy.stdout is not None
            yield int(proxy.stdout.readline().rsplit(":", 1)[1])
        finally:
            proxy.kill()


class Story:
    """What happens to the objects of some kinds, from `with` to its end."""

    def __init__(self, server: Server, kinds: tuple[str, ...] = OWN) -> None:
        self._server = server
        self._kinds = kinds
        self._changed = Condition()  # reentrant, so what is waited for may ask for anything in here
        self._versions: dict[tuple[str, str], list[Object]] = {}
        self._gone: set[tuple[str, str]] = set()
        self._connections: list[HTTPConnection] = []
        self._threads: list[Thread] = []
        self._over = Event()
        self.writes = 0

    def __enter__(self) -> Self:
        ready = [self._start(kind) for kind in self._kinds]
        assert all(ready)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for connection in self._connections:
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def versions(self, kind: str, name: str) -> list[Object]:
        """All versions of an object that there were."""
        with self._changed:
            return list(self._versions.get((kind, name), ()))

    def now(self, kind: str, name: str) -> Object | None:
        """An object as it is, None if it is not there."""
        with self._changed:
            return self._now(kind, name)

    def names(self, kind: str) -> list[str]:
        """The names of all objects of a kind that there ever were."""
        with self._changed:
            return [name for found, name in self._versions if found == kind]

    def all(self, kind: str) -> list[Object]:
        """The objects of a kind that are there."""
        with self._changed:
            found = [key for key in self._versions if key[0] == kind and key not in self._gone]
            return [self._versions[key][-1] for key in found]

    def until(
        self, kind: str, name: str, holds: Callable[[Object], bool], *, seconds: float = PATIENCE
    ) -> Object:
        """An object in the first version, from now on or the one that there is, of which something holds."""
        found: list[Object] = []

        def is_so() -> bool:
            now = self._now(kind, name)
            if now is not None and holds(now):
                found.append(now)
            return bool(found)

        if not self.wait(is_so, seconds):
            raise AssertionError(f"not within {seconds:g} s: {kind} {name} is {_shown(self.now(kind, name))}")
        return found[0]

    def until_gone(self, kind: str, name: str, *, seconds: float = PATIENCE) -> None:
        """Returns when an object that was there, or is about to be, is gone."""
        if not self.wait(lambda: (kind, name) in self._gone, seconds):
            raise AssertionError(f"not gone within {seconds:g} s: {kind} {name}")

    def wait(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Waits until something is so, which is asked whenever something has happened."""
        deadline = monotonic() + seconds
        with self._changed:
            while not is_so():
                left = deadline - monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def _now(self, kind: str, name: str) -> Object | None:
        key = (kind, name)
        return self._versions[key][-1] if key in self._versions and key not in self._gone else None

    def _start(self, kind: str) -> bool:
        listening = Event()
        thread = Thread(target=self._follow, args=(kind, listening), name=f"story of {kind}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return listening.wait(PATIENCE)

    def _follow(self, kind: str, listening: Event) -> None:
        """Watches objects of a kind; begins again when the API server is one that was restarted."""
        while not self._over.is_set():
            with (
                suppress(OSError, HTTPException, ValueError, Refused),
                self._server.watching(kind) as (connection, events, found),
            ):
                self._connections.append(connection)
                self._take_all(kind, found)
                listening.set()
                for event in events:
                    self._take(kind, event["type"], event["object"])
            self._over.wait(_AGAIN_SECONDS)

    def _take_all(self, kind: str, found: list[Object]) -> None:
        names = {item["metadata"]["name"] for item in found}
        for item in found:
            self._take(kind, "FOUND", item)
        for gone in self.all(kind):
            if gone["metadata"]["name"] not in names:
                self._take(kind, "DELETED", gone)

    def _take(self, kind: str, event: str, found: Object) -> None:
        key = (kind, found["metadata"]["name"])
        with self._changed:
            self.writes += event != "FOUND"
            if event == "DELETED":
                self._gone.add(key)
            else:
                self._gone.discard(key)
                self._versions.setdefault(key, []).append(found)
            self._changed.notify_all()


def condition(found: Object, kind: str) -> Object:
    """A condition of an object; empty if it has none of that type."""
    conditions = (found.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == kind), {})


def _shown(found: Object | None) -> str:
    return "gone" if found is None else json.dumps(found.get("status"), ensure_ascii=False)
