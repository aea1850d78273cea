"""Keeps credentials, and texts without end, out of what workers say: messages quote anything. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lithify.errors import LithifyError

_SECRET_OPTION = re.compile(
    r"secret|password|token|credential|signature|access.?key|(?:^|\.)(?:ak|sk|sas)(?:$|\.)", re.I
)
_IN_VALUE = (
    re.compile(r"(?:password|pwd|secret|token|sig|signature)=([^&;\s]+)", re.I),
    re.compile(r"//[^/:@\s]*:([^/@\s]+)@"),
)
_HIDDEN = "***"
_LONGEST, _MOST_PARTS = 8192, 100
"""Characters of a text, and parts of a list, that an error may have."""
_SHORTEST = 4
"""What is shorter is no secret, and would be found in every other word."""


def secrets_in(options: Mapping[str, str]) -> tuple[str, ...]:
    """What among catalog options nobody may see, the longest first."""
    found = {value for name, value in options.items() if _SECRET_OPTION.search(name)}
    for value in options.values():
        for pattern in _IN_VALUE:
            found.update(pattern.findall(value))
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST), key=len, reverse=True))


def hidden(text: str, secrets: Iterable[str]) -> str:
    """A text without secrets."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text


def without_secrets(error: LithifyError, secrets: tuple[str, ...]) -> LithifyError:
    """The same error, with no secret in its message or fields."""
    error.args = _clean(error.args, secrets)
    error.__dict__.update({name: _clean(value, secrets) for name, value in error.__dict__.items()})
    return error


def shortened(error: LithifyError) -> LithifyError:
    """The same error, with no more in its message and fields than people read.

    Messages quote tables, which may have names of megabytes; the operator's own process has to hold them. The
    frames that it comes from go, too: they would keep whatever was read there until the next answer.
    """
    error.__cause__ = error.__context__ = error.__traceback__ = None
    error.args = _cut(error.args)
    error.__dict__.update({name: _cut(value) for name, value in error.__dict__.items()})
    return error


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[: _LONGEST // 2]} ... {value[-_LONGEST // 2 :]}"
    if isinstance(value, tuple):
        return tuple(map(_cut, value[:_MOST_PARTS]))
    return value


def _clean(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return hidden(value, secrets)
    if isinstance(value, tuple):
        return tuple(_clean(each, secrets) for each in value)
    return value
