"""The API server requests that the controller needs, as a Protocol.

Implemented by `cluster.client` (a real API server) and `cluster.folder` (a folder of YAML files); the tests
insert one that injects failures. Objects are plain data as the API server sends them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from lithify.resources.names import ObjectKey, ResourceKind

Object = Mapping[str, Any]
Tell = Callable[[ResourceKind, Object, bool], None]
"""Receives each observed object: its kind, the object, and whether it was deleted."""


class Api(Protocol):
    """Requests to an API server.

    All raise `ClusterUnavailable` if it is unknown whether the request took effect, and
    `ClusterRefused` if it is invalid or forbidden.
    """

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        """The object; None if it does not exist."""
        ...

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        """The objects of a namespace (None: all that are watched) that match a label selector."""
        ...

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        """Creates an object.

        Raises:
            ClusterExists: an object of that name exists.
        """
        ...

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        """Merges a patch (RFC 7386) into an object; None if it does not exist.

        Raises:
            ClusterConflict: the patch has a `metadata.resourceVersion` that is no longer the object's.
        """
        ...

    async def delete(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Deletes an object if it exists (and has that uid and that resourceVersion)."""
        ...
