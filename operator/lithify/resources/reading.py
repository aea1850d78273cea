"""Parses an object of one of our kinds, or says why it cannot be read.

Called by the controller for every object that it did not just write. The API server has validated objects,
but possibly against an older or newer definition than this release's. So any part of an object can be wrong,
which must not affect others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from lithify.errors import InvalidResource
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction
from lithify.resources.modelling import read
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, POLICY, ResourceKind
from lithify.resources.policy import CompactionPolicy
from lithify.resources.table import LakeTable

MODELS: Mapping[str, type[Any]] = {
    CATALOG.name: Catalog,
    LAKE_TABLE.name: LakeTable,
    POLICY.name: CompactionPolicy,
    COMPACTION.name: Compaction,
}
_MOST_PROBLEMS = 5


def read_object(kind: ResourceKind, body: Mapping[str, Any]) -> Any:
    """Parses an object into the model of its kind.

    Raises:
        InvalidResource: it cannot be read, for any reason. The message quotes no values.
    """
    try:
        return read(MODELS[kind.name], body)
    except ValidationError as error:
        raise InvalidResource(kind.name, _name(body), _problems(error)) from None
    except Exception as error:  # any error concerns only this object
        raise InvalidResource(kind.name, _name(body), (("", type(error).__name__),)) from error


def _name(body: Mapping[str, Any]) -> str:
    try:
        return str(body["metadata"]["name"])
    except (KeyError, TypeError):
        return "without a name"


def _problems(error: ValidationError) -> tuple[tuple[str, str], ...]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    said = [(".".join(map(str, one["loc"])), one["msg"]) for one in found[:_MOST_PROBLEMS]]
    more = len(found) - len(said)
    return (*said, *([("", f"and {more} more problems")] if more else []))
