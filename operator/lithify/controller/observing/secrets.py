"""Keeps credentials out of what workers say: libraries put all kinds of things into their messages. Pure."""

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


def _clean(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return hidden(value, secrets)
    if isinstance(value, tuple):
        return tuple(_clean(each, secrets) for each in value)
    return value
