"""A folder of YAML files that stands in for an API server: what `lithify watch` reconciles.

Made by the command line; everything else sees the `Api` Protocol. The user's files are only ever read. Beside
them, in `.lithify`, stand the status of each of their objects and the objects that the operator makes. One
process at a time has a folder. Requests behave as those to an API server do: defaults and rules, versions,
generations, status apart from the rest, and owners whose end is the end of what they own.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from lithify.controller.api import Object, Tell
from lithify.controller.cluster.documents import Flaw, object_key
from lithify.controller.cluster.importing import Importer, Validate
from lithify.controller.cluster.keeping import KEPT_KINDS, Entry, Keeper, Origin
from lithify.controller.cluster.merge_patch import combine, difference, merge
from lithify.controller.cluster.records import STATE_FOLDER, Lock, replace_file
from lithify.controller.cluster.selectors import selector
from lithify.controller.cluster.sources import Sources
from lithify.errors import (
    ClusterConflict,
    ClusterError,
    ClusterExists,
    ClusterRefused,
    LithifyError,
    NotFound,
    StorageError,
)
from lithify.resources.names import EVENT, OWN_KINDS, SECRET, Kind, ObjectKey

_log = logging.getLogger(__name__)
_EVENT_LIFE = timedelta(hours=1)
"""As an API server keeps them."""


class FolderApi:
    """An `Api` over a folder.

    Args:
        folder: where the YAML files are.
        validate: gives an object of ours its defaults, or says what rule it breaks.
        now: the time, for creation times.
        interval: seconds between two looks at the files. A change counts once two looks have found it.
        new_uid: makes identities.

    Raises:
        NotFound: there is no such folder.
        StorageError: `.lithify` cannot be written.
        ClusterRefused: another process works on the folder.
    """

    def __init__(
        self,
        folder: Path,
        validate: Validate,
        now: Callable[[], datetime],
        interval: float = 0.5,
        new_uid: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        if not folder.is_dir():
            raise NotFound("folder", str(folder), "name the folder with your YAML files")
        state = folder / STATE_FOLDER
        try:
            state.mkdir(exist_ok=True)
            self._lock = Lock(state / "lock")
            replace_file(state / ".gitignore", "*\n")
        except OSError as error:
            raise StorageError(str(state), f"it cannot be written ({error})") from error
        self._validate = validate
        self._now = now
        self._new_uid = new_uid
        self._interval = interval
        try:
            self._keeper = Keeper(state, now, new_uid)
            self._importer = Importer(Sources(folder), self._keeper, validate)
            self.look()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Lets other processes have the folder."""
        self._lock.release()

    def problems(self) -> list[Flaw]:
        """What is wrong in the folder now, by file and document."""
        return self._importer.flaws

    def look(self) -> None:
        """Takes in what has changed in the folder.

        Raises:
            ClusterUnavailable: `.lithify` cannot be written now.
        """
        self._importer.look()
        for event in list(self._keeper.all(EVENT)):
            made = datetime.strptime(event.body["metadata"]["creationTimestamp"], "%Y-%m-%dT%H:%M:%SZ")
            if self._now() - made.replace(tzinfo=UTC) > _EVENT_LIFE:
                self._keeper.remove(event, though_written=False)

    async def run(self, tell: Tell, stop: asyncio.Event) -> None:
        """Tells of all objects of our kinds, then of each change, until told to stop."""

        def tell_ours(kind: Kind, found: Object, is_gone: bool) -> None:
            if kind in OWN_KINDS:
                tell(kind, found, is_gone)

        for entry in list(self._keeper.all(*OWN_KINDS)):
            tell(entry.kind, deepcopy(dict(entry.body)), False)
        end = self._keeper.listen(tell_ours)
        try:
            while not stop.is_set():
                try:
                    async with asyncio.timeout(self._interval):
                        await stop.wait()
                except TimeoutError:
                    self._look_again()
        finally:
            end()

    def _look_again(self) -> None:
        try:
            self.look()
        except ClusterError as error:
            _log.warning("%s; it is tried again", error)

    async def get(self, kind: Kind, key: ObjectKey) -> Object | None:
        """An object, None if there is none."""
        entry = self._keeper.get(kind, key)
        return None if entry is None else deepcopy(dict(entry.body))

    async def list(self, kind: Kind, namespace: str | None = None, labels: str = "") -> list[Object]:
        """The objects of a namespace, or all, that match a label selector; never Secrets."""
        if kind is SECRET:
            raise ClusterRefused("list secrets", "Secrets can only be read one by one")
        try:
            accepts = selector(labels)
        except ValueError as error:
            raise ClusterRefused(f"list {kind.plural}", str(error)) from error
        return [
            deepcopy(dict(entry.body))
            for entry in self._keeper.all(kind)
            if namespace in (None, entry.key.namespace)
            and accepts(entry.body["metadata"].get("labels") or {})
        ]

    async def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        """Creates an object.

        Raises:
            ClusterExists: there is one of that name.
        """
        request = f"create {kind.plural} in {namespace}"
        self._refuse_foreign(request, kind)
        asked = _plain(request, body)
        metadata = asked.get("metadata") or {}
        name = metadata.get("name") or f"{metadata.get('generateName') or ''}{self._new_uid()[:5]}"
        try:
            key = object_key(namespace, name)
        except ValueError as error:
            raise ClusterRefused(request, str(error)) from error
        if self._keeper.get(kind, key) is not None or (kind, key) in self._keeper.removed:
            raise ClusterExists(f"create {kind.name} {key}", "it exists already")
        head = {"apiVersion": kind.api_version, "kind": kind.name}
        rest = {part: value for part, value in asked.items() if part != "status" or kind not in OWN_KINDS}
        whole = {**rest, **head, "metadata": {**metadata, "name": name, "namespace": namespace}}
        made = self._keeper.make(kind, self._checked(request, kind, whole), None)
        return deepcopy(dict(made.body))

    async def patch(
        self, kind: Kind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        """Merges a patch into an object, None if there is none.

        Raises:
            ClusterConflict: the object is not the one, or not in the version, that the patch names.
        """
        request = f"patch {kind.name} {key}"
        self._refuse_foreign(request, kind)
        entry = self._keeper.get(kind, key)
        if entry is None:
            return None
        asked = _plain(request, patch)
        self._expect_same(request, entry, asked.get("metadata") or {})
        parts = {name: value for name, value in asked.items() if _concerns(kind, subresource, name)}
        body = self._checked(request, kind, merge(entry.body, parts), entry.body)
        changed = self._keeper.change(entry, body, self._origin(entry, body))
        return deepcopy(dict(changed.body))

    async def delete(
        self,
        kind: Kind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Deletes an object and what it owns, if it is there (and has that uid and that resourceVersion).

        A document of the user's stays; its object comes back when the document is changed.
        """
        del grace_seconds  # nothing here takes time to end
        self._refuse_foreign(f"delete {kind.name} {key}", kind)
        entry = self._keeper.get(kind, key)
        if entry is None or version not in (None, entry.body["metadata"]["resourceVersion"]):
            return
        if uid in (None, entry.uid):
            self._keeper.remove(entry, though_written=True)
            self._keeper.collect()

    def _refuse_foreign(self, request: str, kind: Kind) -> None:
        if kind is SECRET or kind not in KEPT_KINDS:
            raise ClusterRefused(request, f"a folder keeps no {kind.plural} but those that you write")

    def _checked(
        self, request: str, kind: Kind, body: dict[str, Any], before: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        if kind not in OWN_KINDS:
            return body
        try:
            return self._validate(kind, body, before)
        except LithifyError as error:
            raise ClusterRefused(request, str(error)) from error

    def _expect_same(self, request: str, entry: Entry, asked: Mapping[str, Any]) -> None:
        """Refuses a patch that was made for another version or another object of the name."""
        metadata = entry.body["metadata"]
        for name in ("resourceVersion", "uid"):
            if asked.get(name) not in (None, metadata[name]):
                problem = f"metadata.{name} is {metadata[name]} now, not {asked[name]}"
                raise ClusterConflict(request, problem)
        if self._importer.is_edited(entry):
            raise ClusterConflict(request, "somebody has just edited it; the change is taken in first")

    def _origin(self, entry: Entry, body: Mapping[str, Any]) -> Origin | None:
        """Where the object stands, with what the API has changed in it remembered."""
        origin = entry.origin
        if origin is None:
            return None
        change = difference(_without_status(entry.body), _without_status(body))
        return Origin(origin.file, origin.digest, combine(origin.overlay, change)) if change else origin


def _concerns(kind: Kind, subresource: str, part: str) -> bool:
    """Whether a part of an object can be changed by a request to the object or to its status."""
    if kind not in OWN_KINDS:
        return not subresource
    return (part == "status") is (subresource == "status")


def _without_status(body: Mapping[str, Any]) -> dict[str, Any]:
    metadata = body["metadata"]
    kept = {name: metadata[name] for name in ("labels", "annotations", "ownerReferences") if name in metadata}
    return {**{name: value for name, value in body.items() if name != "status"}, "metadata": kept}


def _plain(request: str, body: Object) -> dict[str, Any]:
    """A copy that is certainly JSON."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(body))
    except (RecursionError, TypeError, ValueError) as error:
        raise ClusterRefused(request, f"it is not JSON ({error})") from error
    return copied
