"""Completes a policy's pod template with what Lithify needs in its pods.

Pure; used by `pod` and `spark_conf`. Lithify sets a pod's command, account and resources, and refuses a
template that sets them; the rest is the template's. Lists of named items are joined by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lithify.controller.launching.isolation import Bounds, refusals
from lithify.errors import InvalidOption
from lithify.resources.pod_template.misfits import misfits

CONTAINER = "lithify"
"""The name of our container. A template may use it to add to it; otherwise its first container is ours."""

Plain = dict[str, Any]

RESTRICTED: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""The security context that the Pod Security Standards' restricted level requires, and more."""


def template_problem(field: str, template: object, bounds: Bounds) -> str | None:
    """Why a template cannot be used; the API server checks the rest."""
    try:
        check(field, template, bounds)
    except InvalidOption as error:
        return str(error)
    return None


def check(field: str, template: object, bounds: Bounds) -> None:
    """Checks that a template fits its schema and holds nothing forbidden.

    The API server has validated it, unless it was stored under an older schema.

    Raises:
        InvalidOption: it does not; the option is the field.
    """
    if template is None:
        return
    for path, why in misfits(template):
        raise InvalidOption(f"{field}.{path}".removesuffix("."), why)
    found = _mapping(field, template)
    ours, _ = _containers(field, found.get("spec", {}))
    for path, why in refusals(found, ours, bounds):
        raise InvalidOption(f"{field}.{path}", why)


def completed(
    field: str,
    template: object,
    *,
    pod: Mapping[str, Any],
    container: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
) -> Plain:
    """Merges our pod and our container into a template.

    Args:
        field: where the template is, for messages.
        template: a pod's metadata and spec; None for none.
        pod: our `metadata` and `spec` without containers.
        container: our container without its name.
        defaults: `spec` and `container`, which the template overrides.

    Raises:
        InvalidOption: the template's shape is invalid.
    """
    start = _mapping(field, {} if template is None else template)
    spec = dict(_mapping(f"{field}.spec", start.get("spec", {})))
    ours, others = _containers(field, spec)
    spec.pop("containers", None)
    spec = _merged(f"{field}.spec", (defaults or {}).get("spec", {}), spec)
    ours = _merged(f"{field}.spec.containers", (defaults or {}).get("container", {}), ours)
    metadata = dict(_mapping(f"{field}.metadata", start.get("metadata", {})))
    merged = _merged(f"{field}.spec", spec, pod["spec"])
    container = {"name": CONTAINER, **container}
    merged["containers"] = [_merged(f"{field}.spec.containers", ours, container), *others]
    return {"metadata": _merged(f"{field}.metadata", metadata, pod["metadata"]), "spec": merged}


def _containers(field: str, spec: object) -> tuple[Plain, list[Plain]]:
    """The container of a template that becomes ours, and the others."""
    path = f"{field}.spec.containers"
    found = _mapping(f"{field}.spec", spec).get("containers", [])
    containers = [dict(_mapping(path, one)) for one in _sequence(path, found)]
    ours = next((one for one in containers if one.get("name") == CONTAINER), None)
    if ours is None:
        ours = containers[0] if containers else {}
    return ours, [one for one in containers if one is not ours]


def _merged(path: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Plain:
    """Merges ours into theirs: mappings are merged, lists of named items joined, anything else replaced."""
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
        raise InvalidOption(path, "it must be a mapping")
    return value


def _sequence(path: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise InvalidOption(path, "it must be a list")
    return value
