"""A folder of YAML files that replaces an API server: what `lithify watch` reconciles.

Made by the command line; all other code sees the `Api` Protocol. The user's files are only ever read; status
and the objects that the operator makes are in the state file. Requests behave as in an API server, as far as
the operator relies on it: defaults and validation, versions, generations, a status subresource, and deletion
of owned objects. Events are not stored: their sender logs them as well.
"""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from lithify.controller.api import Object, Tell
from lithify.controller.cluster.documents import Document, Flaw, object_key
from lithify.controller.cluster.merge_patch import merge
from lithify.controller.cluster.sources import Sources
from lithify.controller.cluster.state_file import Entry, Origin, Place, StateFile
from lithify.errors import (
    ClusterConflict,
    ClusterError,
    ClusterExists,
    ClusterRefused,
    LithifyError,
    NotFound,
)
from lithify.resources.names import EVENT, GROUP, LEASE, OWN_KINDS, SECRET, ObjectKey, ResourceKind

_log = logging.getLogger(__name__)
_IDENTITY = ("uid", "creationTimestamp", "generation", "resourceVersion")
_CHANGEABLE = ("labels", "annotations", "ownerReferences")
Validate = Callable[[ResourceKind, Mapping[str, Any], Mapping[str, Any] | None], dict[str, Any]]
"""Completes an object with defaults, as `resources.validating.validated`: kind, object, its previous state.

Raises a `LithifyError` if the API server would refuse it."""


