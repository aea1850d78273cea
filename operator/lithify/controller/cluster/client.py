"""Requests to a real API server, by the `kubernetes` package's asyncio client.

Made by the operator's assembly and by tests; all other code sees the `Api` Protocol. Objects stay plain data:
the package's typed models cost memory and do not include our kinds.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any

import aiohttp
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.config.config_exception import ConfigException
from kubernetes.aio.config.incluster_config import load_incluster_config
from kubernetes.aio.config.kube_config import load_kube_config
from yaml import YAMLError

from lithify.controller.api import Object
from lithify.controller.cluster.decoding import decode
from lithify.errors import (
    ClusterConflict,
    ClusterExists,
    ClusterRefused,
    ClusterUnavailable,
    InvalidOption,
)
from lithify.resources.names import POD, ObjectKey, ResourceKind

_log = logging.getLogger(__name__)
_PAGE = 500
_EXCEEDED = "exceeded quota: "
"""Start of the API server's message when a ResourceQuota is exceeded; the HTTP status equals that of a
missing permission."""
_UNUSABLE = (ConfigException, YAMLError, OSError, ValueError, TypeError, AttributeError)
"""What the `kubernetes` package raises for a file that is no kubeconfig."""
_TIMEOUT = 30.0
"""Request timeout in seconds; longer than the API server waits for etcd, shorter than a lease."""

Observe = Callable[[str, ResourceKind, int, float], None]
"""Called for each request: verb, kind, HTTP status (0 for none), seconds."""


async def load_configuration(kubeconfig: str | None, context: str | None) -> Configuration:
    """Returns the connection settings: from a kubeconfig file, or those of a pod.

    Raises:
        InvalidOption: the file or its context cannot be used.
    """
    configuration = Configuration()
    try:
        if kubeconfig is None:
            load_incluster_config(client_configuration=configuration)
        else:
            _check_files(kubeconfig)
            await load_kube_config(kubeconfig, context, configuration, persist_config=False)
    except _UNUSABLE as error:
        if kubeconfig is None:
            problem = f"{error}; outside a pod, give --kubeconfig"
            raise InvalidOption("service account", problem) from error
        said = f" ({error})" if isinstance(error, ConfigException) else ""
        raise InvalidOption("--kubeconfig", f"{kubeconfig} cannot be used{said}") from error
    return configuration


def _check_files(kubeconfig: str) -> None:
    """Checks that a kubeconfig file exists: the `kubernetes` package would log it, and say something else.

    Raises:
        InvalidOption: none of the files exists.
    """
    files = kubeconfig.split(os.pathsep)
    if not any(Path(file).expanduser().is_file() for file in files):
        raise InvalidOption("--kubeconfig", f"there is no file {kubeconfig}")


@asynccontextmanager
async def connect(
    configuration: Configuration, observe: Observe | None = None, namespaces: Collection[str] = ()
) -> AsyncIterator[ClusterClient]:
    """Yields a client and closes it at the end; without namespaces it lists all of them."""
    async with ApiClient(configuration) as client:
        yield ClusterClient(client, observe, namespaces)


class ClusterClient:
    """An `Api` over HTTP."""

    def __init__(
        self, client: ApiClient, observe: Observe | None = None, namespaces: Collection[str] = ()
    ) -> None:
        self._client = client
        self._observe = observe or (lambda *_: None)
        self._scopes: list[str | None] = [*sorted(namespaces)] or [None]

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        """Returns an object, None if it does not exist."""
        found: Object | None = await self._request("GET", kind, _path(kind, key.namespace, key.name))
        return found

    async def _pages(self, kind: ResourceKind, namespace: str | None, labels: str) -> list[Object]:
        found: list[Object] = []
        query: dict[str, Any] = {"limit": _PAGE, **({"labelSelector": labels} if labels else {})}
        while True:
            page = await self._request("GET", kind, _path(kind, namespace), query=query)
            if page is None:
                raise ClusterRefused(f"list {kind.plural}", "there is no such kind; apply the CRDs first")
            found.extend(page["items"])
            proceed = page["metadata"].get("continue")
            if not proceed:
                return found
            query["continue"] = proceed

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        """Returns all pages of a list; without a namespace, those of all watched namespaces.

        A watched namespace that refuses is left out: deleting a namespace deletes its roles, which must not
        stop work in the others.
        """
        if namespace is not None:
            return await self._pages(kind, namespace, labels)
        found: list[Object] = []
        refusals: list[ClusterRefused] = []
        for scope in self._scopes:
            try:
                found += await self._pages(kind, scope, labels)
            except ClusterRefused as error:
                refusals.append(error)
        if len(refusals) == len(self._scopes):
            raise refusals[0]
        for refusal in refusals:
            _log.warning("a namespace is left out: %s", refusal)
        return found

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        """Creates an object; raises `ClusterExists` if there is one of that name."""
        created: Object | None = await self._request("POST", kind, _path(kind, namespace), body=body)
        if created is None:
            raise ClusterRefused(f"create {kind.name}", f"namespace {namespace} does not exist")
        return created

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        """Merges a patch into an object; returns None if it does not exist."""
        path = _path(kind, key.namespace, key.name, subresource)
        patched: Object | None = await self._request("PATCH", kind, path, body=patch)
        return patched

    async def delete(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Deletes an object if it exists; one of another uid or resourceVersion is left alone."""
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        conditions = {"uid": uid, "resourceVersion": version}
        if any(conditions.values()):
            options["preconditions"] = {name: value for name, value in conditions.items() if value}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            await self._request("DELETE", kind, _path(kind, key.namespace, key.name), body=options)
        except ClusterConflict:
            return

    async def log(self, pod: ObjectKey) -> str | None:
        """Returns the log of a pod's only container, None if there is no such pod."""
        path = _path(POD, pod.namespace, pod.name, "log")
        status, text = await self._send("GET", POD, path)
        if status == HTTPStatus.OK:
            return text.decode(errors="replace")
        _answer("GET", f"get {path}", status, text)
        return None

    async def _request(
        self,
        verb: str,
        kind: ResourceKind,
        path: str,
        body: Object | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        status, text = await self._send(verb, kind, path, body, query)
        return _answer(verb, f"{verb.lower()} {path}", status, text)

    async def _send(
        self,
        verb: str,
        kind: ResourceKind,
        path: str,
        body: Object | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> tuple[int, bytes]:
        """Sends a request; returns status and body of the response."""
        started, status = monotonic(), 0
        what = f"{verb.lower()} {path}"
        content = "application/merge-patch+json" if verb == "PATCH" else "application/json"
        try:
            request = await self._client.param_serialize(
                verb,
                path,
                query_params=[*(query or {}).items()],
                header_params={"Accept": "application/json, */*", "Content-Type": content},
                body=body,
                auth_settings=["BearerToken"],
            )
            response = await self._client.call_api(*request, _request_timeout=_TIMEOUT)
            text = await response.read()
            status = response.status
        except ApiException as error:
            status, text = int(error.status or 0), str(error.body or error.reason or "").encode()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ClusterUnavailable(what, f"no answer ({type(error).__name__}: {error})") from error
        finally:
            self._observe(verb, kind, status, monotonic() - started)
        return status, text


def _answer(verb: str, what: str, status: int, text: bytes) -> Any:
    """Returns the body of a successful response, None for a missing object; raises for any other status."""
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        try:
            return decode(text)
        except ValueError as error:
            raise ClusterUnavailable(what, f"the response is not JSON ({error})") from error
    problem = _problem(status, text)
    if status == HTTPStatus.NOT_FOUND:
        return None
    if status == HTTPStatus.CONFLICT:
        raise (ClusterExists if verb == "POST" and problem[0] == "AlreadyExists" else ClusterConflict)(
            what, problem[1]
        )
    if status in {0, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.GONE}:
        raise ClusterUnavailable(what, problem[1])
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.UNAUTHORIZED:
        # An API server answers 401 while a token is being renewed: retried, and visible if it persists.
        raise ClusterUnavailable(what, problem[1])
    if verb == "POST" and _EXCEEDED in problem[1]:
        raise ClusterUnavailable(what, problem[1])  # quota becomes free when other pods end
    raise ClusterRefused(what, problem[1])


def _problem(status: int, text: bytes) -> tuple[str, str]:
    """Reason and message of a Status object; empty where they are missing."""
    try:
        answer = decode(text)
        return str(answer.get("reason", "")), str(answer.get("message", "")) or f"HTTP {status}"
    except (ValueError, AttributeError):
        return "", f"HTTP {status}"


def _path(kind: ResourceKind, namespace: str | None, name: str = "", subresource: str = "") -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    scope = f"/namespaces/{namespace}" if namespace else ""
    return "/".join(part for part in (f"{root}{scope}/{kind.plural}", name, subresource) if part)
