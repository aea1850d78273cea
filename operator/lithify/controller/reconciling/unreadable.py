"""Unreadable objects: the parts of them that are known. Pure.

Made by `intake`, stored apart from the readable objects, reported to their owners by `reporting`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from lithify.errors import InvalidResource
from lithify.resources.modelling import read
from lithify.resources.objects import READY, UNREADABLE, Metadata, shortened

_KNOWN_BY = ("name", "namespace", "uid", "generation", "resourceVersion")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that cannot be read.

    Attributes:
        metadata: what identifies it.
        problem: why it cannot be read.
        status_fields: the status fields that the problem concerns.
        is_said: whether its status already reports the problem.
    """

    metadata: Metadata
    problem: str
    status_fields: tuple[str, ...]
    is_said: bool


def unreadable(body: Mapping[str, Any], error: InvalidResource) -> Unreadable | None:
    """The known parts of an unreadable object; None if it cannot even be identified."""
    try:
        found = body["metadata"]
        metadata = read(Metadata, {name: found[name] for name in _KNOWN_BY if name in found})
    except (KeyError, TypeError, ValidationError):
        return None
    text = shortened(_said(error))
    paths = [path.split(".") for path in error.fields]
    status_fields = tuple(sorted({path[1] for path in paths if path[0] == "status" and len(path) > 1}))
    return Unreadable(metadata, text, status_fields, _is_said(body, metadata.generation, text))


def _said(error: InvalidResource) -> str:
    """The problems without the object's name, which every report shows next to them."""
    said = [f"{path}: {message}" if path else message for path, message in error.problems]
    return f"it cannot be read: {'; '.join(said)}; change it, or use an operator of its release"


def _is_said(body: Mapping[str, Any], generation: int, problem: str) -> bool:
    try:
        conditions = body["status"]["conditions"]
        ready: Mapping[str, Any] = next((one for one in conditions if one["type"] == READY), {})
        said = (ready.get("reason"), ready.get("message"), ready.get("observedGeneration"))
    except (KeyError, TypeError, AttributeError):
        return False
    return said == (UNREADABLE, problem, generation)
