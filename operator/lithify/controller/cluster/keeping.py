"""The objects of a folder: in memory, and as records on disk that outlive the process.

Called by `folder` and `importing`. Disk first, then memory, then everybody who listens; so what is known was
written, and what a crash undid was never told to anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lithify.controller.api import Tell
from lithify.controller.cluster.documents import Flaw, object_key
from lithify.controller.cluster.records import Files, Versions
from lithify.controller.cluster.sources import Signature, signature
from lithify.resources.names import EVENT, LEASE, OWN_KINDS, SECRET, Kind, ObjectKey

KEPT_KINDS = (*OWN_KINDS, SECRET, EVENT, LEASE)
Place = tuple[Kind, ObjectKey]

_BOOKKEEPING = "folder"
"""The part of a record that is no part of the object."""
_IDENTITY = ("name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an object of the user's stands.

    Attributes:
        file: which file, below the folder.
        digest: of the document, to notice that the user has changed it.
        overlay: what was changed through the API since, as a merge patch on the document.
    """

    file: str
    digest: str
    overlay: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as it is now.

    Attributes:
        kind: its kind.
        body: all of it; never changed in place.
        origin: where the user has written it; None if the operator made it.
        written: the signature of its record.
    """

    kind: Kind
    body: Mapping[str, Any]
    origin: Origin | None
    written: Signature | None = None

    @property
    def key(self) -> ObjectKey:
        """Which object it is."""
        return ObjectKey(self.body["metadata"]["namespace"], self.body["metadata"]["name"])

    @property
    def uid(self) -> str:
        """Tells it from others of its name, before and after it."""
        return str(self.body["metadata"]["uid"])

    @property
    def version(self) -> str:
        """Changes with every change."""
        return str(self.body["metadata"]["resourceVersion"])


class Keeper:
    """All objects of a folder."""

    def __init__(self, state: Path, now: Callable[[], datetime], new_uid: Callable[[], str]) -> None:
        self.status = Files(state / "status")
        self.objects = Files(state / "objects")
        self.flaws: list[Flaw] = []
        """Records that cannot be read."""
        self.removed: dict[Place, Origin] = {}
        """Objects that were deleted though their document is still there."""
        self._versions = Versions(state / "version")
        self._now = now
        self._new_uid = new_uid
        self._entries: dict[Kind, dict[ObjectKey, Entry]] = {kind: {} for kind in KEPT_KINDS}
        self._secrets: dict[ObjectKey, Mapping[str, Any]] = {}
        self._listeners: list[Tell] = []
        self._load()

    def listen(self, tell: Tell) -> Callable[[], None]:
        """Has `tell` called after each change; returns what ends that."""
        self._listeners.append(tell)
        return lambda: self._listeners.remove(tell)

    def get(self, kind: Kind, key: ObjectKey) -> Entry | None:
        """An object, None if there is none."""
        return self._entries.get(kind, {}).get(key)

    def all(self, *kinds: Kind) -> Iterator[Entry]:
        """The objects of some kinds, by key."""
        for kind in kinds:
            yield from [self._entries[kind][key] for key in sorted(self._entries.get(kind, {}))]

    def make(self, kind: Kind, body: Mapping[str, Any], origin: Origin | None) -> Entry:
        """Takes a new object in and gives it an identity."""
        asked = body["metadata"]
        key = ObjectKey(asked["namespace"], asked["name"])
        known = self._secrets.get(key, {}) if kind is SECRET else {}
        metadata = {
            "name": asked["name"],
            "namespace": asked["namespace"],
            "uid": known.get("uid") or self._new_uid(),
            "creationTimestamp": known.get("creationTimestamp")
            or self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **({"generation": 1} if kind in OWN_KINDS else {}),
            **{name: asked[name] for name in ("labels", "annotations", "ownerReferences") if asked.get(name)},
        }
        self.removed.pop((kind, key), None)
        return self._put(Entry(kind, {**body, "metadata": metadata}, origin))

    def change(
        self, entry: Entry, body: Mapping[str, Any], origin: Origin | None, *, anyway: bool = False
    ) -> Entry:
        """Takes a change of an object in; what identifies it stays. Without one nothing is written.

        Args:
            entry: the object.
            body: what it should be.
            origin: where the user has written it.
            anyway: write the record even if nothing has changed, because somebody else has written it.
        """
        old, asked = entry.body["metadata"], body["metadata"]
        kept = {name: old[name] for name in _IDENTITY if name in old}
        metadata = {**asked, **kept}
        if _spec(body) != _spec(entry.body) and "generation" in old:
            metadata["generation"] = old["generation"] + 1
        changed = {**body, "metadata": metadata}
        if changed == entry.body and origin == entry.origin and not anyway:
            return entry
        return self._put(Entry(entry.kind, changed, origin), quietly=changed == entry.body)

    def remove(self, entry: Entry, *, though_written: bool) -> None:
        """Takes an object out; `though_written` if the user's document is still there."""
        files = self.status if entry.origin else self.objects
        if entry.origin is not None and though_written:
            metadata = {"name": entry.key.name, "namespace": entry.key.namespace}
            book = {"file": entry.origin.file, "digest": entry.origin.digest, "deleted": True}
            head = {"apiVersion": entry.kind.api_version, "kind": entry.kind.name, "metadata": metadata}
            files.write(entry.kind, entry.key, {**head, _BOOKKEEPING: book})
            self.removed[entry.kind, entry.key] = entry.origin
        else:
            files.remove(entry.kind, entry.key)
        del self._entries[entry.kind][entry.key]
        if entry.kind is SECRET:
            self._secrets.pop(entry.key, None)
        self._tell(entry, is_gone=True)

    def forget_removed(self, place: Place) -> None:
        """The document of a deleted object is gone as well."""
        self.status.remove(*place)
        del self.removed[place]

    def collect(self) -> None:
        """Removes what has owners of which none is there any more."""
        while not self.flaws:
            alive = {entry.uid for entry in self.all(*KEPT_KINDS)}
            orphans = [entry for entry in self.all(*KEPT_KINDS) if _is_orphan(entry, alive)]
            for orphan in orphans:
                self.remove(orphan, though_written=True)
            if not orphans:
                return

    def _put(self, entry: Entry, *, quietly: bool = False) -> Entry:
        known = self.get(entry.kind, entry.key)
        body = dict(entry.body)
        if not quietly:
            body["metadata"] = {**body["metadata"], "resourceVersion": str(self._versions.next())}
        files = self.status if entry.origin else self.objects
        written = files.write(entry.kind, entry.key, _record(Entry(entry.kind, body, entry.origin)))
        if known is not None and known.origin is None and entry.origin is not None:
            self.objects.remove(entry.kind, entry.key)
        kept = Entry(entry.kind, body, entry.origin, written)
        self._entries[entry.kind][entry.key] = kept
        if not quietly:
            self._tell(kept, is_gone=False)
        return kept

    def _tell(self, entry: Entry, *, is_gone: bool) -> None:
        for listener in list(self._listeners):
            listener(entry.kind, deepcopy(dict(entry.body)), is_gone)

    def _load(self) -> None:
        kinds = {kind.plural: kind for kind in KEPT_KINDS}
        for files in (self.objects, self.status):
            for kind, path, found in files.read(kinds):
                if isinstance(found, Flaw):
                    self.flaws.append(found)
                    continue
                try:
                    self._load_one(kind, found, files)
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    name = path.relative_to(files.folder.parent.parent).as_posix()
                    self.flaws.append(
                        Flaw(name, 0, 0, f"it is no record of an object ({error!r}); remove it")
                    )
        versions = [int(entry.version) for entry in self.all(*KEPT_KINDS)]
        self._versions.next(above=max(versions, default=0))

    def _load_one(self, kind: Kind, found: dict[str, Any], files: Files) -> None:
        book = found.pop(_BOOKKEEPING, None)
        metadata = found["metadata"]
        key = object_key(metadata.get("namespace"), metadata.get("name"))
        if book is not None and book.get("deleted"):
            self.removed[kind, key] = Origin(book["file"], book["digest"])
            return
        if not (metadata["uid"] and str(metadata["resourceVersion"]).isdigit()):
            raise ValueError("metadata.uid or metadata.resourceVersion is missing")
        if kind is SECRET:
            self._secrets[key] = metadata
            return
        origin = None if book is None else Origin(book["file"], book["digest"], book.get("overlay") or {})
        known = self.get(kind, key)
        if known is not None and origin is not None:
            self.objects.remove(kind, key)  # the user's file has taken it over, and a crash came in between
        self._entries[kind][key] = Entry(kind, found, origin, signature(files.path(kind, key)))


def _record(entry: Entry) -> dict[str, Any]:
    """What is written of an object; of a Secret nothing but that it is there."""
    origin = entry.origin
    body = {name: entry.body[name] for name in sorted(entry.body, key=_place)}
    if origin is None:
        return body
    if entry.kind is SECRET:
        metadata = {
            name: entry.body["metadata"][name] for name in _IDENTITY if name in entry.body["metadata"]
        }
        head = {name: entry.body[name] for name in ("apiVersion", "kind")}
        return {**head, "metadata": metadata, _BOOKKEEPING: {"file": origin.file, "digest": ""}}
    book = {"file": origin.file, "digest": origin.digest}
    return {**body, _BOOKKEEPING: {**book, **({"overlay": origin.overlay} if origin.overlay else {})}}


def _place(part: str) -> tuple[int, str]:
    """Where people expect a part of an object."""
    known = ("apiVersion", "kind", "metadata", "spec", "status")
    return (known.index(part), "") if part in known else (len(known), part)


def _spec(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("metadata", "status")}


def _is_orphan(entry: Entry, alive: set[str]) -> bool:
    owners = entry.body["metadata"].get("ownerReferences") or ()
    return bool(owners) and not any(owner.get("uid") in alive for owner in owners)
