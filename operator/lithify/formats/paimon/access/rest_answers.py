"""The types that answers of REST catalogs must have about a table; pypaimon checks none. Pure.

Called by `rest_client` before pypaimon reads an answer. Only what is used is checked; other fields are
ignored, as in Java. Snapshots are checked by `metadata.snapshot_files`.
"""

# ruff: noqa: N815  # fields are named as in the answers

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pypaimon.api.api_response import (
    CommitTableResponse,
    GetTableResponse,
    GetTableSnapshotResponse,
    GetTableTokenResponse,
)
from pypaimon.api.rest_exception import RESTException

from lithify.errors import CorruptTable

_LONG = 1 << 63
_Text = Annotated[str, Field(strict=True)]
_Id = Annotated[str, Field(strict=True, min_length=1, max_length=256)]
_Flag = Annotated[bool, Field(strict=True)]
_Long = Annotated[int, Field(strict=True, ge=-_LONG, lt=_LONG)]
_SchemaId = Annotated[int, Field(strict=True, ge=0, lt=1 << 31)]


@dataclass(frozen=True, slots=True)
class _Schema:
    fields: list[Mapping[str, Any]]
    partitionKeys: list[_Text] | None = None
    primaryKeys: list[_Text] | None = None
    options: dict[_Text, _Text] | None = None
    comment: _Text | None = None


@dataclass(frozen=True, slots=True)
class _Table:
    path: _Text
    schemaId: _SchemaId
    schema: _Schema
    id: _Id | None = None
    name: _Text | None = None
    isExternal: _Flag | None = None
    owner: _Text | None = None
    createdAt: _Long | None = None
    createdBy: _Text | None = None
    updatedAt: _Long | None = None
    updatedBy: _Text | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    token: dict[_Text, _Text]
    expiresAtMillis: _Long


@dataclass(frozen=True, slots=True)
class _TableSnapshot:
    snapshot: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _NewestSnapshot:
    snapshot: _TableSnapshot | None = None


@dataclass(frozen=True, slots=True)
class _Commit:
    success: _Flag


_SHAPES: dict[type, TypeAdapter[Any]] = {
    GetTableResponse: TypeAdapter(_Table),
    GetTableTokenResponse: TypeAdapter(_Token),
    GetTableSnapshotResponse: TypeAdapter(_NewestSnapshot),
    CommitTableResponse: TypeAdapter(_Commit),
}
_FIELDS = frozenset(
    each.name for shape in (_Schema, _Table, _Token, _TableSnapshot, _Commit) for each in fields(shape)
)


def check_answer(found: object, response_type: type, url: str) -> None:
    """Checks the types of an answer about a table; the error names the field and never repeats its value.

    Args:
        found: the parsed JSON.
        response_type: what pypaimon takes it for; only answers about one table are checked.
        url: what was requested.

    Raises:
        CorruptTable: a field is missing, of another type, or too large.
        RESTException: the same for a commit, which may have been carried out.
    """
    shape = _SHAPES.get(response_type)
    if shape is None:
        return
    try:
        shape.validate_python(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part in _FIELDS)
        problem = f"{where or 'it'} is not of the required type or size ({first['type']})"
        if response_type is CommitTableResponse:
            raise RESTException(f"its answer to a commit is not valid: {problem}") from None
        raise CorruptTable(url, f"the answer of the catalog's server is not valid: {problem}") from None
