"""Takes in what people change in a folder: their own files, and the operator's objects where they edit those.

Called by `folder` at each look. What cannot be used changes nothing: the last good version stays, and a flaw
says what is wrong.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from lithify.controller.cluster.documents import Document, Flaw
from lithify.controller.cluster.keeping import Entry, Keeper, Origin, Place
from lithify.controller.cluster.merge_patch import merge
from lithify.controller.cluster.sources import Signature, Sources, signature
from lithify.errors import LithifyError
from lithify.resources.names import OWN_KINDS, SECRET, Kind

Validate = Callable[[Kind, Mapping[str, Any], Mapping[str, Any] | None], dict[str, Any]]
"""An object with its defaults, as `resources.validating.validated`: the kind, the object, what it was before.

Raises a `LithifyError` if the API server would refuse it.
"""


@dataclass(slots=True)
class Importer:
    """Brings the kept objects up to date with the files.

    Attributes:
        sources: the user's files.
        keeper: the kept objects.
        validate: defaults and rules of a kind.
    """

    sources: Sources
    keeper: Keeper
    validate: Validate
    _applied: dict[Place, Document] = field(default_factory=dict)
    _refused: dict[Place, Flaw] = field(default_factory=dict)
    _repeated: list[Flaw] = field(default_factory=list)
    _edited: dict[Place, Signature | None] = field(default_factory=dict)
    _spoilt: dict[Place, Flaw] = field(default_factory=dict)

    @property
    def flaws(self) -> list[Flaw]:
        """What is wrong in the folder now."""
        found = [*self.sources.flaws, *self._repeated, *self._refused.values(), *self._spoilt.values()]
        return sorted([*found, *self.keeper.flaws], key=lambda flaw: (flaw.file, flaw.document))

    def look(self) -> None:
        """Looks at all files once.

        Raises:
            ClusterUnavailable: a record cannot be written; the next look does what is left.
        """
        self.sources.look()
        documents = self._documents()
        for place, document in documents.items():
            if self._applied.get(place) is not document:
                self._apply(place, document)
        if self.sources.is_settled:
            self._remove_missing(documents)
        self._look_at_objects()
        self.keeper.collect()

    def _documents(self) -> dict[Place, Document]:
        """The documents by what they are; of two that are the same object, the first counts."""
        found: dict[Place, Document] = {}
        self._repeated = []
        for document in self.sources.documents:
            first = found.setdefault((document.kind, document.key), document)
            if first is not document:
                where = f"{first.file} (document {first.number})"
                message = f"{document.kind.name} {document.key} stands in {where} already; that one counts"
                self._repeated.append(document.flaw(message))
        return found

    def _apply(self, place: Place, document: Document) -> None:
        """Makes the object what its document says."""
        entry, digest = self.keeper.get(*place), _digest(document.body)
        removed = self.keeper.removed.get(place)
        if entry is None and removed is not None and removed.digest == digest:
            self._settle(place, document)
            return
        overlay = _overlay(entry, digest)
        try:
            body = self._effective(document, overlay, entry)
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns one document
            self._refused[place] = document.flaw(_said(error))
            self._applied[place] = document
            return
        origin = Origin(document.file, digest, overlay)
        if entry is None:
            self.keeper.make(document.kind, body, origin)
        else:
            self.keeper.change(entry, body, origin)
        self._settle(place, document)

    def _settle(self, place: Place, document: Document) -> None:
        self._applied[place] = document
        self._refused.pop(place, None)

    def _effective(
        self, document: Document, overlay: Mapping[str, Any], entry: Entry | None
    ) -> dict[str, Any]:
        """The object that a document and what the API has changed since make together."""
        body: dict[str, Any] = merge(document.body, overlay)
        if document.kind is SECRET:
            return _secret(body)
        if entry is not None and "status" in entry.body:
            body["status"] = entry.body["status"]
        return self.validate(document.kind, body, None if entry is None else entry.body)

    def _remove_missing(self, documents: Mapping[Place, Document]) -> None:
        """Removes the objects whose documents are gone; a file that is flawed may still hold them."""
        for entry in list(self.keeper.all(*OWN_KINDS, SECRET)):
            place = (entry.kind, entry.key)
            if entry.origin is None or place in documents or self.sources.is_flawed(entry.origin.file):
                continue
            self.keeper.remove(entry, though_written=False)
        for place, origin in list(self.keeper.removed.items()):
            if place not in documents and not self.sources.is_flawed(origin.file):
                self.keeper.forget_removed(place)
        for place in [place for place in self._applied if place not in documents]:
            del self._applied[place]
            self._refused.pop(place, None)

    def _look_at_objects(self) -> None:
        """Takes in what people have changed in the operator's own objects, once it is saved."""
        before, self._edited = self._edited, {}
        for entry in list(self.keeper.all(*OWN_KINDS)):
            place = (entry.kind, entry.key)
            if entry.origin is not None:
                continue
            found = signature(self.keeper.objects.path(*place))
            if found == entry.written:
                self._spoilt.pop(place, None)
                continue
            self._edited[place] = found
            is_saved = place in before and before[place] == found
            if is_saved and found is None:
                self.keeper.remove(entry, though_written=False)
            elif is_saved:
                self._take_edit(entry, place)

    def is_edited(self, entry: Entry) -> bool:
        """Whether somebody has changed the record of an object, and the change is still to be taken in."""
        place = (entry.kind, entry.key)
        is_watched = entry.origin is None and entry.kind in OWN_KINDS and place not in self._spoilt
        return is_watched and signature(self.keeper.objects.path(*place)) != entry.written

    def _take_edit(self, entry: Entry, place: Place) -> None:
        """What people may change: what is neither status nor identity."""
        path = self.keeper.objects.path(*place)
        found = self.keeper.objects.read_one(path)
        if isinstance(found, Flaw):
            self._spoilt[place] = found
            return
        try:
            kept = {"status": entry.body["status"]} if "status" in entry.body else {}
            metadata = {**entry.body["metadata"], **_user_part(found["metadata"])}
            rest = {name: value for name, value in found.items() if name not in ("metadata", "status")}
            body = self.validate(entry.kind, {**rest, **kept, "metadata": metadata}, entry.body)
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns one record
            name = path.relative_to(self.sources.folder).as_posix()
            self._spoilt[place] = Flaw(name, 1, 1, _said(error))
            return
        self._spoilt.pop(place, None)
        self.keeper.change(entry, body, None, anyway=True)


