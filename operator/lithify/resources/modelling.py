"""How a custom resource is modelled: a frozen dataclass for each part, a `field` for each property.

Used by the modules of this package only. The dataclasses are pydantic's, which parses objects of the API
server into them, serializes them, and gives the JSON schema that `crd` turns into a structural one.
Constraints that a schema cannot express are a `Rule` beside the class, in the Common Expression Language of
Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass as pydantic_dataclass

Part = TypeVar("Part")

RULES = "x-kubernetes-validations"
NAME_LENGTH = 253
"""Maximum length of an object's name in Kubernetes."""
OWN_NAME_LENGTH = 200
"""Maximum length of our objects' names, which leaves room for the names of events about them."""
MESSAGE_LENGTH = 1024
"""Maximum length of a condition's message that we write; the API conventions allow more than people read."""
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2999, 12, 31, tzinfo=UTC)


def _bounded(moment: datetime) -> datetime:
    return min(max(moment, _EARLIEST), _LATEST)


Time = Annotated[datetime, AfterValidator(_bounded)]
"""A time to which any interval can be added: users who may write a status can store the year 9999."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A validation rule: an expression that must hold, and the message for people if it does not."""

    expression: str
    message: str
    field_path: str | None = None

    def as_schema(self) -> dict[str, str]:
        """The rule in a schema's form."""
        path = {} if self.field_path is None else {"fieldPath": self.field_path}
        return {"rule": self.expression, "message": self.message, **path}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field,))
def part(*rules: Rule) -> Callable[[type[Part]], type[Part]]:
    """Makes a class a part of a resource: frozen, slotted, camelCase when serialized.

    Unknown fields are dropped, as the API server drops them, so that an older operator reads newer objects.
    """
    extra: dict[str, Any] = {RULES: [rule.as_schema() for rule in rules]} if rules else {}
    config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", json_schema_extra=extra or None
    )

    def decorate(kind: type[Part]) -> type[Part]:
        made: Any = pydantic_dataclass(frozen=True, slots=True, kw_only=True, config=config)(kind)
        return cast(type[Part], made)

    return decorate


def rules(*found: Rule) -> dict[str, Any]:
    """Rules of a single field, to be passed to `Field(json_schema_extra=...)`."""
    return {RULES: [rule.as_schema() for rule in found]}


def matching(pattern: str, message: str, *others: Rule, **bounds: Any) -> Any:
    """A field whose text must match a pattern, with a message that tells people what to write instead.

    In a CRD the pattern becomes a rule: for a plain pattern an API server only says that a text should match
    it.
    """
    quoted = pattern.replace("\\", "\\\\").replace("'", "\\'")
    form = Rule(f"self.matches('{quoted}')", message)
    return Field(pattern=pattern, json_schema_extra=rules(form, *others), **bounds)


def name_rule(kind: str, most: int) -> Rule:
    """The rule that limits names of a kind, so that names derived from them stay valid."""
    return Rule(
        f"self.metadata.name.size() <= {most}",
        f"the name of a {kind} has at most {most} characters",
        ".metadata.name",
    )


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read(kind: type[Part], value: object) -> Part:
    """Parses a part from plain data.

    Raises:
        pydantic.ValidationError: it is invalid; the API server would have refused it.
    """
    found: Part = _adapter(cast("Hashable", kind)).validate_python(value)
    return found


def read_text(kind: type[Part], text: str) -> Part:
    """Parses a part from JSON of an untrusted source.

    Nothing is converted: a number in quotes is not a number. Deep nesting, NaN, infinities and lone
    surrogates are refused. The caller bounds the length.

    Raises:
        pydantic.ValidationError: it is invalid.
    """
    found: Part = _adapter(cast("Hashable", kind)).validate_json(
        text.encode("utf-8", "surrogatepass"), strict=True
    )
    return found


def plain(value: object) -> dict[str, Any]:
    """A part as plain data for JSON: camelCase, without unset fields, times in RFC 3339."""
    adapter = _adapter(cast("Hashable", type(value)))
    found: dict[str, Any] = adapter.dump_python(value, mode="json", by_alias=True, exclude_none=True)
    return found


def json_schema(kind: type[Any]) -> dict[str, Any]:
    """The JSON schema of a part, with references; callers share it, and do not change it."""
    return _json_schema(cast("Hashable", kind))


@cache
def _json_schema(kind: Hashable) -> dict[str, Any]:
    return _adapter(kind).json_schema(by_alias=True, mode="validation")
