"""Identifies the operator's own pods, and reads fields of pods that others may have written.

Pure; used by `kubernetes` and `pod_state`. A name proves nothing, since any user may have created a pod of
that name: a driver's pod is one whose label and owner references name its Compactions. Any other pod under a
driver's name is never read, deleted or taken for a driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lithify.controller.deciding.names import label_value
from lithify.resources.names import COMPACTION, GROUP, LABEL_COMPACTION, ObjectKey

Fields = Mapping[str, Any]


def compaction_of(pod: Fields) -> ObjectKey | None:
    """The Compaction that a pod is the driver of; None if it is no driver."""
    owner, metadata = owner_of(pod), metadata_of(pod)
    if owner is None or not text_in(metadata, "uid"):
        return None
    name = text_in(owner, "name")
    is_labelled = text_in(mapping_in(metadata, "labels"), LABEL_COMPACTION) == label_value(name)
    return ObjectKey(text_in(metadata, "namespace"), name) if name and is_labelled else None


def owner_of(pod: Fields) -> Fields | None:
    """The reference to the Compaction that a pod belongs to."""
    owners = mappings_in(metadata_of(pod), "ownerReferences")
    return next((one for one in owners if _is_to_compaction(one)), None)


def owners_of(pod: Fields) -> list[Fields] | None:
    """The references to Compactions that own a pod together; None if another object owns it, or controls it.

    Owners that are gone are not among them: the garbage collector removes their references.
    """
    owners = mappings_in(metadata_of(pod), "ownerReferences")
    is_theirs = all(_is_of_compaction(one) and one.get("controller") is not True for one in owners)
    return owners if owners and is_theirs else None


def is_owned_by(pod: Fields, uid: str) -> bool:
    """Whether a pod belongs to an object, as executors belong to their driver's pod."""
    return bool(uid) and any(
        one.get("uid") == uid for one in mappings_in(metadata_of(pod), "ownerReferences")
    )


def metadata_of(pod: Fields) -> Fields:
    """The metadata of a pod."""
    return mapping_in(pod, "metadata")


def mapping_in(found: Fields, name: str) -> Fields:
    """The mapping in a field, empty if there is none."""
    value = found.get(name)
    return value if isinstance(value, Mapping) else {}


def mappings_in(found: Fields, name: str) -> list[Fields]:
    """The mappings of the list in a field, empty if there is none."""
    value = found.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_in(found: Fields, name: str) -> str:
    """The text in a field, empty if there is none."""
    value = found.get(name)
    return value if isinstance(value, str) else ""


def texts_in(found: Fields, name: str) -> list[str]:
    """The texts of the list in a field, empty if there is none."""
    value = found.get(name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _is_to_compaction(owner: Fields) -> bool:
    return owner.get("controller") is True and _is_of_compaction(owner)


def _is_of_compaction(owner: Fields) -> bool:
    is_of_group = text_in(owner, "apiVersion").partition("/")[0] == GROUP
    return is_of_group and owner.get("kind") == COMPACTION.name and bool(text_in(owner, "uid"))