def _overlay(entry: Entry | None, digest: str) -> dict[str, Any]:
    """What stays of the changes that were made through the API when the document is read anew."""
    if entry is None:
        return {}
    if entry.origin is None:
        # The operator made it and the user takes it over: what ties it to others stays.
        ties = {name: entry.body["metadata"].get(name) for name in ("labels", "ownerReferences")}
        return {"metadata": {name: value for name, value in ties.items() if value}}
    overlay = dict(entry.origin.overlay)
    if entry.origin.digest != digest:
        overlay.pop("spec", None)  # the user's word is the last one
    return overlay


def _said(error: Exception) -> str:
    """Why an object cannot be used; of an error that nobody expected, which one it is.

    Raises:
        ImportError: the installation lacks a library, which is no object's fault.
    """
    if isinstance(error, ImportError):
        raise error
    return str(error) if isinstance(error, LithifyError) else f"it cannot be used ({error!r})"


def _user_part(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: metadata.get(name) or {} for name in ("labels", "annotations")}


def _digest(body: Mapping[str, Any]) -> str:
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _secret(body: dict[str, Any]) -> dict[str, Any]:
    """A Secret as the API server keeps it: `stringData` goes into `data`."""
    texts = body.pop("stringData", None) or {}
    encoded = {name: b64encode(str(text).encode()).decode() for name, text in texts.items()}
    return {**body, "data": {**(body.get("data") or {}), **encoded}}