class FolderApi:
    """An `Api` over a folder.

    Args:
        folder: where the YAML files are.
        validate: sets the defaults of an object of ours, or raises for the rule that it breaks.
        now: the current time, for creation times.
        interval: seconds between two polls of the files. A change counts once two polls have found it.

    Raises:
        NotFound: there is no such folder.
        StorageError: `.lithify` cannot be read or written.
        ClusterRefused: another process works on the folder.
    """

    def __init__(
        self, folder: Path, validate: Validate, now: Callable[[], datetime], interval: float = 0.5
    ) -> None:
        if not folder.is_dir():
            raise NotFound("folder", str(folder), "name the folder with your YAML files")
        self._validate = validate
        self._now = now
        self._interval = interval
        self._tell: Tell | None = None
        self._sources = Sources(folder)
        self._flaws: list[Flaw] = []
        self._is_behind = True
        self._is_first = True
        self._file = StateFile(folder)
        try:
            self._entries = self._file.read()
            self._version = max((entry.version for entry in self._entries.values()), default=0)
            self.read_changes()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Unlocks the folder for other processes."""
        self._file.close()

    def problems(self) -> list[Flaw]:
        """Current mistakes in the folder, by file and document."""
        return sorted(self._flaws, key=lambda flaw: (flaw.file, flaw.document))

    def read_changes(self) -> None:
        """Applies changes of the user's files. A document that cannot be used leaves the last good version.

        Raises:
            ClusterUnavailable: the state file cannot be written now; the next call tries again.
        """
        if not self._sources.poll() and not self._is_behind:
            return
        self._is_behind = True
        entries, flaws = dict(self._entries), list(self._sources.flaws)
        documents: dict[Place, Document] = {}
        for document in self._sources.documents:
            first = documents.setdefault((document.kind, document.key), document)
            flaw = _repeated(document, first) if first is not document else self._apply(document, entries)
            flaws += [flaw] if flaw is not None else []
        if self._sources.is_settled:
            unknown = {flaw.file for flaw in self._sources.flaws}  # which other objects they hold is unknown
            for place, entry in self._entries.items():
                if entry.origin and place not in documents and entry.origin.file not in unknown:
                    del entries[place]
        self._commit(entries)
        self._flaws, self._is_behind, self._is_first = flaws, False, False

    async def run(self, tell: Tell, stop: asyncio.Event) -> None:
        """Delivers all objects of our kinds, then each change, until `stop` is set."""
        self._tell = tell
        try:
            for entry in self._of(*OWN_KINDS):
                tell(entry.kind, deepcopy(dict(entry.body)), False)
            while not stop.is_set():
                try:
                    async with asyncio.timeout(self._interval):
                        await stop.wait()
                except TimeoutError:
                    self._poll()
        finally:
            self._tell = None

    def _poll(self) -> None:
        try:
            self.read_changes()
        except ClusterError as error:
            _log.warning("%s; it will be retried", error)

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        """Returns an object, None if it does not exist."""
        entry = self._entries.get((kind, key))
        return None if entry is None else deepcopy(dict(entry.body))

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        """Returns the objects of a namespace, or all, with these labels (`a=b,c=d`); never Secrets."""
        if kind is SECRET:
            raise ClusterRefused("list secrets", "Secrets can only be read one by one")
        wanted = {tuple(pair.split("=")) for pair in labels.split(",") if pair}
        return [
            deepcopy(dict(entry.body))
            for entry in self._of(kind)
            if namespace in (None, entry.key.namespace)
            and wanted <= (entry.body["metadata"].get("labels") or {}).items()
        ]

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        """Creates an object.

        Raises:
            ClusterExists: there is one of that name.
        """
        request = f"create {kind.plural} in {namespace}"
        asked = _plain(request, body)
        if kind is EVENT:
            return asked
        _refuse_foreign(request, kind)
        try:
            key = object_key(namespace, (asked.get("metadata") or {}).get("name"))
        except ValueError as error:
            raise ClusterRefused(request, str(error)) from error
        if (kind, key) in self._entries:
            raise ClusterExists(f"create {kind.name} {key}", "it exists already")
        if kind in OWN_KINDS:
            asked.pop("status", None)
        head = {"apiVersion": kind.api_version, "kind": kind.name}
        whole = {**asked, **head, "metadata": {**asked["metadata"], "namespace": namespace}}
        return self._put(self._next((kind, key), self._checked(request, kind, whole), None, None))

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        """Merges a patch into an object; returns None if it does not exist.

        Raises:
            ClusterConflict: the patch names another uid or resourceVersion.
        """
        request = f"patch {kind.name} {key}"
        _refuse_foreign(request, kind)
        entry = self._entries.get((kind, key))
        if entry is None:
            return None
        asked = _plain(request, patch)
        for name in ("resourceVersion", "uid"):
            wanted, found = (asked.get("metadata") or {}).get(name), entry.body["metadata"][name]
            if wanted not in (None, found):
                raise ClusterConflict(request, f"metadata.{name} is {found} now, not {wanted}")
        parts = {name: value for name, value in asked.items() if _concerns(kind, subresource, name)}
        body = self._checked(request, kind, merge(entry.body, parts), entry.body)
        return self._put(self._next((kind, key), body, entry, entry.origin))

    async def delete(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Deletes an object and what it owns, if it exists (and has that uid and that resourceVersion).

        Objects of the user's files exist as long as the files define them.
        """
        del grace_seconds  # no object here takes time to end
        _refuse_foreign(f"delete {kind.name} {key}", kind)
        entry = self._entries.get((kind, key))
        if entry is None or entry.origin is not None:
            return
        found = entry.body["metadata"]
        if uid in (None, found["uid"]) and version in (None, found["resourceVersion"]):
            self._commit({place: other for place, other in self._entries.items() if other is not entry})

    def _of(self, *kinds: ResourceKind) -> Sequence[Entry]:
        return sorted((entry for entry in self._entries.values() if entry.kind in kinds), key=lambda e: e.key)

    def _put(self, entry: Entry) -> Object:
        self._commit({**self._entries, (entry.kind, entry.key): entry})
        return deepcopy(dict(entry.body))

    def _commit(self, entries: dict[Place, Entry]) -> None:
        """Makes these the current objects: on disk, then in memory, then for the listener."""
        after = _without_orphans(entries)
        self._file.write(self._entries, after)
        before, self._entries = self._entries, after
        for place in [*before, *(place for place in after if place not in before)]:
            old, new = before.get(place), after.get(place)
            shown = new or old
            is_changed = old is None or new is None or old.body != new.body
            if self._tell is not None and shown is not None and shown.kind in OWN_KINDS and is_changed:
                self._tell(shown.kind, deepcopy(dict(shown.body)), new is None)

    def _checked(
        self, request: str, kind: ResourceKind, body: dict[str, Any], before: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        if kind not in OWN_KINDS:
            return body
        try:
            return self._validate(kind, body, before)
        except LithifyError as error:
            raise ClusterRefused(request, str(error)) from error

    def _apply(self, document: Document, entries: dict[Place, Entry]) -> Flaw | None:
        """Makes the object equal its document; returns a flaw if that is impossible."""
        place = document.kind, document.key
        before = entries.get(place)
        digest = sha256(json.dumps(document.body, sort_keys=True).encode()).hexdigest()
        origin = Origin(document.file, digest)
        if before is not None and before.origin == origin and not self._is_first:
            return None
        try:
            body = self._wanted(document, before, digest)
        except ImportError:
            raise  # the installation lacks a library, which is no mistake of the document
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns one document
            is_ours = isinstance(error, LithifyError)
            return document.flaw(str(error) if is_ours else f"it cannot be used ({error!r})")
        entries[place] = self._next(place, body, before, origin)
        return None

    def _wanted(self, document: Document, before: Entry | None, digest: str) -> dict[str, Any]:
        """The object that a document asks for; API changes are kept until the document changes."""
        if document.kind is SECRET:
            return _secret(document.body)
        body = document.body
        if before is not None:
            is_same = before.origin is not None and before.origin.digest == digest
            body = before.body if is_same else _taken_over(body, before.body)
        return self._validate(document.kind, body, None if before is None else before.body)

    def _next(
        self, place: Place, body: Mapping[str, Any], before: Entry | None, origin: Origin | None
    ) -> Entry:
        """The object with its identity; the same entry if nothing changes."""
        kind, key = place
        known = self._identity(kind) if before is None else before.body["metadata"]
        identity = {name: known[name] for name in _IDENTITY if name in known}
        rest = {name: body["metadata"][name] for name in _CHANGEABLE if body["metadata"].get(name)}
        metadata = {"name": key.name, "namespace": key.namespace, **identity, **rest}
        whole = {**{part: body[part] for part in ("apiVersion", "kind")}, **body, "metadata": metadata}
        if before is not None and whole == before.body:
            return before if origin == before.origin else replace(before, origin=origin)
        if before is not None and "generation" in known and _spec(whole) != _spec(before.body):
            metadata["generation"] += 1
        self._version += 1
        metadata["resourceVersion"] = str(self._version)
        return Entry(kind, whole, origin)

    def _identity(self, kind: ResourceKind) -> dict[str, Any]:
        created = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        generation = {"generation": 1} if kind in OWN_KINDS else {}
        return {"uid": str(uuid4()), "creationTimestamp": created, **generation}


def _repeated(document: Document, first: Document) -> Flaw:
    where = f"{first.file} (document {first.number})"
    return document.flaw(f"{document.kind.name} {document.key} is in {where} already; this one is ignored")


def _refuse_foreign(request: str, kind: ResourceKind) -> None:
    if kind not in (*OWN_KINDS, LEASE):
        raise ClusterRefused(request, f"a folder holds no {kind.plural} except those in its files")


def _concerns(kind: ResourceKind, subresource: str, part: str) -> bool:
    """Whether a request (to the object or to its status) may change this part of an object."""
    if kind not in OWN_KINDS:
        return not subresource
    return (part == "status") is (subresource == "status")


def _without_orphans(entries: dict[Place, Entry]) -> dict[Place, Entry]:
    """The objects without the operator's own whose owners are all gone."""
    alive = {entry.body["metadata"]["uid"] for entry in entries.values()}
    kept = {place: entry for place, entry in entries.items() if entry.origin or _has_owner(entry, alive)}
    return kept if len(kept) == len(entries) else _without_orphans(kept)


def _has_owner(entry: Entry, alive: set[str]) -> bool:
    owners = entry.body["metadata"].get("ownerReferences")
    return not owners or any(owner.get("uid") in alive for owner in owners)


def _taken_over(wanted: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The document's object, with the previous object's status, owners and Lithify's own labels."""
    metadata, old = wanted["metadata"], before["metadata"]
    ours = {name: text for name, text in old.get("labels", {}).items() if name.startswith(f"{GROUP}/")}
    ties = {"labels": {**ours, **metadata.get("labels", {})}, "ownerReferences": old.get("ownerReferences")}
    status = {"status": before["status"]} if "status" in before else {}
    return {**wanted, "metadata": {**metadata, **ties}, **status}


def _spec(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("metadata", "status")}


def _secret(body: Mapping[str, Any]) -> dict[str, Any]:
    """A Secret as the API server keeps it: `stringData` goes into `data`."""
    rest = {name: value for name, value in body.items() if name != "stringData"}
    texts = body.get("stringData") or {}
    encoded = {name: b64encode(str(text).encode()).decode() for name, text in texts.items()}
    return {**rest, "data": {**(body.get("data") or {}), **encoded}}


def _plain(request: str, body: Object) -> dict[str, Any]:
    """Returns a copy that consists of plain JSON values."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(body, allow_nan=False))
    except (RecursionError, TypeError, ValueError) as error:
        raise ClusterRefused(request, f"it is not JSON ({error})") from error
    return copied
