"""Replies of workers as JSON of known shapes, checked and bounded before the operator trusts them.

Written in a worker, read by `process`. A worker reads untrusted tables and catalogs. If one takes it over, it
can send wrong figures, but no code, no unknown types, and no more data than the limits allow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from lithify import errors
from lithify.controller.observing.request import TableList
from lithify.controller.observing.wire import MOST_REPLY, MOST_TEXT, Reply
from lithify.errors import LithifyError
from lithify.formats.declared import check_blocks
from lithify.formats.protocol.model import is_snapshot_id
from lithify.formats.protocol.observation import Observation, PlanFound, RunFound

_MOST_INTEGER = 1 << 63
_SHAPES: dict[str, type[Any]] = {
    "observation": Observation,
    "plan": PlanFound,
    "run": RunFound,
    "tables": TableList,
}
_KNOWN = {
    name: found
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, LithifyError)
}


def write_reply(reply: Reply) -> bytes:
    """A reply as JSON; one that is too long becomes an error that says so."""
    value = None if reply.value is None else _plain(asdict(reply.value))
    shape = next((name for name, kind in _SHAPES.items() if isinstance(reply.value, kind)), None)
    error = None if reply.error is None else _of_error(reply.error)
    found = {"shape": shape, "value": value, "error": error, "resident_bytes": reply.resident_bytes}
    data = json.dumps(found, separators=(",", ":"), allow_nan=False).encode()
    if len(data) <= MOST_REPLY:
        return data
    problem = f"the answer has {len(data)} bytes, more than the limit of {MOST_REPLY}"
    return write_reply(Reply(error=LithifyError(problem), resident_bytes=reply.resident_bytes))


def check_value(reply: Reply) -> None:
    """Checks a reply in the worker as the operator will, which can only discard the worker.

    Raises:
        ValueError: it has a value that the operator refuses.
    """
    if reply.value is not None:
        read_reply(write_reply(reply))


def read_reply(data: bytes) -> Reply:
    """Parses a reply.

    Raises:
        ValueError: the bytes are no valid reply.
    """
    try:
        found = json.loads(data)
        _check(found)
        shape, error = found["shape"], found["error"]
        value = None if shape is None else _adapter(shape).validate_python(found["value"])
        _check_snapshots(value)
        if isinstance(value, Observation):
            check_blocks(value.blocks)
        resident = int(found["resident_bytes"])
        return Reply(value, None if error is None else _to_error(error), resident)
    except (KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise ValueError(f"not a reply: {type(problem).__name__}") from problem


@cache
def _adapter(shape: str) -> TypeAdapter[Any]:
    return TypeAdapter(_SHAPES[shape])


def _of_error(error: LithifyError) -> dict[str, Any]:
    """An error by its class, or by the nearest class that can be sent."""
    kind = next(kind for kind in type(error).__mro__ if _KNOWN.get(kind.__name__) is kind)
    return {"kind": kind.__name__, "message": _plain(str(error)), "fields": _plain(error.__dict__)}


def _to_error(found: dict[str, Any]) -> LithifyError:
    kind = _KNOWN[found["kind"]]
    message = found["message"]
    if not isinstance(message, str):
        raise TypeError(type(message).__name__)
    fields = {name: _tupled(value) for name, value in found["fields"].items() if not hasattr(kind, name)}
    return errors.restored(kind, (message,), fields)


def _plain(value: Any) -> Any:
    """Plain data whose texts are bounded and can be encoded."""
    if isinstance(value, str):
        return value[:MOST_TEXT].encode("utf-8", "backslashreplace").decode()[:MOST_TEXT]
    if isinstance(value, dict):
        return {_plain(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float) else str(value)[:MOST_TEXT]


def _tupled(value: Any) -> Any:
    return tuple(_tupled(entry) for entry in value) if isinstance(value, list) else value


def _check(value: Any) -> None:
    """Refuses texts and numbers beyond those of any table."""
    for each in _leaves(value):
        if isinstance(each, str) and (len(each) > MOST_TEXT or (not each.isascii() and not _encodes(each))):
            raise ValueError("a text is too long, or no text")
        if isinstance(each, int) and abs(each) >= _MOST_INTEGER:
            raise ValueError("a number is too large")


def _check_snapshots(value: Observation | PlanFound | RunFound | TableList | None) -> None:
    """Refuses snapshot ids that a status cannot hold."""
    names = [getattr(value, name, None) for name in ("snapshot", "base")]
    names.extend(getattr(value, "rolled_back", ()))
    if not all(name is None or is_snapshot_id(name) for name in names):
        raise ValueError("not the id of a snapshot")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, entry in value.items():
            yield name
            yield from _leaves(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _leaves(entry)
    else:
        yield value
