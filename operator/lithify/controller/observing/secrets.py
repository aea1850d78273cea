"""Removes credentials from, and bounds, the texts of workers: messages may quote anything. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lithify.controller.observing.request import TableTarget
from lithify.controller.observing.wire import MOST_TEXT
from lithify.errors import LithifyError
from lithify.plain_text import cut
from lithify.redaction import Redactor, is_telling, names_of

_MOST_ENTRIES = 1000
_SHORTEST = 4
"""Shorter values do not count as secrets: they would occur in many words."""

_IN_VALUE = (
    re.compile(r"(?:password|pwd|secret|token|sig|signature)=([^&;\s]+)", re.I),
    re.compile(r"//[^/:@\s]*:([^/@\s]+)@"),
)


def secrets_in(options: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the catalog options' values that must stay secret, the longest first."""
    found = {value for name, value in options.items() if is_telling(name)}
    for value in options.values():
        for pattern in _IN_VALUE:
            found.update(pattern.findall(value))
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST), key=len, reverse=True))


def redactor_of(target: TableTarget) -> Redactor:
    """Returns a redactor of a catalog's credentials. Make it only for a text to redact: it takes a while."""
    ordinary = (target.warehouse, target.catalog_options.get("metastore", ""))
    return Redactor(secrets_in(target.catalog_options), ordinary)


def without_secrets(error: LithifyError, target: TableTarget) -> LithifyError:
    """Returns the same error without credentials of the table's catalog in its message or fields.

    Its texts are bounded, too: a library may quote a whole response of a server. Tracebacks are removed: they
    would keep the data that was read in memory until the next answer.
    """
    error.__cause__ = error.__context__ = error.__traceback__ = None
    redactor = redactor_of(target)
    own = own_texts(target)
    error.args = _clean(error.args, redactor, own)
    error.__dict__.update({name: _clean(value, redactor, own) for name, value in error.__dict__.items()})
    return error


def own_texts(target: TableTarget) -> tuple[str, ...]:
    """Texts written by the user who registered the table: shown unchanged, see `Redactor.redact`."""
    return (*names_of(target.identifier), *target.overrides, *target.overrides.values())


def _clean(value: Any, redactor: Redactor, own: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        text = redactor.redact(value, lambda: own)
        return cut(text, MOST_TEXT)
    if isinstance(value, tuple):
        return tuple(_clean(each, redactor, own) for each in value[:_MOST_ENTRIES])
    return value
