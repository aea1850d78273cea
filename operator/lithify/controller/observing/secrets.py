"""Removes credentials from, and bounds, the texts of workers: messages may quote anything. Pure."""

from __future__ import annotations

from typing import Any

from lithify.controller.observing.wire import MOST_TEXT
from lithify.errors import LithifyError
from lithify.formats.protocol.address import TableAddress
from lithify.plain_text import cut
from lithify.redaction import Redactor, credentials_in, names_of

_MOST_ENTRIES = 1000


def redactor_of(address: TableAddress) -> Redactor:
    """Returns a redactor of a catalog's credentials. Make it only for a text to redact: it takes a while."""
    ordinary = (address.warehouse, address.catalog_options.get("metastore", ""))
    return Redactor(credentials_in(address.catalog_options), ordinary)


def without_secrets(error: LithifyError, address: TableAddress) -> LithifyError:
    """Returns the same error without credentials of the table's catalog in its message or fields.

    Its texts are bounded, too: a library may quote a whole response of a server. Tracebacks are removed: they
    would keep the data that was read in memory until the next answer.
    """
    error.__cause__ = error.__context__ = error.__traceback__ = None
    redactor = redactor_of(address)
    own = own_texts(address)
    error.args = _clean(error.args, redactor, own)
    error.__dict__.update({name: _clean(value, redactor, own) for name, value in error.__dict__.items()})
    return error


def own_texts(address: TableAddress) -> tuple[str, ...]:
    """Texts written by the user who registered the table: shown unchanged, see `Redactor.redact`."""
    return (*names_of(address.name), *address.overrides, *address.overrides.values())


def _clean(value: Any, redactor: Redactor, own: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        text = redactor.redact(value, lambda: own)
        return cut(text, MOST_TEXT)
    if isinstance(value, tuple):
        return tuple(_clean(each, redactor, own) for each in value[:_MOST_ENTRIES])
    return value
