"""Pod templates of a policy: how one is completed by what Lithify needs of its pods.

Pure; used by `pod`. What a pod does, as whom and with how much is ours; all the rest is the template's. Lists
of named things are joined by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lithify.errors import InvalidOption

CONTAINER = "lithify"
"""The name of our container. A template may call one so, to add to it; else its first one is meant."""

Plain = dict[str, Any]

RESTRICTED: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""The security context that the Pod Security Standards' restricted level asks for."""


def template_problem(field: str, template: object) -> str | None:
    """Why a template cannot be used; what it says beyond its shape, the API server judges."""
    try:
        completed(field, template, pod={"metadata": {}, "spec": {}}, container={})
    except InvalidOption as error:
        return str(error)
    return None


def completed(field: str, template: object, *, pod: Mapping[str, Any], container: Mapping[str, Any]) -> Plain:
    """A template with our pod and our container put over it.

    Args:
        field: where the template stands, for messages.
        template: a pod's metadata and spec; None for none.
        pod: our `metadata` and `spec` without containers.
        container: our container without its name.

    Raises:
        InvalidOption: the template has not the shape of one.
    """
    start = _mapping(field, {} if template is None else template)
    spec = dict(_mapping(f"{field}.spec", start.get("spec", {})))
    containers = [
        dict(_mapping(f"{field}.spec.containers", one))
        for one in _sequence(f"{field}.spec.containers", spec.pop("containers", []))
    ]
    ours = next((one for one in containers if one.get("name") == CONTAINER), None)
    if ours is None:
        ours = containers[0] if containers else {}
    others = [one for one in containers if one is not ours]
    metadata = dict(_mapping(f"{field}.metadata", start.get("metadata", {})))
    for name in ("name", "generateName", "namespace", "ownerReferences", "finalizers"):
        metadata.pop(name, None)
    merged = _merged(f"{field}.spec", spec, pod["spec"])
    container = {"name": CONTAINER, **container}
    merged["containers"] = [_merged(f"{field}.spec.containers", ours, container), *others]
    return {"metadata": _merged(f"{field}.metadata", metadata, pod["metadata"]), "spec": merged}


def _merged(path: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Plain:
    """Ours over theirs: mappings are merged, lists of named things joined, anything else replaced."""
    result = dict(theirs)
    for name, value in ours.items():
        place, found = f"{path}.{name}", result.get(name)
        if found is None:
            result[name] = value
        elif isinstance(value, Mapping):
            result[name] = _merged(place, _mapping(place, found), value)
        elif _is_named(value):
            result[name] = _joined(_sequence(place, found), value)
        else:
            result[name] = value
    return result


def _is_named(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(one, Mapping) and "name" in one for one in value)


def _joined(theirs: Sequence[object], ours: Sequence[Mapping[str, Any]]) -> list[object]:
    names = {one["name"] for one in ours}
    kept = [one for one in theirs if not (isinstance(one, Mapping) and one.get("name") in names)]
    return [*kept, *ours]


def _mapping(path: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidOption(path, "it is not a mapping, so this is no pod template")
    return value


def _sequence(path: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise InvalidOption(path, "it is not a list, so this is no pod template")
    return value
