"""The text of a journal; refuses everything that `journal` does not write.

Called by `journal`. Pure. Anyone who may write to a table's folder can put a journal there, and journals
decide what is deleted. So they contain little: what belongs to the attempt (its prefix, in a fixed form) and
its scope, which the adapter's `ScopeFormat` parses by the readers of fields below.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from lithify.engine.attempts.attempt import Attempt, Scope, ScopeFormat
from lithify.engine.attempts.names import is_prefix, is_run_id, parse_committed_name
from lithify.io.file_names import shown

Value = TypeVar("Value")

MOST_CHARACTERS = 256 << 20
"""Characters of a journal: two million inputs."""
_CHARACTERS_AN_OBJECT = 8
"""Minimum of characters per JSON object; a real journal has many times as many on average."""
_FREE_OBJECTS = 1000
_MOST_ATTEMPTS = 999_999_999
_OWN = frozenset({"run", "number", "prefix", "started", "condemned"})


def to_json(attempt: Attempt[Scope], scopes: ScopeFormat[Scope]) -> str:
    """The text of a journal."""
    own = {"run": attempt.run, "number": attempt.number, "prefix": attempt.prefix}
    times = {"started": attempt.started, "condemned": attempt.condemned}
    return json.dumps({**own, **times, **scopes.to_json(attempt.scope)}, indent=1)


def parse_journal(text: str, name: str, scopes: ScopeFormat[Scope]) -> Attempt[Scope]:
    """Parses a journal.

    Args:
        text: text of the file.
        name: name of the file, which identifies the attempt.
        scopes: parses what the attempt works on.

    Raises:
        ValueError: it is not a journal, or that of another attempt.
    """
    attempt = _attempt(_object(text), scopes)
    if name.partition(".")[0] != attempt.stem:
        raise ValueError(f"it is the journal of {attempt.stem}")
    committed = parse_committed_name(name)
    if committed is not None and committed.prefix != attempt.prefix:
        raise ValueError("its name has another prefix than its text")
    return attempt


def _object(text: str) -> Mapping[str, Any]:
    """Parses JSON, with an object limit derived from the text's size: objects take much more memory."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters")
    objects = text.count("{") + text.count("[")
    if objects > _FREE_OBJECTS + len(text) // _CHARACTERS_AN_OBJECT:
        raise ValueError(f"it has {objects:,} lists and objects in {len(text):,} characters")
    try:
        found = json.loads(text, parse_constant=_refuse, parse_float=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    return value_of(dict, found, "it")


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{shown(text)} is no number of a journal")


def _attempt(found: Mapping[str, Any], scopes: ScopeFormat[Scope]) -> Attempt[Scope]:
    check_fields(found, _OWN | scopes.fields)
    condemned = found.get("condemned")
    return Attempt(
        run=text_in(found, "run", is_run_id),
        number=number_in(found, "number", 1, _MOST_ATTEMPTS),
        prefix=text_in(found, "prefix", is_prefix),
        started=text_in(found, "started", _is_moment),
        scope=scopes.parse(found),
        condemned=None if condemned is None else text_in(found, "condemned", _is_moment),
    )


def check_fields(found: Mapping[str, Any], known: Collection[str]) -> None:
    """Checks that an object has known fields only: an unknown one may matter to the release that wrote it.

    Raises:
        ValueError: it has another field.
    """
    unknown = found.keys() - known
    if unknown:
        raise ValueError(f"{shown(min(unknown))} is no field of a journal")


def value_of(kind: type[Value], value: object, name: str) -> Value:
    """A value of a type; `name` names it in errors.

    Raises:
        ValueError: it has another type.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} is no {kind.__name__}")  # noqa: TRY004  # of the file, not of an argument
    return value


def text_in(found: Mapping[str, Any], name: str, is_right: Callable[[str], bool]) -> str:
    """A text in an object.

    Raises:
        ValueError: it is missing or not right.
    """
    value = found.get(name)
    if not isinstance(value, str) or not is_right(value):
        raise ValueError(f"{name} is {shown(value)}")
    return value


def number_in(found: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """A whole number in an object, within bounds.

    Raises:
        ValueError: it is missing or not within them.
    """
    value = found.get(name)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is no number from {low} to {high}")
    return value


def _is_moment(text: str) -> bool:
    """Whether it is a time with a zone, within a range in which times can be compared."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return moment.tzinfo is not None and 1970 < moment.year < 9000
